#include "cluster/backend/batching_engine.hpp"

#include <algorithm>
#include <unordered_set>

namespace tutti::cluster::backend {

batching_engine::batching_engine(std::unique_ptr<engine> engine_below, std::size_t max_commits)
    : engine_{std::move(engine_below)},
      abilities_{engine_->abilities()},
      max_commits_{std::min(max_commits, abilities_.max_operations / 4)} {
    // Each other commit in the same request uses up one operation, so these operations are kept free.
    abilities_.max_operations -= max_commits_;
}

template <class Entry>
template <class Choose, class Send>
void batching_engine::request_queue<Entry>::process(Entry& mine, Choose&& choose, Send&& send) {
    std::unique_lock hold{guard_};
    waiting_.push_back(&mine);
    wake_next();  // the queue may now be long enough for the next request
    mine.wakeup.wait(hold, [&] { return mine.done || (waiting_.front() == &mine && may_send()); });
    if (mine.done) return;
    std::vector<Entry*> chosen;
    try {
        chosen = choose(waiting_);
    } catch (...) {  // no memory: only this entry fails, and the later ones wait for their turn
        waiting_.erase(waiting_.begin());
        wake_next();
        throw;
    }
    ++pending_requests_;
    pending_entries_ += chosen.size();
    wake_next();
    hold.unlock();
    send(chosen);
    hold.lock();
    --pending_requests_;
    pending_entries_ -= chosen.size();
    for (Entry* e : chosen) {
        e->done = true;
        e->wakeup.notify_one();  // under the lock, because the entry's thread destroys the entry when it wakes
    }
    wake_next();
}

void batching_engine::commit(request& r) {
    queued_commit mine;
    mine.commit = &r;
    commits_.process(
        mine, [this](std::vector<queued_commit*>& waiting) { return choose(waiting); },
        [this](const std::vector<queued_commit*>& chosen) noexcept {
            try {
                std::vector<request*> all;
                all.reserve(chosen.size());
                for (const queued_commit* e : chosen) all.push_back(e->commit);
                engine_->commit_all(all);
            } catch (...) {  // it is unknown whether the request was sent
                for (const queued_commit* e : chosen) e->commit->status = engine_status::unknown;
            }
        });
}

/// Removes the first entry from the queue, and each later entry that agrees with all entries removed before.
std::vector<batching_engine::queued_commit*> batching_engine::choose(std::vector<queued_commit*>& waiting) const {
    std::vector<queued_commit*> chosen, remaining;
    std::unordered_set<std::string_view> read, written;
    std::size_t bytes = 0;
    for (queued_commit* e : waiting) {
        const request& r = *e->commit;
        const auto conflicts = [&] {
            for (const write& w : r.writes) {
                if (written.contains(w.of) || read.contains(w.of)) return true;
            }
            return std::ranges::any_of(r.checks, [&](const check& c) { return written.contains(c.of); });
        };
        const std::size_t size = bytes_of(r);
        if (!chosen.empty() && (chosen.size() == max_commits_ || bytes + size > abilities_.max_bytes || conflicts())) {
            remaining.push_back(e);
            continue;
        }
        bytes += size;
        for (const check& c : r.checks) read.insert(c.of);
        for (const write& w : r.writes) written.insert(w.of);
        chosen.push_back(e);
    }
    waiting = std::move(remaining);
    return chosen;
}

engine_status batching_engine::get(read_snapshot& snapshot, freshness how, std::span<const check> held,
                                   std::span<const key> wanted, std::vector<record>& found) {
    if (!held.empty() || snapshot.at != 0 || wanted.size() > abilities_.max_operations)
        return engine_->get(snapshot, how, held, wanted, found);
    queued_read mine;
    mine.snapshot = &snapshot;
    mine.wanted = wanted;
    mine.found = &found;
    const auto choose = [this](std::vector<queued_read*>& waiting) {
        std::size_t keys = 0;
        const auto end = std::ranges::find_if(waiting, [&](const queued_read* r) {
            keys += r->wanted.size();
            return keys > abilities_.max_operations;
        });
        const std::vector<queued_read*> chosen{waiting.begin(), end};
        waiting.erase(waiting.begin(), end);
        return chosen;
    };
    reads_.process(mine, choose, [this](const std::vector<queued_read*>& chosen) noexcept { read(chosen); });
    return mine.status;
}

void batching_engine::read(std::span<queued_read* const> all) noexcept {
    const auto read_alone = [this](queued_read& one) {
        try {
            one.status = engine_->get(*one.snapshot, freshness::now, {}, one.wanted, *one.found);
        } catch (...) {  // no memory: the status stays `unreachable`, as without an engine
        }
    };
    if (all.size() == 1) return read_alone(*all.front());
    try {
        read_snapshot together;
        std::vector<key> keys;
        std::vector<record> found;
        for (const queued_read* r : all) keys.insert(keys.end(), r->wanted.begin(), r->wanted.end());
        const engine_status status = engine_->get(together, freshness::now, {}, keys, found);
        if (status ==
            engine_status::
                conflict) {  // a prepared transaction holds a record that one reader wants; the other readers need not
                             // wait
            for (queued_read* r : all) read_alone(*r);
            return;
        }
        auto next = std::make_move_iterator(found.begin());
        for (queued_read* r : all) {
            r->status = status;
            if (status != engine_status::good) continue;
            const auto end = next + static_cast<std::ptrdiff_t>(r->wanted.size());
            r->found->assign(next, end);
            *r->snapshot = together;
            next = end;
        }
    } catch (...) {  // no memory
        for (queued_read* r : all) r->status = engine_status::unreachable;
    }
}

}  // namespace tutti::cluster::backend
