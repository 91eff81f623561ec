// The counters of one descriptor's transactions, by site.
//
// Thread safety: only the owner may call `enter` and `count_*`, and only the owner writes the counters. Any thread may
// call `add_to`, `entered` and `attempt`, which read the current values (observe/counter.hpp). A counter never moves
// after its creation.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "observe/counter.hpp"
#include "observe/site.hpp"
#include "tutti/mode.hpp"
#include "tutti/statistics.hpp"

namespace tutti::observe {

/// True if all transactions are counted. The flag is read when a transaction begins.
extern std::atomic<bool> counting;
/// True if blocks of the library are counted because a report is requested. Blocks of the language have their own
/// counters.
extern std::atomic<bool> counting_library;
/// Returns true if a block of the library is counted.
inline bool counting_in_library() noexcept {
    return counting.load(std::memory_order_relaxed) || counting_library.load(std::memory_order_relaxed);
}

/// The block of a transaction: its place in the source, and its given name or null.
struct block_id {
    const detail::call_site& at;
    const char* name;
};

class transaction_counters {
public:
    transaction_counters() = default;
    transaction_counters(const transaction_counters&) = delete;
    transaction_counters& operator=(const transaction_counters&) = delete;

    /// Records that attempt number `attempt` of an execution of `where` begins. Returns true if this attempt is to be
    /// timed.
    [[nodiscard]] bool enter(const block_id& where, std::uint32_t attempt) noexcept;
    /// Returns the block of the running or latest attempt, or null if nothing has been counted. If another thread calls
    /// `entered` and `attempt`, the two results may belong to different attempts.
    [[nodiscard]] const site* entered() const noexcept { return entered_.load(std::memory_order_acquire); }
    [[nodiscard]] std::uint32_t attempt() const noexcept { return attempt_.load(std::memory_order_relaxed); }

    /// Counts a commit. `restarts` is the number of attempts that failed before. All count_ functions drop the count if
    /// memory runs out.
    void count_commit(const block_id& where, std::uint32_t restarts) noexcept;
    void count_duration(const block_id& where, std::uint64_t nanoseconds) noexcept;
    /// Counts an abort. `conflicting_site` is the block that conflicted, or null. `lost` is the duration of the attempt
    /// in nanoseconds, if it was timed.
    void count_abort(const block_id& where, abort_cause cause, const site* conflicting_site,
                     std::uint64_t lost) noexcept;
    void count_partial_rollback(const block_id& where) noexcept;
    void count_irrevocable(const block_id& where, const char* reason) noexcept;
    /// Counts a block with a deadline that has committed in mode `m`.
    void count_deadline(const block_id& where, mode m, bool met) noexcept;
    void count_refusal(const block_id& where) noexcept;
    void count_hardware_commit(const block_id& where) noexcept;
    void count_hardware_abort(const block_id& where, hardware_abort why) noexcept;

    /// Adds the counters to the elements of `sums` with the same site number. Omits sites whose numbers are beyond the
    /// end of `sums`.
    void add_to(std::vector<site_statistics>& sums) const;
    void reset() noexcept;

private:
    struct counters {
#define TUTTI_SITE_COUNTER(name) counter name;
#define TUTTI_SITE_COUNTERS(name) std::array<counter, std::tuple_size_v<decltype(site_statistics::name)>> name;
#include "observe/site_counters.def"
#undef TUTTI_SITE_COUNTER
#undef TUTTI_SITE_COUNTERS
        keyed_counter<std::pair<const site*, abort_cause>, counter> conflicting_sites;
    };
    template <class F>
    static void pair_up(counters& c, site_statistics& s, F&& f);
    counters* at(const block_id& where) noexcept;
    counters* make(std::uint32_t id) noexcept;

    std::uint32_t attempts_ = 0;
    std::atomic<const site*> entered_{nullptr};
    std::atomic<std::uint32_t> attempt_{0};
    mutable std::mutex growth_;  // guards by_site_ between the owner and add_to
    std::vector<std::unique_ptr<counters>> by_site_;
};

}  // namespace tutti::observe
