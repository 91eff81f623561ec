#include "cluster/bells.hpp"

#include <algorithm>

#include "tutti/atomically.hpp"

namespace tutti::cluster {

bool bells::enrol(bell& mine, std::span<const backend::check> keys) {
    std::unique_lock hold{guard_};
    if (!hears(hold)) return false;
    remove(&mine);
    auto& known = by_bell_[&mine];
    for (const backend::check& c : keys) {
        by_key_[c.of].insert(&mine);
        known.push_back(c.of);
    }
    return true;
}

bool bells::hears(std::unique_lock<std::mutex>& hold) {
    while (opening_) {
        const unsigned before = refusals_;
        opened_.wait(hold, [this] { return !opening_; });
        if (refusals_ != before) return false;  // the other thread has already waited for the engine
    }
    // A feed that another thread has opened may have broken since.
    if (stopped_ || !broken_) return !stopped_;
    opening_ = true;
    hold.unlock();
    std::shared_ptr<backend::key_feed> fresh;
    try {
        fresh = open_feed_();
    } catch (...) {
        hold.lock();
        opening_ = false;
        opened_.notify_all();
        throw;
    }
    hold.lock();
    opening_ = false;
    if (!fresh) ++refusals_;
    opened_.notify_all();
    if (!fresh || stopped_) return false;
    if (!thread_.joinable()) thread_ = std::thread{[this] { listen(); }};
    feed_ = std::move(fresh);
    broken_ = false;
    renewed_.notify_all();
    return true;
}

void bells::leave(bell& mine) {
    const std::lock_guard hold{guard_};
    remove(&mine);
}

void bells::withdraw(bell& mine) {
    std::unique_lock hold{guard_};
    remove(&mine);
    rung_.wait(hold, [&] { return !ringing_.contains(&mine); });
}

void bells::stop() {
    std::thread over;
    {
        const std::lock_guard hold{guard_};
        stopped_ = true;
        if (feed_) feed_->close();
        renewed_.notify_all();
        over = std::move(thread_);
    }
    if (over.joinable()) over.join();
}

void bells::listen() {
    std::unique_lock hold{guard_};
    while (true) {
        renewed_.wait(hold, [this] { return stopped_ || !broken_; });
        if (stopped_) return;
        const std::shared_ptr<backend::key_feed> from = feed_;
        hold.unlock();
        hear_out(*from);
        hold.lock();
        if (stopped_) return;
        broken_ = true;  // the next block that enrols opens another feed
        ring_all(hold);
    }
}

void bells::hear_out(backend::key_feed& from) {
    std::vector<backend::key> written;
    while (from.next(written)) {
        std::unique_lock hold{guard_};
        std::unordered_set<bell*> which;
        for (const backend::key& k : written) {
            if (const auto at = by_key_.find(k); at != by_key_.end())
                which.insert(at->second.begin(), at->second.end());
        }
        written.clear();
        for (bell* b : which) remove(b);
        ring(hold, which);
    }
}

void bells::ring(std::unique_lock<std::mutex>& hold, const std::unordered_set<bell*>& which) {
    if (which.empty()) return;
    ringing_ = which;
    hold.unlock();  // the commit of a variable may wait for other transactions
    for (bell* b : which) atomically([b](tx& t) { b->set(t, b->get(t) + 1); });
    hold.lock();
    ringing_.clear();
    rung_.notify_all();
}

void bells::ring_all(std::unique_lock<std::mutex>& hold) {
    std::unordered_set<bell*> all;
    for (const auto& [b, keys] : by_bell_) all.insert(b);
    by_bell_.clear();
    by_key_.clear();
    ring(hold, all);
}

void bells::remove(bell* mine) {
    const auto at = by_bell_.find(mine);
    if (at == by_bell_.end()) return;
    for (const backend::key& k : at->second) {
        const auto there = by_key_.find(k);
        if (there == by_key_.end()) continue;
        there->second.erase(mine);
        if (there->second.empty()) by_key_.erase(there);
    }
    by_bell_.erase(at);
}

}  // namespace tutti::cluster
