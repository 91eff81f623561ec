// The descriptor: all data that the transactions of one execution context need. A descriptor belongs to its context,
// not to a thread.
//
// Life of an attempt (status word in memory/status_record.hpp):
//
//   idle -> active | visible | irrevocable        begin, or the switch to a stricter mode
//        -> preparing -> committed -> idle        commit of an update
//        -> idle                                  commit of a reader: its snapshot needs no decision
//        -> aborting -> idle                      roll-back; the user's frames unwind in between
//
// Invariants
//   DSC1  frame_ != nullptr  <=>  an atomic block is open on this context
//   DSC2  both bounds are zero unless the attempt is optimistic and healthy, and its algorithm inlines reads
//   DSC3  while pending != none the bounds are zero; if the signal is a restart, the attempt owns no orec and no mark
//   DSC4  slow_commit == 0  =>  the commit only has to write the write set back
//   DSC5  only the owner touches members outside `status_record`; another context may call the algorithm's roll_back on
//       a *suspended* descriptor, under `eviction` (core/conflict/kill.hpp)
//   DSC6  frame_ == nullptr, at the start and the end of an execution  =>  `run` equals that of a fresh execution,
//       except for its site and options
//   DSC7  frame_ == nullptr  =>  pending == none: a signal belongs to an attempt
#pragma once

#include <array>
#include <concepts>
#include <optional>

#include "base/clock.hpp"
#include "base/lock.hpp"
#include "core/state/hardware_history.hpp"
#include "core/state/holding_table.hpp"
#include "core/state/partial_rollback_predictor.hpp"
#include "core/state/timing.hpp"
#include "memory/limbo.hpp"
#include "memory/location.hpp"
#include "memory/slab.hpp"
#include "memory/status_record.hpp"
#include "memory/write_set.hpp"
#include "observe/transaction_counters.hpp"
#include "tutti/detail/runtime.hpp"

namespace tutti::core {

using detail::word;
using memory::orec;
using memory::status;

class descriptor;
struct instance;
struct preemption;
class waiter;

/// What an attempt that has ended early requests from the blocks through which it unwinds.
enum class signal : std::uint8_t {
    none,
    restart,        ///< the outermost block runs again
    restart_block,  ///< the innermost block runs again
    /// The block `partial_rollback.to` runs again, because values that it read have changed, or because of another
    /// conflict. Values that were read before that block are unchanged.
    partial_rollback,
    retry,   ///< the next alternative runs; if there is no alternative, the transaction waits
    cancel,  ///< the innermost block ends without effect
};

/// Reasons why a commit cannot take the short path.
enum slow_commit_flag : std::uint32_t {
    slow_commit_memory = 1,      // allocations and frees
    slow_commit_pending = 2,     // a signal was swallowed by the body
    slow_commit_counting = 4,    // statistics
    slow_commit_strict = 8,      // marks and a slot to release
    slow_commit_plain = 16,      // `uses_plain_memory` to clear
    slow_commit_restarted = 32,  // `run` has to be reset, for example after a restart
    slow_commit_handlers = 64,   // handlers and participants
    slow_commit_abstract_locks = 128,
    slow_commit_language = 256,    // a block of the language has been open inside one of the library
    slow_commit_serial = 1024,     // the serial token to release, and no slot
    slow_commit_resources = 2048,  // see core/rollback/deferred.hpp
    // Set together with slow_commit_handlers, if the only handler is one data participant that may commit in one phase.
    slow_commit_one_phase = 4096,
    slow_commit_orphans = 8192,      // ended contexts have left objects to destroy: see memory/limbo.hpp
    slow_commit_late_clock = 16384,  // the version clock is to start anew: see algorithms/new_era.hpp
    slow_commit_snapshot = 32768,    // a snapshot to withdraw, and `run` has to be reset
    // A log is large. This flag stays set across transactions until no log is large: core/lifecycle/log_memory.hpp
    slow_commit_large = 512
};
/// The transaction may have actions that run when it is over: state/unfinished_handlers.hpp.
inline constexpr std::uint32_t slow_commit_actions = slow_commit_handlers | slow_commit_resources;

/// Reasons why a barrier cannot take the short path.
enum slow_path_flag : std::uint32_t {
    slow_path_idle = 1,     // no transaction runs
    slow_path_pending = 2,  // a signal is passing up the stack
    slow_path_frozen = 4,   // participants or handlers run, and must not access the transaction
    // The attempt may have to become stricter for its deadline. It is healthy, but reads the clock.
    slow_path_timed = 8,
};

/// An action that runs when the transaction ends, in registration order; see core/rollback/deferred.hpp.
struct deferred {
    enum class kind : std::uint8_t {
        before_commit,
        at_commit,
        on_commit,
        on_abort,
        over,
        spent,
        participant,
        data_participant,
        shown,
        owned_resource,
        constructed,
        exception,
        allocated,
        discarded,
        doomed,
        freed,
        replaced
    };
    kind what;
    std::uint32_t bytes;  // of an allocation of `create`, saturated at 32 bits; else 0
    void* object;
    detail::destroyer destroy;
};

/// A read logged by value: the bytes at `from`, and the orec on which `retry` waits for them.
struct value_read {
    const void* from;
    unsigned size;
    word value;
    const memory::orec* under;
};

/// A descriptor's view of the version clock; see algorithms/version_clock.hpp.
struct clock_view {
    word sampled = 0;           // the clock word when the bound was taken
    word own = 0;               // the clock word that this descriptor's latest commit left behind
    std::uint32_t counted = 0;  // commits of this window in counting mode
    std::uint32_t foreign = 0;  // how many of these commits found the clock moved by another descriptor
    std::uint32_t deferred_length = 128;
    std::uint32_t deferred_left = 128;
    std::uint32_t foreign_versions = 0;  // versions of other writers beyond the clock, in this period of deferred mode
    std::uint32_t own_hits = 0;          // reads of own versions beyond the bound
    std::uint32_t own_hits_here = 0;
    word own_hits_of = 0;  // the transaction that `own_hits_here` counts for
};

/// The state of an attempt that may run in hardware. Algorithms for hardware use all of it (algorithms/hybrid.hpp).
/// Blocks of the language use only `runs_in` and the history (itm/hardware.hpp).
struct hardware_state {
    enum class run_mode : std::uint8_t {
        software,   // the attempt runs in software, or no attempt runs
        undecided,  // the attempt has neither read nor written
        hardware
    };
    run_mode runs_in = run_mode::software;
    std::uint8_t tries_left = 0;  // of this execution
    hardware_trial trial;         // of this execution
    hardware_history history;
};

/// The snapshot that an attempt has announced; see algorithms/snapshots.hpp.
struct snapshot_view {
    word generation = 0;  // 0: none is announced
    std::uint8_t slot = 0;
    std::uint16_t turns = 0;  // how often reads had to look again
};

/// State that only some algorithms use. The comment of each member names these algorithms.
struct algorithm_state {
    explicit algorithm_state(std::uint32_t& slow_commit) noexcept : values{slow_commit, slow_commit_large} {}

    clock_view clock;         // algorithms with versions
    word commit_version = 0;  // the same algorithms: publish releases orecs with this version
    // Used by algorithms that cannot find a write by its orec. The index is large only if the write set is large.
    memory::write_index index;
    memory::log<value_read> values;  // algorithms that read by value, instead of the read log
    bool holds_lock = false;         // algorithms with one lock for all transactions
    hardware_state hardware;         // algorithms that run in hardware
    snapshot_view snapshot;          // algorithms with snapshot readers
};

/// A descriptor's part in quiescence; see core/privatization.
struct quiescing_state {
    bool announced = false;          // `privatizing_version` is announced for the attempt in progress
    word received_up_to = 0;         // no commit with a version up to this one still quiesces
    word latest_read = 0;            // the latest version that the ending transaction may have read
    word rolled_back_in = 0;         // the latest attempt that was partly rolled back
    word deferred_up_to = 0;         // the bound of its deferred wait; 0: no deferred wait
    std::uint32_t steps_walked = 0;  // steps in the quiescence set since this context's latest sweep
};

/// A partial roll-back in progress.
struct partial_rollback_state {
    const detail::frame* to = nullptr;  // the block that runs again
    word bound = 0;                     // the snapshot bound to continue with
    partial_rollback_predictor predictor;
};

/// Measures of a large log; see core/lifecycle/log_memory.hpp.
struct large_log_state {
    std::size_t max_reads = 0;       // in this period
    std::uint32_t until_shrink = 0;  // transactions
};

/// The state of biased serial execution; see core/tokens/bias.hpp.
struct bias_state {
    std::uint32_t blocks_until_next_try = 0;  // number of blocks before this context tries again to become the owner
    std::uint32_t count = 0;                  // number in its latest owner word
    word word_as_owner = 0;                   // value of `biased_owner` while this context is the owner
    word begun_by_others = 0;                 // transactions that others had begun at its latest check
};

/// How often a descriptor takes the serial token; see core/tokens/serial_token.hpp.
struct serial_token_state {
    word latest = ~word{0} << 32;      // the sequence in which it took the token; initially far in the past
    word seen = 0;                     // the token's value at this context's latest fenced begin
    std::uint32_t fences_in_vain = 0;  // fenced begins in a row that found this value
    // True if no other context had unfinished handlers when this context became alone. Valid only while this context is
    // the owner and alone.
    bool handlers_were_finished = false;
};

/// Time spent waiting for transactions that ran alone, while measurement was on; see core/modes/serial.cpp.
struct serial_wait_state {
    std::uint64_t ticks = 0;
    const descriptor* owner = nullptr;  // the last transaction that it waited for
};

/// The transaction to wait for before the next attempt: the one of `awaited` whose state was `state`. The conflict was
/// at `contended_orec`, whose value was `seen`. `contended_orec` is null for a conflict of whole transactions.
struct wait_target {
    descriptor* awaited = nullptr;
    word state = 0;
    const orec* contended_orec = nullptr;
    word seen = 0;
};

/// One call of retry_for, which each attempt of an execution may reach; see core/lifecycle/retry_limits.hpp.
struct retry_call {
    detail::retry_site site;
    base::deadline since;   // when an attempt first reached the call
    std::uint32_t attempt;  // the latest attempt that reached the call without undoing it later; or 0
    std::uint32_t number;   // number of the call in that attempt, from 1
};

/// The execution: all attempts of one outermost block.
struct execution {
    detail::call_site where;
    const options* how = nullptr;
    std::uint32_t attempt = 1;
    abort_cause last_cause = abort_cause::none;
    status next_mode = status::active;    // the mode that the next attempt starts in
    std::uint32_t partial_rollbacks = 0;  // partial roll-backs of this attempt
    std::uint32_t opened_in = 0;          // the latest attempt in which an open-nested block has ended; 0: none
    bool log_reads = false;               // log reads even in a block that promised to write nothing
    bool reads_plain = false;             // an attempt that read a snapshot has accessed plain memory
    const char* irrevocable_reason = nullptr;
    std::optional<std::size_t> waits_from;  // where this execution's entries in retry_calls begin, if it has any
    std::uint32_t waits_made = 0;           // calls of retry_for in this attempt
    // waits_free and waits_end are bounds in the log of these calls; see core/lifecycle/retry_limits.hpp.
    std::uint32_t waits_free = 0;
    std::uint32_t waits_end = 0;
    std::optional<base::deadline> retry_until;  // when the nearest call of this attempt times out
    // The execution's number in the order of executions that wait in retry, once it has waited; see
    // core/waiting/wakeup.cpp.
    std::uint64_t retry_order = 0;
    wait_target blocked_by;
    // Rank, age and defeats, which other transactions see; see core/conflict/contention_rank.hpp.
    std::int64_t rank = 0;
    std::uint64_t age = 0;
    std::uint32_t defeats = 0;
    bool was_defeated = false;
    bool interruptible = false;  // an interruption may end the current wait; see core/lifecycle/interrupt.hpp
    // The execution is irrevocable only to make sure that it commits, or commits in time. The body may still retry and
    // restart.
    bool irrevocable_only_to_commit = false;
    timing deadline_state;  // the state of its deadline

    [[nodiscard]] observe::block_id block() const noexcept { return {where, how->name}; }
};

/// The first members of the structure that __cxa_get_globals returns, in the layout of the Itanium C++ ABI (2.2.2).
struct exception_globals {
    void* caught;
    unsigned uncaught;
};

/// The value of descriptor::exceptions_at_open if the outermost block is a block of the language, because such a block
/// never unwinds.
inline constexpr unsigned opened_by_language = ~0U;

/// The latest signal or interruption that was thrown on a context of a server (core/rollback/traced.hpp).
struct thrown_signal {
    const void* object = nullptr;  // the exception, until it is destroyed
    std::uint32_t why = 0;
    exception_globals before{};  // as they were when the signal was thrown
};

/// The layers above core that keep data for each descriptor. Each layer keeps one object. The type T of this object is
/// derived from detail::layer_data, and `T::of_layer` is the layer.
enum class layer : std::uint8_t { language, c_library };

class descriptor final : public tx, public memory::status_record {
public:
    descriptor();
    ~descriptor() = default;

    static descriptor& of(tx& t) noexcept { return static_cast<descriptor&>(t); }
    static descriptor& of(memory::status_record& a) noexcept { return static_cast<descriptor&>(a); }

    using tx::companion_data_;
    using tx::frame_;
    using tx::logged_bound_;
    using tx::operations_;
    using tx::own_writer_;
    using tx::read_end_;
    using tx::read_next_;
    using tx::unlogged_bound_;

    // --- the snapshot
    // Aligned, so that the compiler does not put these members on the last cache line of `status_record`: other
    // contexts scan that line, and this context writes here at each begin.
    alignas(128) word snapshot_bound = 0;  // versions up to this one belong to the snapshot
    // True if reads are logged. Otherwise the attempt is read-only, and restarts instead of extending its snapshot.
    bool logging = true;
    word slot = 0;  // this reader's bit in marked orecs; 0 while its reads are invisible

    // --- what the attempt did
    const memory::orec** read_begin = nullptr;  // the read log is [read_begin, tx::read_next_)
    memory::log<memory::write_entry> writes{slow_commit, slow_commit_large};
    memory::log<memory::overwritten_entry> overwritten{slow_commit, slow_commit_large};
    algorithm_state algorithm_data{slow_commit};
    memory::log<deferred> deferred_log{slow_commit, slow_commit_large};
    word joined_in = 0;                    // the own_sequence of the latest attempt that a participant has joined
    word joined_by_data_participants = 0;  // the same for data participants
    memory::log<retry_call> retry_calls{slow_commit, slow_commit_large};
    memory::limbo limbo;
    bool wrote_plain = false;  // some write entries are plain locations
    quiescing_state quiescing;
    large_log_state large_logs;

    // --- the state of the attempt
    word self_lock = 0;  // the lock word of entry 0
    // The writer number in the attempt's versions. If this number is `unknown_writer`, no version names own_writer_.
    word writer = 0;
    word own_sequence = 0;  // the sequence in the state word
    bool inlined = false;   // the algorithm lets reads of this attempt take the inlined path
    std::uint32_t slow_commit = 0;
    std::uint32_t slow_path = slow_path_idle;
    // These members are adjacent, so that one store resets all of them.
    status mode = status::active;
    signal pending = signal::none;
    abort_cause cause = abort_cause::none;  // that of the roll-back in progress
    bool ownership_released = false;        // ownership has been released already
    partial_rollback_state partial_rollback;

    // --- layers above core: the data of each layer, or null, at the layer's position
    std::array<detail::layer_data*, 2> layers{};

    // --- language-level blocks
    std::uintptr_t rollback_stack_end = 0;  // frame::stack of the block at which the roll-back in progress ends, or 0
    std::size_t notes_end = 0;  // one past the newest write entry that records memory written without barriers
    bool serial = false;        // serial-irrevocable: see modes/serial.hpp
    bias_state bias;
    serial_token_state serial_takes;
    serial_wait_state serial_wait;

    // --- the attempt's execution
    execution run;
    const instance* algorithm = nullptr;
    const exception_globals* exceptions = nullptr;
    // The number of exceptions in flight when the outermost block was opened, plus one; or `opened_by_language`.
    unsigned exceptions_at_open = 0;
    // If at least this many exceptions are in flight, no barrier throws. The value is `exceptions_at_open`, or 0 in a
    // shield.
    unsigned unwinding_threshold = 0;
    bool running_undo = false;  // undo actions are running
    // Destructors are running, and no interruption may leave them; see core/rollback/user_code.hpp.
    bool running_destructors = false;

    // --- open nesting; see core/lifecycle/open_nesting.hpp
    descriptor* outer = nullptr;  // this descriptor's transactions run inside the body of `outer`
    descriptor* inner = nullptr;  // the descriptor whose `outer` is this one; created when first needed
    void (*masked_jump)(detail::frame& to) = nullptr;
    // Used in the outermost descriptor: the procedure has left a block by a jump; see left_behind.hpp.
    bool left_by_jump = false;
    bool threw_after_commit = false;             // an on_commit handler has thrown since enter_open_nested
    abstract_holding* abstract_locks = nullptr;  // the abstract locks that it holds, the latest first
    abstract_holding* kept_locks = nullptr;      // the latest abstract lock of the attempt whose undo actions run
    memory::slab<abstract_holding> holdings;     // the memory of its holdings

    // --- what other transactions see of this one
    detail::shared<std::int64_t> rank{0};
    detail::shared<std::uint64_t> age{0};
    detail::shared<std::uint32_t> undoes_under_locks{0};  // its undo actions are running under abstract locks
    // Not 0 if the transaction is irrevocable, but lets undo actions commit beside it; see abstract_locks.hpp.
    detail::shared<std::uint32_t> lets_undo_commit{0};
    detail::shared<descriptor*> waits_for{nullptr};  // set in wait_bounded and wait_for_commit
    detail::shared<word> waits_for_state{0};         // the state of the transaction that it waits for
    // The current activity of the context, for tools that inspect the process (api/report/report_text.cpp, `tutti
    // transactions` of gdb). No decision of the engine depends on these members, so tests need not explore their
    // interleavings.
    std::atomic<const descriptor*> shows_wait_for{nullptr};
    std::atomic<bool> shows_retry{false};
    std::atomic<std::int32_t> shows_thread{0};  // the kernel's thread number; 0: the context belongs to no thread
    // The sequences of the first and the last defeated attempt of the latest execution: attempts that were, or will be,
    // followed by another attempt.
    detail::shared<word> first_defeat{0};
    detail::shared<word> last_defeat{0};

    // --- environment
    observe::transaction_counters counters;
    std::uint64_t started = 0;  // ticks, in timed attempts
    std::uint64_t random = 0;
    const preemption* hooks = nullptr;  // set by a preemption layer
    std::atomic<std::uint32_t> critical_depth{0};
    std::atomic<bool> pending_tick{false};
    base::lock eviction;  // DSC5
    detail::shared<std::uint32_t> suspended{0};
    std::uint32_t suspensions = 0;                 // number of suspensions; written under `eviction`
    detail::shared<std::uint32_t> interrupted{0};  // no further attempt may begin; see core/lifecycle/interrupt.hpp
    // Set in retry while an interruption can end the sleep. Guarded by `eviction`.
    waiter* sleeping_waiter = nullptr;
    thrown_signal thrown;  // in the outermost descriptor; only its own thread uses it
    // Used in the outermost descriptor: a signal or an interruption has passed a noexcept function.
    bool passed_noexcept = false;

    [[nodiscard]] bool has_data_of(layer l) const noexcept { return layers[static_cast<std::size_t>(l)] != nullptr; }
    /// Returns the data of the layer `T::of_layer`, or null if the layer has not set them.
    template <std::derived_from<detail::layer_data> T>
    [[nodiscard]] TUTTI_ALWAYS_INLINE T* data_of_layer() const noexcept {
        return static_cast<T*>(layers[static_cast<std::size_t>(T::of_layer)]);
    }
    /// Sets the data of the layer `T::of_layer`. REQUIRES: the data live as long as this descriptor.
    template <std::derived_from<detail::layer_data> T>
    void set_data_of_layer(T* data) noexcept {
        layers[static_cast<std::size_t>(T::of_layer)] = data;
    }

    [[nodiscard]] bool running() const noexcept { return frame_ != nullptr; }
    [[nodiscard]] bool strict() const noexcept { return slot != 0; }
    [[nodiscard]] bool is_irrevocable() const noexcept { return mode == status::irrevocable; }
    [[nodiscard]] bool reads_snapshot() const noexcept { return algorithm_data.snapshot.generation != 0; }
    /// Returns true if the block's actions must not be repeated. Returns false for a block that is irrevocable only to
    /// make sure that it commits. Also returns true for a biased owner that runs serially, because such an owner cannot
    /// roll back.
    [[nodiscard]] bool must_commit() const noexcept {
        return serial || (is_irrevocable() && !run.irrevocable_only_to_commit);
    }
    /// Returns true if no other transaction can make this one start over.
    [[nodiscard]] bool cannot_be_killed() const noexcept { return serial || is_irrevocable(); }
    [[nodiscard]] bool owns(word r) const noexcept { return memory::is_locked(r) && memory::owner_of(r) == id; }

    [[nodiscard]] bool kill_requested() const noexcept {
        return kill_request.load(std::memory_order_relaxed) == own_sequence && !cannot_be_killed();
    }
    /// Returns true if more exceptions are in flight than when the block was opened, or if a shield is raised. Then a
    /// destructor is running, which another exception must not leave.
    [[nodiscard]] bool unwinding() const noexcept { return exceptions->uncaught >= unwinding_threshold; }
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool healthy() const noexcept {
        return slow_path == 0 && kill_request.load(std::memory_order_relaxed) != own_sequence && !unwinding();
    }
    TUTTI_ALWAYS_INLINE void set_status(status s) noexcept {
        state.store(memory::make_state(own_sequence, s), std::memory_order_release);
    }

    /// DSC2: opens the inlined paths for the snapshot, or closes them.
    TUTTI_ALWAYS_INLINE void set_bounds() noexcept {
        const word bound = inlined && !strict() ? snapshot_bound + 1 : 0;
        const bool logged = logging;
        logged_bound_.store(logged ? bound : 0, std::memory_order_relaxed);
        unlogged_bound_.store(logged ? 0 : bound, std::memory_order_relaxed);
    }
    TUTTI_ALWAYS_INLINE void close_bounds() noexcept {
        logged_bound_.store(0, std::memory_order_relaxed);
        unlogged_bound_.store(0, std::memory_order_relaxed);
    }

    /// Returns true if `address` is in a frame that the roll-back in progress abandons. Frames of the roll-back, or of
    /// the unwind to the block, may have overwritten that memory. `rollback_stack_end` is 0 if the roll-back runs on
    /// another stack.
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool on_dead_stack(const void* address) const noexcept {
        // The frames of the roll-back itself are below the caller's frame, by less than this number of bytes.
        constexpr std::uintptr_t own_frames = 4096;
        const auto low = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - own_frames;
        const auto at = reinterpret_cast<std::uintptr_t>(address);
        return at < rollback_stack_end && at >= low;
    }

    /// Returns true if the innermost block is nested, and if write entry number `entry` existed before that block was
    /// opened.
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool is_of_parent(std::size_t entry) const noexcept {
        return frame_->parent != nullptr && entry < frame_->mark.writes;
    }

    /// Returns the number of logged reads. An algorithm logs either orecs or values.
    [[nodiscard]] std::size_t reads() const noexcept {
        return static_cast<std::size_t>(read_next_ - read_begin) + algorithm_data.values.size();
    }
    [[nodiscard]] bool has_read() const noexcept { return read_next_ != read_begin || !algorithm_data.values.empty(); }
    void drop_reads(std::size_t from) noexcept {
        if (algorithm_data.values.empty()) read_next_ = read_begin + from;
        else algorithm_data.values.shrink(from);
    }
    void log_read(const memory::orec& r) {
        reserve_read();
        *read_next_++ = &r;
    }
    void reserve_read() {
        if (read_next_ == read_end_) [[unlikely]]
            grow_reads();
    }
    /// Reserves memory for `more` reads, so that logging them cannot fail. Throws std::bad_alloc.
    void reserve_reads(std::size_t more) {
        while (static_cast<std::size_t>(read_end_ - read_next_) < more) grow_reads();
        if (!algorithm_data.values.empty()) algorithm_data.values.reserve(more);
    }
    [[nodiscard]] std::uint64_t next_random() noexcept {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        return random;
    }

    [[nodiscard]] std::size_t read_capacity() const noexcept {
        return static_cast<std::size_t>(read_end_ - read_begin);
    }
    /// Returns false if memory for the log runs out.
    bool resize_reads(std::size_t capacity) noexcept;

private:
    TUTTI_COLD void grow_reads();
};

}  // namespace tutti::core
