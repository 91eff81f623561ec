#include "cluster/backend/caching.hpp"

#include <algorithm>

#include "cluster/backend/fault_injection.hpp"

namespace tutti::cluster::backend {
namespace {

constexpr std::chrono::milliseconds follow_again_after{50};
constexpr std::size_t most_ahead = 64;  // commits; those beyond are told by the engine

const key pulse_key{"n0"};

/// Only objects have copies: marks and leases are read to learn what is true now.
bool is_object(const key& k) { return k.starts_with('o'); }

std::size_t size_of(const key& of, const record& is) {
    constexpr std::size_t around = 160;  // nodes of the list and the map
    return 2 * of.size() + is.bytes.size() + around;
}

}  // namespace

caching::caching(std::unique_ptr<engine> of, std::chrono::milliseconds staleness, std::size_t most)
    : engine_{std::move(of)}, staleness_{staleness}, most_{most} {
    const capabilities& can = engine_->can();
    if (!can.follows || engine_->tide() == nullptr)
        throw refusal{can.name +
                      " does not tell in order what it commits, so nothing of it can be kept: set "
                      "engine_options::staleness to 0"};
    if (staleness_.count() < 1) throw refusal{"engine_options::staleness is less than nothing"};
    engine_->show_commits_to(this);
    follower_ = std::thread{[this] { live(); }};
    pulser_ = std::thread{[this] { pulse(); }};
}

caching::~caching() {
    {
        const std::lock_guard hold{guard_};
        stopped_ = true;
        if (source_) source_->close();
        changed_.notify_all();
    }
    follower_.join();
    pulser_.join();
}

verdict caching::get(snapshot& of, freshness how, std::span<const check> held, std::span<const key> wanted,
                     std::vector<record>& found) {
    if (how == freshness::now || wanted.empty() || !std::ranges::all_of(wanted, is_object))
        return engine_->get(of, how, held, wanted, found);
    version at = of.at;
    errand missing;
    {
        const std::lock_guard hold{guard_};
        if (at == 0) at = choose();
        if (at != 0) {
            engine_->tide()->raise(at);
            look_up(at, wanted, found, missing);
        }
    }
    if (at == 0) return engine_->get(of, how, held, wanted, found);
    if (missing.keys.empty()) {
        of.at = at;
        answered_.fetch_add(1, std::memory_order_relaxed);
        return verdict::good;
    }
    snapshot same{at};
    std::vector<record> got;
    verdict said = verdict::unreachable;
    try {
        said = engine_->get(same, freshness::same, held, missing.keys, got);
    } catch (...) {
        const std::lock_guard hold{guard_};
        settle(at, missing, {}, false);
        throw;
    }
    {
        const std::lock_guard hold{guard_};
        settle(at, missing, got, said == verdict::good);
        // The engine does not know that version: not any more, or, restored from a copy of itself, not yet.
        if (said == verdict::conflict && of.at == 0 && source_) source_->close();
    }
    if (said != verdict::good) return said;
    for (std::size_t i = 0; i < missing.places.size(); ++i) found[missing.places[i]] = std::move(got[i]);
    of.at = at;
    return verdict::good;
}

version caching::choose() {
    const version tide = injected(fault::cache_below_tide) ? 0 : engine_->tide()->height();
    const auto age = clock::now() - proven_;
    if (!follows_) return 0;
    if ((tide > place_ || age > staleness_ / 2) && !pulse_wanted_) {
        pulse_wanted_ = true;
        changed_.notify_all();
    }
    if (age > staleness_ && !injected(fault::cache_ageless)) return 0;
    return std::max(place_, tide);
}

void caching::look_up(version at, std::span<const key> wanted, std::vector<record>& found, errand& missing) {
    found.assign(wanted.size(), {});
    missing.era = era_;
    missing.keep = place_ <= at || injected(fault::cache_late_copy);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto one = by_key_.find(wanted[i]);
        if (one != by_key_.end()) {
            const copy& c = *one->second;
            if (c.is.at <= at && at <= std::max(c.until, place_)) {  // C1
                found[i] = c.is;
                continue;
            }
        }
        missing.places.push_back(i);
        missing.keys.push_back(wanted[i]);
    }
    for (const key& k : missing.keys) ++fetched_[k].by;
}

void caching::settle(version at, const errand& what, std::span<const record> got, bool good) {
    for (std::size_t i = 0; i < what.keys.size(); ++i) {
        const auto one = fetched_.find(what.keys[i]);
        const bool unchanged = one->second.changed <= at || injected(fault::cache_late_copy);
        if (--one->second.by == 0) fetched_.erase(one);
        if (good && what.keep && unchanged && what.era == era_ && follows_) keep(what.keys[i], got[i], at);
    }
}

void caching::keep(const key& of, const record& is, version until) {
    if (!is.exists && engine_->can().drops_erased) return;  // C5
    const auto known = by_key_.find(of);
    if (known != by_key_.end()) {
        if (known->second->is.at > is.at || known->second->until > until) return;
        drop(known->second);
    }
    copies_.push_back({of, is, until});
    by_key_.emplace(copies_.back().of, std::prev(copies_.end()));
    bytes_ += size_of(of, is);
    while (bytes_ > most_) drop(copies_.begin());
}

void caching::drop(copies::iterator one) {
    bytes_ -= size_of(one->of, one->is);
    by_key_.erase(one->of);
    copies_.erase(one);
}

void caching::drop_all() {
    ++era_;
    by_key_.clear();
    copies_.clear();
    bytes_ = 0;
}

void caching::commit(request& r) {
    const clock::time_point sent = clock::now();
    engine_->commit(r);
    if (r.said == verdict::good) note({r.at, sent});
}

void caching::note(proof p) {
    const std::lock_guard hold{guard_};
    if (!follows_) return;
    // Commits that overlap may come here in another order than theirs.
    const auto where = std::ranges::upper_bound(proofs_, p.at, {}, &proof::at);
    proofs_.insert(where, p);
    prove();
}

void caching::prove() {
    while (!proofs_.empty() && proofs_.front().at <= place_) {
        proven_ = std::max(proven_, proofs_.front().sent);
        proofs_.pop_front();
    }
}

void caching::apply(std::vector<change>& told) {
    if (injected(fault::cache_backwards)) std::ranges::reverse(told);
    std::unique_lock hold{guard_};
    version reached = place_;
    for (change& c : told) {
        reached = std::max(reached, c.is.at);
        if (injected(fault::cache_in_parts)) {
            place_ = reached;
            hold.unlock();
            std::this_thread::sleep_for(std::chrono::microseconds{100});
            hold.lock();
        }
        replace(c);
    }
    move_to(reached);
}

void caching::replace(change& by) {
    if (const auto one = fetched_.find(by.of); one != fetched_.end())
        one->second.changed = std::max(one->second.changed, by.is.at);
    const auto known = by_key_.find(by.of);
    if (known == by_key_.end()) return;
    copy& mine = *known->second;
    if (!by.is.exists && injected(fault::cache_keeps_erased)) return;
    // What was fetched at a version beyond the place has it already.
    if (by.is.at <= mine.is.at && !injected(fault::cache_backwards)) return;
    if (!by.is.exists && engine_->can().drops_erased) return drop(known->second);  // C5
    bytes_ += by.is.bytes.size() - mine.is.bytes.size();
    mine.is = std::move(by.is);
}

void caching::move_to(version to) {
    place_ = to;
    while (!ahead_.empty()) {
        const auto next = ahead_.begin();
        if (next->first > place_ + 1 && !injected(fault::cache_leaps)) break;
        if (next->first > place_) {
            for (change& c : next->second) replace(c);
            place_ = next->first;
        }
        ahead_.erase(next);
    }
    while (bytes_ > most_) drop(copies_.begin());
    prove();
}

void caching::see(std::span<request* const> all) noexcept {
    if (injected(fault::cache_in_parts)) all = all.first(1);
    try {
        std::vector<change> made;
        version at = 0;
        for (const request* const r : all) {
            if (r->said != verdict::good || r->writes.empty()) continue;
            at = r->at;
            for (const write& w : r->writes) {
                if (is_object(w.of)) made.push_back({w.of, {w.exists, at, w.bytes}});
            }
        }
        const std::lock_guard hold{guard_};
        if (!follows_ || at <= place_ || ahead_.size() == most_ahead) return;
        ahead_.emplace(at, std::move(made));
        move_to(place_);
    } catch (const std::bad_alloc&) {  // the engine tells of it
    }
}

void caching::live() {
    std::unique_lock hold{guard_};
    while (!stopped_) {
        hold.unlock();
        try {
            go_along();
        } catch (const std::exception&) {  // no memory: without the cache, all goes on
        }
        hold.lock();
        follows_ = injected(fault::cache_outlives) && follows_;
        source_.reset();
        proofs_.clear();
        ahead_.clear();
        if (!injected(fault::cache_outlives)) drop_all();  // C3
        changed_.wait_for(hold, follow_again_after, [this] { return stopped_; });
    }
}

void caching::go_along() {
    const clock::time_point begun = clock::now();
    snapshot from;
    std::vector<record> ignored;
    if (engine_->get(from, freshness::now, {}, {&pulse_key, 1}, ignored) != verdict::good) return;
    const std::shared_ptr<changes> source = engine_->follow(from.at);
    if (!source) return;
    {
        const std::lock_guard hold{guard_};
        if (stopped_) return;
        source_ = source;
        place_ = from.at;
        proven_ = begun;
        follows_ = true;
    }
    std::vector<change> told;
    while (source->next(told)) {
        apply(told);
        told.clear();
    }
}

void caching::pulse() {
    std::unique_lock hold{guard_};
    while (true) {
        changed_.wait(hold, [this] { return stopped_ || pulse_wanted_; });
        // A commit, or another's, may say the same meanwhile.
        if (changed_.wait_for(hold, staleness_ / 8, [this] { return stopped_; })) return;
        pulse_wanted_ = false;
        if (!follows_ || (engine_->tide()->height() <= place_ && clock::now() - proven_ <= staleness_ / 2)) continue;
        hold.unlock();
        const write nothing{pulse_key, true, {}};
        request r;
        r.writes = {&nothing, 1};
        const clock::time_point sent = clock::now();
        try {
            engine_->commit(r);
            if (r.said == verdict::good) note({r.at, sent});
        } catch (const std::exception&) {  // no memory: the next get that needs it asks again
        }
        hold.lock();
    }
}

}  // namespace tutti::cluster::backend
