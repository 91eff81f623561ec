#include "cluster/participant/wakeup_notifier.hpp"

#include <algorithm>

#include "tutti/atomically.hpp"

namespace tutti::cluster {

bool wakeup_notifier::subscribe(wakeup_var& variable, std::span<const backend::check> keys) {
    std::unique_lock hold{guard_};
    if (!ensure_feed(hold)) return false;
    remove(&variable);
    auto& known = keys_by_variable_[&variable];
    for (const backend::check& c : keys) {
        variables_by_key_[c.of].insert(&variable);
        known.push_back(c.of);
    }
    return true;
}

bool wakeup_notifier::ensure_feed(std::unique_lock<std::mutex>& hold) {
    while (opening_) {
        const unsigned failed_before = failed_opens_;
        open_finished_.wait(hold, [this] { return !opening_; });
        if (failed_opens_ != failed_before) return false;  // the other thread has already waited for the engine
    }
    // Checks again, because a feed that another thread has opened may have broken since then.
    if (stopped_ || !broken_) return !stopped_;
    opening_ = true;
    hold.unlock();
    std::shared_ptr<backend::key_feed> fresh;
    try {
        fresh = open_feed_();
    } catch (...) {
        hold.lock();
        opening_ = false;
        open_finished_.notify_all();
        throw;
    }
    hold.lock();
    opening_ = false;
    if (!fresh) ++failed_opens_;
    open_finished_.notify_all();
    if (!fresh || stopped_) return false;
    if (!thread_.joinable()) thread_ = std::thread{[this] { run_feeds(); }};
    feed_ = std::move(fresh);
    broken_ = false;
    feed_renewed_.notify_all();
    return true;
}

void wakeup_notifier::unsubscribe(wakeup_var& variable) {
    const std::lock_guard hold{guard_};
    remove(&variable);
}

void wakeup_notifier::unsubscribe_and_wait(wakeup_var& variable) {
    std::unique_lock hold{guard_};
    remove(&variable);
    notified_.wait(hold, [&] { return !notifying_.contains(&variable); });
}

void wakeup_notifier::stop() {
    std::thread ended_thread;
    {
        const std::lock_guard hold{guard_};
        stopped_ = true;
        if (feed_) feed_->close();
        feed_renewed_.notify_all();
        ended_thread = std::move(thread_);
    }
    if (ended_thread.joinable()) ended_thread.join();
}

void wakeup_notifier::run_feeds() {
    std::unique_lock hold{guard_};
    while (true) {
        feed_renewed_.wait(hold, [this] { return stopped_ || !broken_; });
        if (stopped_) return;
        const std::shared_ptr<backend::key_feed> from = feed_;
        hold.unlock();
        drain_feed(*from);
        hold.lock();
        if (stopped_) return;
        broken_ = true;  // the next block that subscribes opens another feed
        notify_all(hold);
    }
}

void wakeup_notifier::drain_feed(backend::key_feed& from) {
    std::vector<backend::key> written;
    while (from.next(written)) {
        std::unique_lock hold{guard_};
        std::unordered_set<wakeup_var*> variables;
        for (const backend::key& k : written) {
            if (const auto at = variables_by_key_.find(k); at != variables_by_key_.end())
                variables.insert(at->second.begin(), at->second.end());
        }
        written.clear();
        for (wakeup_var* b : variables) remove(b);
        notify(hold, variables);
    }
}

void wakeup_notifier::notify(std::unique_lock<std::mutex>& hold, const std::unordered_set<wakeup_var*>& variables) {
    if (variables.empty()) return;
    notifying_ = variables;
    hold.unlock();  // the commit of a variable may wait for other transactions
    for (wakeup_var* b : variables) atomically([b](tx& t) { b->set(t, b->get(t) + 1); });
    hold.lock();
    notifying_.clear();
    notified_.notify_all();
}

void wakeup_notifier::notify_all(std::unique_lock<std::mutex>& hold) {
    std::unordered_set<wakeup_var*> all;
    for (const auto& [b, keys] : keys_by_variable_) all.insert(b);
    keys_by_variable_.clear();
    variables_by_key_.clear();
    notify(hold, all);
}

void wakeup_notifier::remove(wakeup_var* variable) {
    const auto at = keys_by_variable_.find(variable);
    if (at == keys_by_variable_.end()) return;
    for (const backend::key& k : at->second) {
        const auto there = variables_by_key_.find(k);
        if (there == variables_by_key_.end()) continue;
        there->second.erase(variable);
        if (there->second.empty()) variables_by_key_.erase(there);
    }
    keys_by_variable_.erase(at);
}

}  // namespace tutti::cluster
