// Steps of the embedded engine, and of the code above the interface. A test can disable a step, to prove that the test
// suite of all engines notices the missing step. In the library, `injected` is a constant.
#pragma once

#include <cstdint>

namespace tutti::cluster::backend {

enum class fault : std::uint8_t {
    none,
    // A point in the middle of a commit over several groups, at which a test kills or stops the program.
    killed_when_prepared,
    stopped_when_prepared,
    killed_when_decided,
    // Disabled steps.
    stale_read,             ///< get does not check that the held records are current
    torn_read,              ///< several records are read at several instants
    no_check,               ///< commit does not compare versions
    half_check,             ///< commit compares only the records that it also writes: write skew
    torn_write,             ///< the writes take effect one after the other
    erase_forgets,          ///< an erased record has version 0 again
    silent_feed,            ///< a feed reports nothing
    forget_commit_records,  ///< a commit of unknown outcome is run again without reading its commit record
    no_fence,               ///< the commit record of a lost commit is read, but the commit may still happen afterwards
    lease_ignored,          ///< a commit may overwrite a record that a lease protects
    commit_twice,           ///< a commit to a group whose answer is lost is sent to another member
    unprotected_reads,      ///< local reads may change while the engine commits
    cache_in_wrong_order,   ///< a cache applies commits in the wrong order
    cache_skips_commits,    ///< a cache shows its own program's commit without earlier commits of others
    cache_applies_partly,   ///< a cache reports a commit as applied before it has applied all of it
    cache_keeps_erased,     ///< a cache keeps its copy of an erased record
    cache_without_feed,     ///< a cache keeps its copies after its feed has broken
    cache_late_copy,        ///< a cache keeps a fetched record although a change has arrived meanwhile
    cache_below_watermark,  ///< a cache shows an earlier state than the process has seen
    cache_ignores_age,      ///< a cache ignores the age of its state
    decision_unrecorded,    ///< a commit over several groups leaves no record of its decision
    abort_unrecorded,       ///< a program gives up a prepared transaction without preventing its commit
    groups_one_by_one,      ///< groups are asked to prepare and to finish one after the other: slower, but correct
    read_once,              ///< a get of several groups does not check the first groups again
    // For slots that move from group to group:
    moved_unread,                 ///< a get does not check that the answering group has the slot
    moved_unchecked,              ///< a commit does not check whether the group has the slot
    moved_while_prepared,         ///< a commit over several groups does not check whether a group has the slot, so a
                                  ///< slot moves while a part is prepared
    feed_ignores_moves,           ///< a feed continues when a slot moves
    owner_switched_in_two_steps,  ///< a slot changes its group in two steps, and belongs to two groups in between
    moved_without_write_block,    ///< a slot is not write-blocked while its last records are copied
    moved_without_changes,        ///< writes to a slot during its copy are not copied
    commit_records_left,          ///< commit records are not moved
    old_copies_left,              ///< a group's earlier copies of a slot stay when the slot is copied to it again
    copies_come_late,             ///< a copy whose answer was lost may arrive after later copies
    drops_unchecked,              ///< a switch does not check whether erased records were dropped since the last copies
    import_unannounced,  ///< a slot returns to a group unannounced, so a migrator that still clears the slot there does
                         ///< not stop
};

#if defined(TUTTI_CLUSTER_FAULTS)
inline constinit fault injected_fault = fault::none;
[[nodiscard]] inline bool injected(fault f) noexcept { return injected_fault == f; }
#else
[[nodiscard]] constexpr bool injected(fault) noexcept { return false; }
#endif

}  // namespace tutti::cluster::backend
