// Steps of the embedded engine, and of what is built on the interface, that a test may leave out, to prove that the
// suite of every engine would notice. In the library `broken` is a constant.
#pragma once

#include <cstdint>

namespace tutti::cluster::backend {

enum class fault : std::uint8_t {
    none,
    // Where a program is killed or stopped, in the middle of a commit over several groups.
    killed_when_prepared,
    stopped_when_prepared,
    killed_when_decided,
    // Steps left out.
    stale_read,           ///< get does not look whether what is held is current
    torn_read,            ///< several records are read at several instants
    no_check,             ///< commit does not compare versions
    half_check,           ///< commit compares only what it also writes: write skew
    torn_write,           ///< the writes take effect one after the other
    erase_forgets,        ///< an erased record has version 0 again
    silent_feed,          ///< a feed tells nothing
    forget_marks,         ///< whether a commit of unknown outcome has happened is not looked up: it is run again
    no_fence,             ///< it is looked up, but may still happen afterwards
    lease_ignored,        ///< what somebody holds under a lease is overwritten
    commit_twice,         ///< a commit to a group whose answer is lost is sent to another member
    unprotected_reads,    ///< local reads may change while the engine commits
    cache_backwards,      ///< a cache applies what it is told in the wrong order
    cache_leaps,          ///< a cache shows its own program's commit without what others have committed before it
    cache_in_parts,       ///< a cache says that it has got to a commit before it has applied all of it
    cache_keeps_erased,   ///< a cache goes on showing what was erased
    cache_outlives,       ///< a cache keeps its copies when it is told no more
    cache_late_copy,      ///< a cache keeps what it has fetched, although it was told meanwhile that it has changed
    cache_below_tide,     ///< a cache shows a state before one that the process has been shown
    cache_ageless,        ///< a cache does not ask how old its state may be
    decision_unrecorded,  ///< a commit over several groups leaves no record of its decision
    void_unrecorded,  ///< a program that gives up waiting for a prepared transaction does not keep it from committing
    in_turn,          ///< groups are asked to prepare and to finish one after the other: slower, and not wrong
    one_look,         ///< a get of several groups does not look again whether the first ones have stayed the same
    // Of slots that move from group to group.
    moved_unread,           ///< a get does not look whether the group that answers has the slot
    moved_unchecked,        ///< a commit does not check it
    moved_while_prepared,   ///< a commit over several groups does not, so a slot moves while a part of it is prepared
    moved_unheard,          ///< a feed goes on as it is when a slot moves
    moved_in_two,           ///< a slot changes hands in two steps, so that two groups have it in between
    moved_open,             ///< a slot is not closed while the last of it is copied
    moved_without_changes,  ///< what was written while a slot was copied is not copied
    marks_left,             ///< marks stay where they are
    arrives_unsaid,         ///< a slot comes back unsaid, and a mover that still clears it there does not stop
};

#if defined(TUTTI_CLUSTER_FAULTS)
inline constinit fault injected_fault = fault::none;
[[nodiscard]] inline bool broken(fault f) noexcept { return injected_fault == f; }
#else
[[nodiscard]] constexpr bool broken(fault) noexcept { return false; }
#endif

}  // namespace tutti::cluster::backend
