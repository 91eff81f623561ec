// Which descriptors run a transaction: one activity each, and the directory of them all.
//
// The state word holds a sequence number and the status of the architecture page:
//
//   63 … 4 sequence | 3 … 0 status
//
// 60 bits of sequence last for 365 years if one descriptor begins 100 million transactions a second.
//
// begin stores sequence + 1 with `active`; the end stores the same sequence with `idle`. So the word differs between
// any two transactions of a descriptor: a thread that remembers it can tell whether *that* transaction is still
// running, can wait for it, and cannot kill its successor by mistake.
//
// Only the owner stores the state. Others read it, and ask it to die by storing its sequence in `kill_request`:
//
//   owner, at commit: state = preparing; light_fence; is kill_request mine? then abort
//   killer:           kill_request = sequence; heavy_fence; is state still active or visible? then it will die
//
// By the guarantee of base/fence.hpp one of them sees the other: a killer that finds the victim active after its
// fence knows that the victim has not passed its test. (A compare-and-swap by the killer on the state would force the
// owner to use one too, in every commit.)
//
// The owner announces the end of its transaction, and of what it held there, in the same way. `sleepers` is odd if a
// thread may sleep on it:
//
//   owner:   what is waited for, e.g. state = idle; light_fence; is `sleepers` odd? then ++sleepers, and wake all
//   sleeper: seen = sleepers |= 1; heavy_fence; is it over? else sleep while `sleepers` is `seen`
//
// One of them sees the other; and a thread about to sleep when the owner woke the others finds the count moved on.
// The count of `sleepers` wraps. A thread about to sleep overlooks a wake-up only if exactly 2^31 wake-ups, each a
// system call, come between its load and its sleep; the sleep then ends after base::nap_until's limit.
//
// Lifetime: activities are never freed, because orecs and waiters name them by number. A context that leaves gives
// its descriptor back for the next one to use.
#pragma once

#include <cstdint>

#include "memory/orec.hpp"

namespace tutti::memory {

enum class status : std::uint8_t { idle, active, visible, irrevocable, preparing, committed, aborting };

[[nodiscard]] constexpr const char* name_of(status s) noexcept {
    constexpr const char* names[] = {"idle", "active", "visible", "irrevocable", "preparing", "committed", "aborting"};
    return names[static_cast<std::size_t>(s)];
}

inline constexpr int status_bits = 4;
constexpr status status_of(word state) noexcept { return static_cast<status>(state & 0xf); }
constexpr word sequence_of(word state) noexcept { return state >> status_bits; }
constexpr word make_state(word sequence, status s) noexcept { return sequence << status_bits | static_cast<word>(s); }
/// A running transaction may hold pointers, marks and locks.
constexpr bool is_running(word state) noexcept { return status_of(state) != status::idle; }

/// What other contexts see of a descriptor, on cache lines of its own.
struct alignas(128) activity {
    activity() noexcept = default;
    activity(const activity&) = delete;
    activity& operator=(const activity&) = delete;

    detail::shared<word> state{0};
    detail::shared<word> kill_request{0};
    detail::shared<std::uint32_t> sleepers{0};
    /// The running transaction may be looking at plain memory; see core/privatization/quiescence.hpp.
    detail::shared<std::uint32_t> plain{0};
    /// How often others have asked the running transaction to show that its reads are current, and up to which of those
    /// times it has shown it; see core/privatization/quiescence.hpp. Both wrap, and are compared by their difference.
    detail::shared<std::uint32_t> asked{0};
    detail::shared<std::uint32_t> answered{0};
    /// How many waits of this context are still to tell up to which version no commit quiesces. The context counts each
    /// one before the transaction whose snapshot the wait goes by ends; see core/privatization/quiescence.hpp.
    detail::shared<std::uint32_t> settling{0};
    /// The version of the commit that is publishing or waits in quiescence, a bound below that of one that is about to,
    /// or 0; see core/privatization/quiescence.hpp. On a line of its own: readers of plain memory look at it, and only
    /// updates write it.
    alignas(128) detail::shared<word> privatizing{0};
    /// Membership of those that quiescence concerns; see core/privatization/quiescence_set.hpp. Their line changes when
    /// a member comes or goes, and not with each transaction: so a walker has the links of all members at hand, and the
    /// processor fetches what they show side by side, not each line when the one before it has come.
    alignas(128) std::uint32_t id = 0;
    detail::shared<std::uint32_t> enlisted{0};
    detail::shared<activity*> next_enlisted{nullptr};
    word swept_at = 0;  // the sequence at the latest sweep; under the lock of the set
};

inline constexpr std::uint32_t max_activities = std::uint32_t{1} << 20;

/// Enters `a` under the next free number. Throws std::length_error beyond max_activities, std::bad_alloc.
void enrol(activity& a);
/// How many numbers are in use; never shrinks.
[[nodiscard]] std::uint32_t activities() noexcept;
/// REQUIRES: id < activities() at some earlier time.
[[nodiscard]] activity& activity_of(std::uint32_t id) noexcept;

/// Where a debugger finds all activities: `chunks` points to an array of pointers to arrays of 2^chunk_bits pointers.
struct directory_view {
    const void* chunks;
    const void* count;  // 32 bits
    std::uint64_t chunk_bits;
};
extern const directory_view directory_for_debuggers;

}  // namespace tutti::memory
