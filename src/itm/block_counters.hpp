// Counts the events of one context's blocks, for the report at exit (report.cpp). The counters exist only if the user
// wants a report. A context without counters pays one comparison in begin and one in commit.
//
// Thread safety: see observe/counter.hpp.
//
// A block is identified by the address to which its begin returns.
#pragma once

#include <array>
#include <utility>

#include "base/clock.hpp"
#include "itm/block.hpp"
#include "observe/counter.hpp"
#include "tutti/errors.hpp"

namespace tutti::itm {

using observe::counter;
using observe::keyed_counter;

/// The reason why a block became irrevocable or ran serially.
enum class switch_reason : std::uint8_t {
    unsafe_operation,  ///< an operation that the compiler knows not to be transaction-safe
    no_clone,          ///< a call of a function without a transactional clone
    from_begin,        ///< every path through the block is unsafe, or the block has no instrumented code
    restarts,          ///< the block was restarted too often
    library_call,      ///< a library call that reports the reason itself
};
inline constexpr std::size_t switch_reason_count = 5;

struct abort_key {
    abort_cause cause;
    bool partial;      ///< true if only a nested block was restarted
    const void* with;  ///< the conflicting block; null if it is unknown or a block of the library
    bool operator==(const abort_key&) const = default;
};

struct switch_key {
    switch_reason reason;
    const void* where;   ///< the code address after the operation, or null
    const void* callee;  ///< the function without a clone, or null
    // Literals of a library_call.
    const char* function = nullptr;
    const char* why = nullptr;
    const char* instead = nullptr;
    bool operator==(const switch_key&) const = default;
};

/// How often blocks switched, and how late. `accesses` is a sum over all these blocks. The sums of ticks include only
/// the `timed` blocks.
struct switch_count {
    counter times;
    counter accesses;
    counter timed;
    counter ticks_before;
    counter ticks_whole;
};

/// The counts of one block.
struct block_entry {
    counter executions;  ///< executions as an outermost block, or as the outermost block of the language
    counter commits;
    counter cancelled;
    counter single_threaded;  ///< further executions, all committed, while only one thread used transactions
    counter nested;           ///< executions inside another block
    counter lost_ticks;
    counter alone_ticks;                        ///< time for which the block ran alone
    keyed_counter<const void*, counter> waits;  ///< ticks waited, by the block that ran alone meanwhile; null: unknown
    keyed_counter<abort_key, counter> aborts;
    keyed_counter<switch_key, switch_count> switches;
};

class block_counters {
public:
    /// Creates the block counters of a context that has none. Returns null if the user wants no report or memory runs
    /// out.
    static block_counters* make(const descriptor& owner) noexcept;

    void begin(const void* block) noexcept {
        entry_ = entry_of_block(block);
        switched_ = nullptr;
        if (entry_ == nullptr) [[unlikely]]
            return;
        const std::uint64_t before = entry_->executions.get();
        entry_->executions.add_one();
        if (shown_block_.load(std::memory_order_relaxed) != block) shown_block_.store(block, std::memory_order_relaxed);
        // Reading the clock costs as much as the rest of the counting. So after the first executions, only one of
        // sixteen executions is timed.
        started_ = 0;
        if (before < always_timed || before % sampling == 0) {
            started_ = base::ticks();
            weight_ = before < always_timed ? 1 : sampling;
        }
    }
    /// Counts a block of the biased owner. The owner calls this instead of `begin` and `commit`, because its block
    /// always commits, and full counting would take about as long as the block itself.
    void record_single_threaded(const void* block) noexcept {
        entry_ = nullptr;
        if (block_entry* const a = entry_of_block(block)) a->single_threaded.add_one();
    }
    void commit() noexcept {
        if (entry_ == nullptr) [[unlikely]]
            return;
        entry_->commits.add_one();
        if (switched_ != nullptr || alone_since_ != 0) [[unlikely]]
            end_switched();
    }
    void record_nested(const void* block) noexcept {
        if (block_entry* const a = entry_of_block(block)) a->nested.add_one();
    }
    /// Counts a cancelled block, which may be nested.
    void record_cancel(const void* block) noexcept {
        if (block_entry* const a = entry_of_block(block)) a->cancelled.add_one();
    }
    /// Counts an attempt that has been rolled back, or is about to be. `partial`: only a nested block was rolled back.
    void record_abort(abort_cause cause, const void* with, bool partial) noexcept;
    /// Returns the block that conflicted with the attempt whose roll-back is in progress. The result may be wrong if
    /// the other context has continued with its next block. Returns null if the block is unknown or a block of the
    /// library. Call this before the core begins the next attempt.
    [[nodiscard]] const void* conflicting_block() const noexcept;
    /// Records that the next attempt of `block` begins, because undo actions may have run other blocks since the last
    /// one.
    void begin_next_attempt(const void* block) noexcept;
    /// Records that the transaction becomes irrevocable for the reason `why`.
    void record_switch(const switch_key& why) noexcept;
    /// Counts the waits at the start of the transaction of d, the owner of these block counters.
    void record_waits(descriptor& d) noexcept {
        if (d.serial_wait.ticks != 0) [[unlikely]]
            count_waits(d);
    }
    /// Records that no other transaction runs until the commit. Call this after record_switch.
    void record_alone() noexcept { alone_since_ = base::ticks(); }
    /// Resolves the new addresses. REQUIRES: the owner runs no transaction, because resolving acquires locks of the
    /// dynamic linker. A constructor that waits for a transaction of the owner may hold these locks.
    void resolve_new_addresses() noexcept {
        if (!unresolved_.empty()) [[unlikely]]
            resolve_all();
    }

    /// Calls f(block, entry) for every block of every context. The counters may change during the calls.
    template <class F>
    static void for_each(F&& f) {
        for (const block_counters* j = newest_.load(std::memory_order_acquire); j != nullptr; j = j->older_) {
            j->entries_.for_each(f);
        }
    }
    /// Resets all counts. REQUIRES: no other thread runs.
    static void reset() noexcept;

private:
    static constexpr std::uint64_t always_timed = 64;
    static constexpr std::uint64_t sampling = 16;
    static constexpr std::size_t cached = 256;

    explicit block_counters(const descriptor& owner) noexcept : owner_{owner} {}

    block_entry* entry_of_block(const void* block) noexcept {
        const cache_line& c = cache_[reinterpret_cast<std::uintptr_t>(block) / 4 % cached];
        return c.block == block ? c.entry : find_entry(block);
    }
    block_entry* find_entry(const void* block) noexcept;
    void resolve_later(const void* address) noexcept;
    void resolve_all() noexcept;
    void end_switched() noexcept;
    void count_waits(descriptor& d) noexcept;
    static const void* block_shown_by(const descriptor& other) noexcept;

    struct cache_line {
        const void* block;
        block_entry* entry;
    };
    static std::atomic<block_counters*> newest_;

    const descriptor& owner_;
    std::atomic<const void*> shown_block_{nullptr};  // the context's current or latest block
    block_entry* entry_ = nullptr;                   // entry of the outermost block that runs
    switch_count* switched_ = nullptr;
    std::uint64_t started_ = 0;  // tick at which the attempt began; 0: not timed
    std::uint64_t weight_ = 1;
    std::uint64_t before_switch_ = 0;  // ticks from the attempt's start to its switch; 0: not timed
    std::uint64_t alone_since_ = 0;    // tick; 0: not alone, or alone only because there are no other threads
    std::uint64_t ended_ = 0;          // tick at which the previous attempt ended
    std::array<cache_line, cached> cache_{};
    keyed_counter<const void*, block_entry> entries_;
    memory::log<const void*> unresolved_;
    const block_counters* older_ = nullptr;
};

}  // namespace tutti::itm
