// What one descriptor's transactions did, by site.
//
// Thread safety: `count_*` are for the owner, which is the only writer; each counter is an atomic that it loads and
// stores relaxed, so that `add_to` of other threads reads it as it stands. Counters never move once made.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "observe/site.hpp"
#include "tutti/mode.hpp"
#include "tutti/statistics.hpp"

namespace tutti::observe {

/// Whether transactions are counted. Looked at when a transaction begins.
extern std::atomic<bool> counting;

/// The block of a transaction: where it is in the source, and the name it was given or null.
struct block {
    const detail::call_site& at;
    const char* name;
};

class counter {
public:
    void add_one() noexcept { value_.store(get() + 1, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }
    void reset() noexcept { value_.store(0, std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

class ledger {
public:
    ledger() = default;
    ledger(const ledger&) = delete;
    ledger& operator=(const ledger&) = delete;

    /// Whether this attempt is one of those that are timed.
    [[nodiscard]] bool time_this_one() noexcept { return ++attempts_ % statistics_sampling == 0; }

    /// `restarts`: how often the block had run in vain. All of them drop the count when memory runs out.
    void count_commit(const block& where, std::uint32_t restarts) noexcept;
    void count_duration(const block& where, std::uint64_t nanoseconds) noexcept;
    void count_abort(const block& where, abort_cause cause) noexcept;
    void count_rewind(const block& where) noexcept;
    void count_irrevocable(const block& where, const char* reason) noexcept;
    /// A block with a deadline committed in mode `m`.
    void count_deadline(const block& where, mode m, bool met) noexcept;
    void count_refusal(const block& where) noexcept;

    /// Adds the counters to those of the same site number in `sums`.
    void add_to(std::vector<site_statistics>& sums) const;
    void reset() noexcept;

private:
    struct counters {
        counter commits;
        counter irrevocable;
        counter rewinds;
        std::array<counter, mode_count> deadlines_met;
        std::array<counter, mode_count> deadlines_missed;
        counter deadlines_refused;
        std::array<counter, abort_cause_count> aborts;
        std::array<counter, std::tuple_size_v<decltype(site_statistics::commits_by_restarts)>> by_restarts;
        std::array<counter, std::tuple_size_v<decltype(site_statistics::durations)>> durations;
    };
    counters* at(const block& where) noexcept;
    counters* make(std::uint32_t id) noexcept;

    std::uint32_t attempts_ = 0;
    mutable std::mutex growth_;  // of by_site_, between the owner and add_to
    std::vector<std::unique_ptr<counters>> by_site_;
};

}  // namespace tutti::observe
