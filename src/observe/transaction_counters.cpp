#include "observe/transaction_counters.hpp"

#include <algorithm>
#include <bit>

namespace tutti::observe {

constinit std::atomic<bool> counting{false};
constinit std::atomic<bool> counting_library{false};

bool transaction_counters::enter(const block_id& where, std::uint32_t attempt) noexcept {
    try {
        // Release, so that a thread that finds the site also finds its content. The pointer is stored only if the site
        // has changed. Otherwise each store would cause a cache miss in threads that read the pointer.
        if (const site* const s = &site_of(where.at, where.name); entered_.load(std::memory_order_relaxed) != s)
            entered_.store(s, std::memory_order_release);
    } catch (const std::bad_alloc&) {}
    attempt_.store(attempt, std::memory_order_relaxed);
    return ++attempts_ % statistics_sampling == 0;
}

transaction_counters::counters* transaction_counters::at(const block_id& where) noexcept {
    try {
        const std::uint32_t id = site_of(where.at, where.name).id;
        if (id < by_site_.size() && by_site_[id] != nullptr) return by_site_[id].get();
        return make(id);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

transaction_counters::counters* transaction_counters::make(std::uint32_t id) noexcept {
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

void transaction_counters::count_commit(const block_id& where, std::uint32_t restarts) noexcept {
    counters* const c = at(where);
    if (c == nullptr) return;
    c->commits.add_one();
    // The number of the bucket is the number of bits: 0, 1, 2-3, 4-7, …
    auto& by_restarts = c->commits_by_restarts;
    by_restarts[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(restarts)), by_restarts.size() - 1)]
        .add_one();
}

void transaction_counters::count_duration(const block_id& where, std::uint64_t nanoseconds) noexcept {
    counters* const c = at(where);
    if (c == nullptr) return;
    const auto bucket = static_cast<std::size_t>(std::bit_width(nanoseconds | 1) - 1);
    c->durations[std::min(bucket, c->durations.size() - 1)].add_one();
}

void transaction_counters::count_abort(const block_id& where, abort_cause cause, const site* conflicting_site,
                                       std::uint64_t lost) noexcept {
    counters* const c = at(where);
    if (c == nullptr) return;
    c->aborts_by_cause[static_cast<std::size_t>(cause)].add_one();
    c->lost_nanoseconds.add(lost * statistics_sampling);
    if (conflicting_site == nullptr) return;
    if (counter* const against = c->conflicting_sites.at({conflicting_site, cause})) against->add_one();
}

void transaction_counters::count_partial_rollback(const block_id& where) noexcept {
    if (counters* const c = at(where)) c->partial_rollbacks.add_one();
}

void transaction_counters::count_irrevocable(const block_id& where, const char* reason) noexcept {
    counters* const c = at(where);
    if (c == nullptr) return;
    c->irrevocable.add_one();
    site_of(where.at, where.name).irrevocable_reason.store(reason, std::memory_order_relaxed);
}

void transaction_counters::count_deadline(const block_id& where, mode m, bool met) noexcept {
    counters* const c = at(where);
    if (c == nullptr) return;
    (met ? c->deadlines_met : c->deadlines_missed)[static_cast<std::size_t>(m)].add_one();
}

void transaction_counters::count_refusal(const block_id& where) noexcept {
    if (counters* const c = at(where)) c->deadlines_refused.add_one();
}

void transaction_counters::count_hardware_commit(const block_id& where) noexcept {
    if (counters* const c = at(where)) c->hardware_commits.add_one();
}

void transaction_counters::count_hardware_abort(const block_id& where, hardware_abort why) noexcept {
    if (counters* const c = at(where)) c->hardware_aborts[static_cast<std::size_t>(why)].add_one();
}

/// Calls f(counter, sum) for every counter, where `sum` is the member of site_statistics that sums the counter up.
/// Omits the counters by conflicting site.
template <class F>
void transaction_counters::pair_up(counters& c, site_statistics& s, F&& f) {
    const auto each = [&f](auto& many, auto& sums) {
        for (std::size_t i = 0; i < many.size(); ++i) f(many[i], sums[i]);
    };
#define TUTTI_SITE_COUNTER(name) f(c.name, s.name);
#define TUTTI_SITE_COUNTERS(name) each(c.name, s.name);
#include "observe/site_counters.def"
#undef TUTTI_SITE_COUNTER
#undef TUTTI_SITE_COUNTERS
}

void transaction_counters::add_to(std::vector<site_statistics>& sums) const {
    const std::lock_guard guard{growth_};
    for (std::size_t id = 0; id < std::min(by_site_.size(), sums.size()); ++id) {
        if (by_site_[id] == nullptr) continue;
        site_statistics& to = sums[id];
        pair_up(*by_site_[id], to, [](const counter& from, std::uint64_t& sum) { sum += from.get(); });
        by_site_[id]->conflicting_sites.for_each([&](const auto& key, const counter& c) {
            if (c.get() == 0) return;
            const auto known = std::ranges::find_if(to.conflicting_sites, [&](const conflicting_site_statistics& r) {
                return r.site == key.first->id && r.cause == key.second;
            });
            if (known != to.conflicting_sites.end()) known->aborts += c.get();
            else to.conflicting_sites.push_back({.site = key.first->id, .cause = key.second, .aborts = c.get()});
        });
    }
}

void transaction_counters::reset() noexcept {
    const std::lock_guard guard{growth_};
    site_statistics unused;
    for (const auto& c : by_site_) {
        if (c == nullptr) continue;
        pair_up(*c, unused, [](counter& x, std::uint64_t&) { x.reset(); });
        c->conflicting_sites.for_each_to_change([](counter& x) { x.reset(); });
    }
}

}  // namespace tutti::observe
