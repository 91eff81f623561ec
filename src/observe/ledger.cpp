#include "observe/ledger.hpp"

#include <algorithm>
#include <bit>

namespace tutti::observe {

constinit std::atomic<bool> counting{false};

ledger::counters* ledger::at(const block& where) noexcept {
    try {
        const std::uint32_t id = site_of(where.at, where.name).id;
        if (id < by_site_.size() && by_site_[id] != nullptr) return by_site_[id].get();
        return make(id);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

ledger::counters* ledger::make(std::uint32_t id) noexcept {
    try {
        auto fresh = std::make_unique<counters>();
        const std::lock_guard guard{growth_};
        if (id >= by_site_.size()) by_site_.resize(id + 1);
        by_site_[id] = std::move(fresh);
        return by_site_[id].get();
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void ledger::count_commit(const block& where, std::uint32_t restarts) noexcept {
    counters* const c = at(where);
    if (c == nullptr) return;
    c->commits.add_one();
    // 0, 1, 2-3, 4-7, …: the number of bits
    c->by_restarts[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(restarts)), c->by_restarts.size() - 1)]
        .add_one();
}

void ledger::count_duration(const block& where, std::uint64_t nanoseconds) noexcept {
    counters* const c = at(where);
    if (c == nullptr) return;
    const auto bucket = static_cast<std::size_t>(std::bit_width(nanoseconds | 1) - 1);
    c->durations[std::min(bucket, c->durations.size() - 1)].add_one();
}

void ledger::count_abort(const block& where, abort_cause cause) noexcept {
    if (counters* const c = at(where)) c->aborts[static_cast<std::size_t>(cause)].add_one();
}

void ledger::count_rewind(const block& where) noexcept {
    if (counters* const c = at(where)) c->rewinds.add_one();
}

void ledger::count_irrevocable(const block& where, const char* reason) noexcept {
    counters* const c = at(where);
    if (c == nullptr) return;
    c->irrevocable.add_one();
    site_of(where.at, where.name).irrevocable_reason.store(reason, std::memory_order_relaxed);
}

void ledger::count_deadline(const block& where, mode m, bool met) noexcept {
    counters* const c = at(where);
    if (c == nullptr) return;
    (met ? c->deadlines_met : c->deadlines_missed)[static_cast<std::size_t>(m)].add_one();
}

void ledger::count_refusal(const block& where) noexcept {
    if (counters* const c = at(where)) c->deadlines_refused.add_one();
}

void ledger::add_to(std::vector<site_statistics>& sums) const {
    const std::lock_guard guard{growth_};
    for (std::size_t id = 0; id < std::min(by_site_.size(), sums.size()); ++id) {
        if (by_site_[id] == nullptr) continue;
        const counters& from = *by_site_[id];
        site_statistics& to = sums[id];
        to.commits += from.commits.get();
        to.irrevocable += from.irrevocable.get();
        to.rewinds += from.rewinds.get();
        to.deadlines_refused += from.deadlines_refused.get();
        for (std::size_t i = 0; i < mode_count; ++i) {
            to.deadlines_met[i] += from.deadlines_met[i].get();
            to.deadlines_missed[i] += from.deadlines_missed[i].get();
        }
        for (std::size_t i = 0; i < from.aborts.size(); ++i) {
            to.aborts_by_cause[i] += from.aborts[i].get();
            to.aborts += from.aborts[i].get();
        }
        for (std::size_t i = 0; i < from.by_restarts.size(); ++i)
            to.commits_by_restarts[i] += from.by_restarts[i].get();
        for (std::size_t i = 0; i < from.durations.size(); ++i) to.durations[i] += from.durations[i].get();
    }
}

void ledger::reset() noexcept {
    const std::lock_guard guard{growth_};
    for (const auto& c : by_site_) {
        if (c == nullptr) continue;
        c->commits.reset();
        c->irrevocable.reset();
        c->rewinds.reset();
        c->deadlines_refused.reset();
        for (counter& x : c->deadlines_met) x.reset();
        for (counter& x : c->deadlines_missed) x.reset();
        for (counter& x : c->aborts) x.reset();
        for (counter& x : c->by_restarts) x.reset();
        for (counter& x : c->durations) x.reset();
    }
}

}  // namespace tutti::observe
