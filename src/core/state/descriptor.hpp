// The descriptor: everything one execution context's transactions need. It hangs off the context, not off a thread.
//
// Life of an attempt (status word in memory/activity.hpp):
//
//   idle -> active | visible | irrevocable        begin, or the switch to a stricter mode
//        -> preparing -> committed -> idle        commit of an update
//        -> idle                                  commit of a reader: its snapshot needs no decision
//        -> aborting -> idle                      roll-back; the user's frames unwind in between
//
// Invariants
//   I1  frame_ != nullptr  <=>  an atomic block is open on this context
//   I2  both bounds are zero unless the attempt is optimistic, healthy and of an algorithm whose reads are inlined
//   I3  while pending != none the bounds are zero; if it is a restart, the attempt owns no orec and no mark
//   I4  slow_commit == 0  =>  the commit has nothing to do but write the write set back
//   I5  only the owner touches what is not in `activity`; another context may call the algorithm's roll_back on a
//       *suspended* descriptor, under `eviction` (core/conflict/kill.hpp)
//   I6  frame_ == nullptr, at the start and the end of an execution  =>  `run` is as a fresh execution has it, but for
//       its site and options
//   I7  frame_ == nullptr  =>  pending == none: a signal belongs to an attempt
#pragma once

#include <optional>

#include "base/clock.hpp"
#include "base/lock.hpp"
#include "core/state/hardware_habits.hpp"
#include "core/state/holding_table.hpp"
#include "core/state/rewinding.hpp"
#include "core/state/timing.hpp"
#include "memory/activity.hpp"
#include "memory/limbo.hpp"
#include "memory/place.hpp"
#include "memory/slab.hpp"
#include "memory/write_set.hpp"
#include "observe/ledger.hpp"
#include "tutti/detail/runtime.hpp"

namespace tutti::core {

using detail::word;
using memory::orec;
using memory::status;

class descriptor;
struct instance;
struct preemption;
class waiter;

/// What an attempt that ended early asks of the blocks it unwinds through.
enum class signal : std::uint8_t {
    none,
    restart,        ///< the outermost block runs again
    restart_block,  ///< the innermost block runs again
    rewind,         ///< the block `rewind.to` runs again: what it read has changed, what was read before has not
    retry,          ///< the innermost alternative gives way to the next; without one, the transaction waits
    cancel,         ///< the innermost block is left without effect
};

/// Why commit cannot take its short way.
enum slow_commit_flag : std::uint32_t {
    slow_commit_memory = 1,      // allocations and frees
    slow_commit_pending = 2,     // a signal was swallowed by the body
    slow_commit_counting = 4,    // statistics
    slow_commit_strict = 8,      // marks and a slot to give back
    slow_commit_plain = 16,      // the plain flag to lower
    slow_commit_restarted = 32,  // not a first, plain attempt, or one with a deadline: `run` to reset
    slow_commit_handlers = 64,   // handlers and participants
    slow_commit_abstract_locks = 128,
    slow_commit_language = 256,      // a block of the language has been open inside one of the library
    slow_commit_serial = 1024,       // the serial token to give back, and no slot
    slow_commit_possessions = 2048,  // see core/rollback/deferred.hpp
    slow_commit_alone = 4096,        // with slow_commit_handlers: they are one companion that may commit alone
    slow_commit_orphans = 8192,      // ended contexts left objects to destroy: see memory/limbo.hpp
    slow_commit_late_clock = 16384,  // the version clock is to start anew: see algorithms/new_era.hpp
    slow_commit_large =
        512  // a log is large; stays up from one transaction to the next until none is: core/lifecycle/room.hpp
};

/// Why a barrier cannot just go on.
enum slow_path_flag : std::uint32_t {
    slow_path_idle = 1,     // no transaction runs
    slow_path_pending = 2,  // a signal is on its way up the stack
    slow_path_frozen = 4,   // participants or handlers run that must not touch the transaction
    slow_path_timed = 8,    // it may have to become stricter for its deadline: healthy, but looks at the clock
};

/// Something that happens when the transaction ends, in registration order; see core/rollback/deferred.hpp.
struct deferred {
    enum class kind : std::uint8_t {
        before_commit,
        at_commit,
        on_commit,
        on_abort,
        over,
        spent,
        participant,
        companion,
        shown,
        possession,
        constructed,
        exception,
        allocated,
        discarded,
        doomed,
        freed,
        replaced
    };
    kind what;
    std::uint32_t bytes;  // of an allocation of `create`, as far as 32 bits count them; else 0
    void* object;
    detail::destroyer destroy;
};

/// A read by value: the bytes at `from`, and the orec that stands for them in retry.
struct value_read {
    const void* from;
    unsigned size;
    word value;
    const memory::orec* under;
};

/// The view that a descriptor has of the version clock; see algorithms/version_clock.hpp.
struct clock_view {
    word sampled = 0;           // the clock word when the bound was taken
    word own = 0;               // the clock word that this descriptor's latest commit left behind
    std::uint32_t counted = 0;  // commits of this window in counting mode
    std::uint32_t foreign = 0;  // those of them that found it moved by another descriptor
    std::uint32_t deferred_length = 128;
    std::uint32_t deferred_left = 128;
    std::uint32_t met = 0;       // versions of others beyond the clock, in this period of deferred mode
    std::uint32_t own_hits = 0;  // reads of own versions beyond the bound
    std::uint32_t own_hits_here = 0;
    word own_hits_of = 0;  // the transaction that `own_hits_here` counts for
};

/// An attempt that may run in hardware: of an algorithm for that (algorithms/hybrid.hpp), or of a block of the language
/// (itm/hardware.hpp), which stores only the place and the habits.
struct hardware_state {
    enum class place : std::uint8_t {
        software,   // the attempt runs there, or none does
        undecided,  // it has neither read nor written
        hardware
    };
    place runs_in = place::software;
    std::uint8_t tries_left = 0;  // of this execution
    hardware_trial trial;         // the same
    hardware_habits habits;
};

/// What some algorithms keep and others do not.
struct algorithm_state {
    explicit algorithm_state(std::uint32_t& slow_commit) noexcept : values{slow_commit, slow_commit_large} {}

    clock_view clock;                // those with versions
    word commit_version = 0;         // theirs, which publish releases orecs with
    memory::write_index index;       // those that cannot find a write by its orec; large only beside the write set
    memory::log<value_read> values;  // those that read by value, in place of the read log
    bool holds_lock = false;         // those with one lock for all
    hardware_state hardware;         // those that run in hardware
};

/// What it knows of quiescence; see core/privatization.
struct quiescing_state {
    bool announced = false;          // `privatizing` is up for the attempt in progress
    word received_up_to = 0;         // no commit that published up to it quiesces any more
    word latest_read = 0;            // of the transaction that ends: nothing that it has read is of a later version
    word rewound = 0;                // the latest attempt that took a part of itself back
    word owes_up_to = 0;             // it owes the wait for what it received under this bound; 0: none
    std::uint32_t steps_walked = 0;  // in the quiescence set, since its latest sweep
};

/// A partial roll-back on its way.
struct rewind_state {
    const detail::frame* to = nullptr;  // the block that runs again
    word bound = 0;                     // of the snapshot to go on with
    rewinding partial;
};

/// A log that is large; see core/lifecycle/room.hpp.
struct large_log_state {
    std::size_t most_read = 0;        // in this period
    std::uint32_t until_settled = 0;  // transactions
};

/// Serial runs without asking; see core/tokens/bias.hpp.
struct bias_state {
    std::uint32_t until = 0;   // blocks before it tries again to become the owner
    std::uint32_t count = 0;   // number of its latest word
    word word_as_owner = 0;    // what `biased_owner` reads while it is the owner
    word begun_by_others = 0;  // at its last look
};

/// Takes of the serial token; see core/tokens/serial_token.hpp.
struct take_state {
    word latest = ~word{0} << 32;      // the sequence in which it took the token; so far in the past if never
    word seen = 0;                     // the token, at its latest begin that fenced
    std::uint32_t fences_in_vain = 0;  // begins since then
};

/// What it waited for others that ran alone, since somebody has asked; see core/modes/serial.cpp.
struct aside_state {
    std::uint64_t ticks = 0;
    const descriptor* for_whom = nullptr;  // the last of them
};

/// The transaction to wait for before the next attempt: the one of `who` whose state read `state`. The two met at the
/// orec `at`, which then read `seen`; null if they met at none.
struct obstacle {
    descriptor* who = nullptr;
    word state = 0;
    const orec* at = nullptr;
    word seen = 0;
};

/// A call of retry_for, which an execution may reach in each of its attempts; see core/lifecycle/retry_limits.hpp.
struct retry_call {
    detail::retry_place place;
    base::deadline since;   // when the first attempt reached it
    std::uint32_t attempt;  // the latest that reached it, and has not been rolled back to before it; or 0
    std::uint32_t number;   // of the call in that attempt, from 1
};

/// All attempts of one outermost block.
struct execution {
    detail::call_site where;
    const options* how = nullptr;
    std::uint32_t attempt = 1;
    abort_cause last_cause = abort_cause::none;
    status next_mode = status::active;  // the mode that the next attempt starts in
    std::uint32_t rewinds = 0;          // partial roll-backs of this attempt
    std::uint32_t opened_in = 0;        // the latest attempt in which an open nested block has ended; 0: none
    bool log_reads = false;             // even in a block that promised to write nothing
    const char* irrevocable_reason = nullptr;
    std::optional<std::size_t> waits_from;      // where its retry_calls begin, if it has made any
    std::uint32_t waits_made = 0;               // calls of retry_for in this attempt
    std::uint32_t waits_free = 0;               // bounds in the log of these calls: see core/lifecycle/retry_limits.hpp
    std::uint32_t waits_end = 0;                // the same
    std::optional<base::deadline> retry_until;  // when the nearest call of this attempt gives up
    std::uint64_t place = 0;                    // among those in retry, once it has waited; see core/waiting/wakeup.cpp
    obstacle in_the_way;
    // What it shows of itself; see core/conflict/contention_rank.hpp.
    std::int64_t rank = 0;
    std::uint64_t age = 0;
    std::uint32_t defeats = 0;
    bool was_defeated = false;
    bool queued = false;   // has joined a queue; see core/waiting/queue.hpp
    bool unbegun = false;  // an interruption may end it where it waits now; see core/lifecycle/interrupt.hpp
    bool hurried = false;  // irrevocable only so that it commits, in time or at all: the body may retry and restart
    timing timed;          // its deadline

    [[nodiscard]] observe::block block() const noexcept { return {where, how->name}; }
};

/// The start of what __cxa_get_globals returns, as the Itanium C++ ABI (2.2.2) lays it out.
struct exception_globals {
    void* caught;
    unsigned uncaught;
};

/// descriptor::opened_under where a block of the language is the outermost one: it never unwinds.
inline constexpr unsigned opened_by_language = ~0U;

/// The latest signal or interruption that has been thrown on a context of a server (core/rollback/traced.hpp).
struct thrown_signal {
    const void* object = nullptr;  // the exception, while it lives
    std::uint32_t why = 0;
    exception_globals before{};  // when it was thrown
};

class descriptor final : public tx, public memory::activity {
public:
    descriptor();
    ~descriptor() = default;

    static descriptor& of(tx& t) noexcept { return static_cast<descriptor&>(t); }
    static descriptor& of(memory::activity& a) noexcept { return static_cast<descriptor&>(a); }

    using tx::at_hand_;
    using tx::captured_begin_;
    using tx::captured_size_;
    using tx::frame_;
    using tx::logged_bound_;
    using tx::operations_;
    using tx::own_writer_;
    using tx::read_end_;
    using tx::read_next_;
    using tx::unlogged_bound_;

    // --- the snapshot
    // Aligned, or the compiler would put it and what follows on the last line of `activity`, which others walk over
    // while this context writes here at each begin.
    alignas(128) word snapshot_bound = 0;  // versions up to it belong to the snapshot
    bool logging = true;  // reads are recorded; else the attempt is read-only and restarts where it would extend
    word slot = 0;        // this reader's bit in marked orecs; 0 while its reads are invisible

    // --- what it did
    const memory::orec** read_begin = nullptr;  // the read log is [read_begin, tx::read_next_)
    memory::log<memory::write_entry> writes{slow_commit, slow_commit_large};
    memory::log<memory::overwritten_entry> overwritten{slow_commit, slow_commit_large};
    algorithm_state kept{slow_commit};
    memory::log<deferred> deferred_log{slow_commit, slow_commit_large};
    word joined_in = 0;             // the own_sequence of the latest attempt that a participant has joined
    word joined_by_companions = 0;  // the same of companions
    memory::log<retry_call> retry_calls{slow_commit, slow_commit_large};
    memory::limbo limbo;
    bool wrote_plain = false;  // some entries are plain places
    quiescing_state quiescing;
    large_log_state large;

    // --- the state of the attempt
    word self_lock = 0;     // the lock word of entry 0
    word writer = 0;        // the number that its versions name; own_writer_ is one that none names if it does not fit
    word own_sequence = 0;  // that of the state word
    bool inlined = false;   // whether the algorithm lets this attempt's reads take the inlined path
    std::uint32_t slow_commit = 0;
    std::uint32_t slow_path = slow_path_idle;
    // Together, so that one store resets them all.
    status mode = status::active;
    signal pending = signal::none;
    abort_cause cause = abort_cause::none;  // of the roll-back in progress
    bool given_back = false;                // ownership is, already
    rewind_state rewind;

    // --- language-level blocks
    void* language = nullptr;    // what src/itm keeps for this descriptor, for good
    std::uintptr_t landing = 0;  // frame::stack of the block that a roll-back under way ends at, or 0
    std::size_t notes_end = 0;   // one past the newest write entry that notes memory written without barriers
    bool serial = false;         // serial-irrevocable: see modes/serial.hpp
    bias_state bias;
    take_state takes;
    aside_state aside;

    void* c_library = nullptr;  // what src/libc keeps for this descriptor, for good

    // --- the execution it belongs to
    execution run;
    const instance* algorithm = nullptr;
    const exception_globals* exceptions = nullptr;
    // One more than the exceptions in flight when the outermost block was opened, or `opened_by_language`.
    unsigned opened_under = 0;
    unsigned unwinds_from = 0;  // while so many are in flight, no barrier throws: `opened_under`, or 0 in a shield
    bool compensating = false;  // undo actions run
    bool destroying = false;    // destructors run, which no interruption can leave: core/rollback/user_code.hpp

    // --- open nesting; see core/lifecycle/open_nesting.hpp
    descriptor* outer = nullptr;  // this one's transactions run inside its body
    descriptor* inner = nullptr;  // the reverse; made at the first need
    void (*masked_jump)(detail::frame& to) = nullptr;
    bool left_by_jump = false;        // of the outermost: the procedure has left a block so; see left_behind.hpp
    bool threw_after_commit = false;  // an on_commit handler did, since enter_open_nested
    abstract_holding* abstract_locks = nullptr;  // those that it holds, the latest first
    abstract_holding* kept_locks = nullptr;      // the latest that the attempt held whose undo actions run
    memory::slab<abstract_holding> holdings;     // their memory

    // --- what other transactions see of it
    detail::shared<std::int64_t> rank{0};
    detail::shared<std::uint64_t> age{0};
    detail::shared<std::uint32_t> undoes_under_locks{0};  // its undo actions run under abstract locks
    detail::shared<std::uint32_t> makes_way{0};  // irrevocable, but undo actions commit beside it; abstract_locks.hpp
    detail::shared<descriptor*> waits_for{nullptr};  // in wait_briefly and wait_for_commit
    detail::shared<word> waits_for_state{0};         // and the state of that one's transaction
    // What it is doing, for tools that look from outside (api/report_text.cpp, `tutti transactions` of gdb). The engine
    // decides nothing by them, so no interleaving of them is worth exploring.
    std::atomic<const descriptor*> shows_wait_for{nullptr};
    std::atomic<bool> shows_retry{false};
    std::atomic<std::int32_t> shows_thread{0};  // the kernel's number; 0: it belongs to no thread
    // The sequences of the first and last attempt of its latest execution that another attempt follows, or followed.
    detail::shared<word> first_defeat{0};
    detail::shared<word> last_defeat{0};

    // --- around it
    observe::ledger ledger;
    std::uint64_t started = 0;  // ticks, in attempts that are timed
    std::uint64_t random = 0;
    const preemption* hooks = nullptr;  // filled by a preemption layer
    std::atomic<std::uint32_t> critical_depth{0};
    std::atomic<bool> pending_tick{false};
    base::lock eviction;  // I5
    detail::shared<std::uint32_t> suspended{0};
    std::uint32_t suspensions = 0;                 // how often it was; written under `eviction`
    detail::shared<std::uint32_t> interrupted{0};  // no further attempt; see core/lifecycle/interrupt.hpp
    waiter* asleep = nullptr;                      // in retry, where it can be interrupted; under `eviction`
    thrown_signal thrown;                          // of the outermost; of its own thread
    bool passed_refusal = false;                   // of the outermost: such a one has passed a noexcept function

    [[nodiscard]] bool running() const noexcept { return frame_ != nullptr; }
    [[nodiscard]] bool strict() const noexcept { return slot != 0; }
    [[nodiscard]] bool is_irrevocable() const noexcept { return mode == status::irrevocable; }
    /// Irrevocable because the block wants to be, not just to commit at last: what it does must not be repeated.
    /// So is a biased owner that runs serially: it has no way back.
    [[nodiscard]] bool bound_to_commit() const noexcept { return serial || (is_irrevocable() && !run.hurried); }
    /// Whether no other transaction makes it start over.
    [[nodiscard]] bool prevails() const noexcept { return serial || is_irrevocable(); }
    [[nodiscard]] bool owns(word r) const noexcept { return memory::is_locked(r) && memory::owner_of(r) == id; }

    [[nodiscard]] bool asked_to_die() const noexcept {
        return kill_request.load(std::memory_order_relaxed) == own_sequence && !prevails();
    }
    /// Whether more exceptions are in flight than when the block opened, or a shield is up: a destructor runs, and must
    /// not be left by another exception.
    [[nodiscard]] bool unwinding() const noexcept { return exceptions->uncaught >= unwinds_from; }
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool healthy() const noexcept {
        return slow_path == 0 && kill_request.load(std::memory_order_relaxed) != own_sequence && !unwinding();
    }
    TUTTI_ALWAYS_INLINE void set_status(status s) noexcept {
        state.store(memory::make_state(own_sequence, s), std::memory_order_release);
    }

    /// I2: opens the inlined paths for the snapshot, or closes them.
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

    /// Whether `address` lies in a frame that the roll-back in progress leaves behind. Frames that the way to the
    /// block, or the roll-back itself, needs may have replaced it. `landing` is 0 where the roll-back runs on another
    /// stack.
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool on_dead_stack(const void* address) const noexcept {
        // The frames of the roll-back itself are below the caller's own, by less than this.
        constexpr std::uintptr_t own_frames = 4096;
        const auto low = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - own_frames;
        const auto at = reinterpret_cast<std::uintptr_t>(address);
        return at < landing && at >= low;
    }

    /// Whether the innermost block is a nested one, and write entry number `entry` was there before it opened.
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool is_of_parent(std::size_t entry) const noexcept {
        return frame_->parent != nullptr && entry < frame_->mark.writes;
    }

    /// An algorithm logs either orecs or values.
    [[nodiscard]] std::size_t reads() const noexcept {
        return static_cast<std::size_t>(read_next_ - read_begin) + kept.values.size();
    }
    [[nodiscard]] bool has_read() const noexcept { return read_next_ != read_begin || !kept.values.empty(); }
    void forget_reads(std::size_t from) noexcept {
        if (kept.values.empty()) read_next_ = read_begin + from;
        else kept.values.shrink(from);
    }
    void log_read(const memory::orec& r) {
        reserve_read();
        *read_next_++ = &r;
    }
    void reserve_read() {
        if (read_next_ == read_end_) [[unlikely]]
            grow_reads();
    }
    /// Makes room for `more` reads, so that logging them cannot fail. Throws std::bad_alloc.
    void reserve_reads(std::size_t more) {
        while (static_cast<std::size_t>(read_end_ - read_next_) < more) grow_reads();
        if (!kept.values.empty()) kept.values.reserve(more);
    }
    [[nodiscard]] std::uint64_t next_random() noexcept {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        return random;
    }

    [[nodiscard]] std::size_t read_room() const noexcept { return static_cast<std::size_t>(read_end_ - read_begin); }
    /// False: there is no memory for it.
    bool resize_reads(std::size_t room) noexcept;

private:
    TUTTI_COLD void grow_reads();
};

}  // namespace tutti::core
