#include "cluster/backend/batching.hpp"

#include <algorithm>
#include <unordered_set>

namespace tutti::cluster::backend {

batching::batching(std::unique_ptr<engine> of, std::size_t most)
    : engine_{std::move(of)}, can_{engine_->can()}, most_{std::min(most, can_.most_operations / 4)} {
    // A commit shares a request with others, each of which takes one of the operations.
    can_.most_operations -= most_;
}

void batching::commit(request& r) {
    entry mine{&r};
    std::unique_lock hold{guard_};
    line_.push_back(&mine);
    // Two under way: while the engine writes one to its disk, the next is on its way.
    changed_.wait(hold, [&] { return mine.done || (under_way_ < 2 && !line_.empty() && line_.front() == &mine); });
    if (mine.done) return;
    std::vector<entry*> chosen = choose();
    ++under_way_;
    if (!line_.empty()) changed_.notify_all();
    hold.unlock();
    std::vector<request*> all;
    all.reserve(chosen.size());
    for (const entry* e : chosen) all.push_back(e->what);
    engine_->commit_all(all);
    hold.lock();
    --under_way_;
    for (entry* e : chosen) e->done = true;
    changed_.notify_all();
}

/// Takes the first out of the line, and those behind it that agree with all that are taken.
std::vector<batching::entry*> batching::choose() {
    std::vector<entry*> chosen, left;
    std::unordered_set<std::string_view> read, written;
    std::size_t bytes = 0;
    for (entry* e : line_) {
        const request& r = *e->what;
        const auto meets = [&] {
            for (const write& w : r.writes) {
                if (written.contains(w.of) || read.contains(w.of)) return true;
            }
            return std::ranges::any_of(r.checks, [&](const check& c) { return written.contains(c.of); });
        };
        const std::size_t size = bytes_of(r);
        if (!chosen.empty() && (chosen.size() == most_ || bytes + size > can_.most_bytes || meets())) {
            left.push_back(e);
            continue;
        }
        bytes += size;
        for (const check& c : r.checks) read.insert(c.of);
        for (const write& w : r.writes) written.insert(w.of);
        chosen.push_back(e);
    }
    line_ = std::move(left);
    return chosen;
}

}  // namespace tutti::cluster::backend
