// What one descriptor's transactions did, by site.
//
// Thread safety: `enter` and `count_*` are for the owner, which is the only writer of what it counts; `add_to`,
// `entered` and `attempt` are for any thread, and read it as it stands (observe/counter.hpp). Counters never move once
// made.
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

/// Whether all transactions are counted. Looked at when a transaction begins.
extern std::atomic<bool> counting;
/// Whether blocks of the library are, because a report is wanted: those of the language have accounts of their own.
extern std::atomic<bool> counting_library;
/// Whether a block of the library is counted.
inline bool counting_in_library() noexcept {
    return counting.load(std::memory_order_relaxed) || counting_library.load(std::memory_order_relaxed);
}

/// The block of a transaction: where it is in the source, and the name it was given or null.
struct block {
    const detail::call_site& at;
    const char* name;
};

class ledger {
public:
    ledger() = default;
    ledger(const ledger&) = delete;
    ledger& operator=(const ledger&) = delete;

    /// An attempt of `where` begins, its execution's number `attempt`. True: it is one of those that are timed.
    [[nodiscard]] bool enter(const block& where, std::uint32_t attempt) noexcept;
    /// The block of the attempt that runs, or ran last; null: nothing has been counted. Others may find one and the
    /// other of `entered` and `attempt` to be of different attempts.
    [[nodiscard]] const site* entered() const noexcept { return entered_.load(std::memory_order_acquire); }
    [[nodiscard]] std::uint32_t attempt() const noexcept { return attempt_.load(std::memory_order_relaxed); }

    /// `restarts`: how often the block had run in vain. All of them drop the count when memory runs out.
    void count_commit(const block& where, std::uint32_t restarts) noexcept;
    void count_duration(const block& where, std::uint64_t nanoseconds) noexcept;
    /// `rival`: the block that was in the way, or null; `lost`: what the attempt took if it was timed, in nanoseconds.
    void count_abort(const block& where, abort_cause cause, const site* rival, std::uint64_t lost) noexcept;
    void count_rewind(const block& where) noexcept;
    void count_irrevocable(const block& where, const char* reason) noexcept;
    /// A block with a deadline committed in mode `m`.
    void count_deadline(const block& where, mode m, bool met) noexcept;
    void count_refusal(const block& where) noexcept;
    void count_hardware_commit(const block& where) noexcept;
    void count_hardware_abort(const block& where, hardware_abort why) noexcept;

    /// Adds the counters to those of the same site number in `sums`, of which those beyond the end are left out.
    void add_to(std::vector<site_statistics>& sums) const;
    void reset() noexcept;

private:
    struct counters {
#define TUTTI_SITE_COUNTER(name) counter name;
#define TUTTI_SITE_COUNTERS(name) std::array<counter, std::tuple_size_v<decltype(site_statistics::name)>> name;
#include "observe/site_counters.def"
#undef TUTTI_SITE_COUNTER
#undef TUTTI_SITE_COUNTERS
        tally<std::pair<const site*, abort_cause>, counter> rivals;
    };
    template <class F>
    static void pair_up(counters& c, site_statistics& s, F&& f);
    counters* at(const block& where) noexcept;
    counters* make(std::uint32_t id) noexcept;

    std::uint32_t attempts_ = 0;
    std::atomic<const site*> entered_{nullptr};
    std::atomic<std::uint32_t> attempt_{0};
    mutable std::mutex growth_;  // of by_site_, between the owner and add_to
    std::vector<std::unique_ptr<counters>> by_site_;
};

}  // namespace tutti::observe
