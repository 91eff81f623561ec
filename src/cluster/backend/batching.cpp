#include "cluster/backend/batching.hpp"

#include <algorithm>
#include <unordered_set>

namespace tutti::cluster::backend {

batching::batching(std::unique_ptr<engine> of, std::size_t most)
    : engine_{std::move(of)}, can_{engine_->can()}, most_{std::min(most, can_.most_operations / 4)} {
    // The other commits of a request take one operation each.
    can_.most_operations -= most_;
}

template <class Entry>
template <class Choose, class Ask>
void batching::line<Entry>::pass(Entry& mine, Choose&& choose, Ask&& ask) {
    std::unique_lock hold{guard_};
    waiting_.push_back(&mine);
    call_next();  // the line may be long enough now
    mine.turn.wait(hold, [&] { return mine.done || (waiting_.front() == &mine && may_go()); });
    if (mine.done) return;
    std::vector<Entry*> chosen;
    try {
        chosen = choose(waiting_);
    } catch (...) {  // no memory; the entries behind this one wait for their turn
        waiting_.erase(waiting_.begin());
        call_next();
        throw;
    }
    ++under_way_;
    asked_for_ += chosen.size();
    call_next();
    hold.unlock();
    ask(chosen);
    hold.lock();
    --under_way_;
    asked_for_ -= chosen.size();
    for (Entry* e : chosen) {
        e->done = true;
        e->turn.notify_one();  // under the lock: the entry is destroyed by its thread
    }
    call_next();
}

void batching::commit(request& r) {
    writer mine;
    mine.what = &r;
    writers_.pass(
        mine, [this](std::vector<writer*>& waiting) { return choose(waiting); },
        [this](const std::vector<writer*>& chosen) noexcept {
            try {
                std::vector<request*> all;
                all.reserve(chosen.size());
                for (const writer* e : chosen) all.push_back(e->what);
                engine_->commit_all(all);
            } catch (...) {  // it is unknown whether the request was sent
                for (const writer* e : chosen) e->what->said = verdict::unknown;
            }
        });
}

/// Takes the first entry of the line, and the later ones that agree with all taken ones.
std::vector<batching::writer*> batching::choose(std::vector<writer*>& waiting) const {
    std::vector<writer*> chosen, left;
    std::unordered_set<std::string_view> read, written;
    std::size_t bytes = 0;
    for (writer* e : waiting) {
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
    waiting = std::move(left);
    return chosen;
}

verdict batching::get(snapshot& of, freshness how, std::span<const check> held, std::span<const key> wanted,
                      std::vector<record>& found) {
    if (!held.empty() || of.at != 0 || wanted.size() > can_.most_operations)
        return engine_->get(of, how, held, wanted, found);
    reader mine;
    mine.of = &of;
    mine.wanted = wanted;
    mine.found = &found;
    const auto choose = [this](std::vector<reader*>& waiting) {
        std::size_t keys = 0;
        const auto end = std::ranges::find_if(waiting, [&](const reader* r) {
            keys += r->wanted.size();
            return keys > can_.most_operations;
        });
        const std::vector<reader*> chosen{waiting.begin(), end};
        waiting.erase(waiting.begin(), end);
        return chosen;
    };
    readers_.pass(mine, choose, [this](const std::vector<reader*>& chosen) noexcept { read(chosen); });
    return mine.said;
}

void batching::read(std::span<reader* const> all) noexcept {
    const auto read_alone = [this](reader& one) {
        try {
            one.said = engine_->get(*one.of, freshness::now, {}, one.wanted, *one.found);
        } catch (...) {  // no memory: the same result as without an engine
        }
    };
    if (all.size() == 1) return read_alone(*all.front());
    try {
        snapshot together;
        std::vector<key> keys;
        std::vector<record> found;
        for (const reader* r : all) keys.insert(keys.end(), r->wanted.begin(), r->wanted.end());
        const verdict said = engine_->get(together, freshness::now, {}, keys, found);
        if (said ==
            verdict::conflict) {  // a prepared transaction holds a record of one reader; the other readers need not
                                  // wait
            for (reader* r : all) read_alone(*r);
            return;
        }
        auto next = std::make_move_iterator(found.begin());
        for (reader* r : all) {
            r->said = said;
            if (said != verdict::good) continue;
            const auto end = next + static_cast<std::ptrdiff_t>(r->wanted.size());
            r->found->assign(next, end);
            *r->of = together;
            next = end;
        }
    } catch (...) {  // no memory
        for (reader* r : all) r->said = verdict::unreachable;
    }
}

}  // namespace tutti::cluster::backend
