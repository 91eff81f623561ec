// Steps of the protocol that a test can disable, to prove that the checker of histories would notice the error. In the
// library, `injected` is a constant, so the compiler removes each branch that tests it.
#pragma once

#include <cstdint>

#if defined(TUTTI_CLUSTER_FAULTS)
#include <thread>
#endif

namespace tutti::cluster {

enum class fault : std::uint8_t {
    none,
    no_snapshot_extension,           ///< a transaction reads a newer version without validating its earlier reads
    clock_by_store,                  ///< a message sets the receiver's clock, even backwards
    early_release,                   ///< locks are released with the answer to prepare
    stale_copy,                      ///< a former owner continues to answer for an object
    directory_not_updated,           ///< the former owner does not learn that the object has moved
    no_read_locks,                   ///< a commit acquires no read locks, and only compares the versions of its reads
    no_validation_at_commit,         ///< a commit does not even compare the versions of its reads
    forget_decisions,                ///< a late duplicate of a prepare acquires its locks again
    newest_for_old_time,             ///< a snapshot reader reads the current value
    read_through_locks,              ///< a snapshot reader does not wait for a commit that may precede its time
    low_watermark_by_clock,          ///< a node's low watermark ignores its running readers
    draw_version_early,              ///< a commit draws its version before it holds its locks
    watch_without_validation,        ///< a sleeping block learns of the next change, but not of the last one
    change_without_notification,     ///< an object changes, and its owner notifies no sleeping block
    overlook_stale_read,             ///< a conflict counts as one of the object being opened, whatever has changed
    last_stale_read,                 ///< a validation takes the last node's answer for the first stale read
    keep_dropped_entries,            ///< a partial roll-back keeps the entries that it should drop
    keep_overwritten_copy,           ///< a partial roll-back keeps the block's writes in the outer blocks' copies
    skip_checkpoint_validation,      ///< the end of a checkpoint validates no object
    grant_held_name,                 ///< a home grants an abstract lock that belongs to another hold
    late_claim_acquires,             ///< a late duplicate of a claim takes its names again
    late_release_frees,              ///< a late release frees locks that its sender has taken since then
    no_token,                        ///< an irrevocable block does not wait for the end of the previous one
    open_without_reserving,          ///< an irrevocable block opens objects without reserving them
    irrevocable_without_validation,  ///< a block becomes irrevocable without validating its open objects
    lock_reserved,                   ///< other transactions lock objects that an irrevocable block has reserved
    reservation_ends_with_answer,    ///< a reservation ends as soon as the irrevocable block has its answer
    write_despite_readers,           ///< an irrevocable block does not wait for commits that have read what it writes
    no_age,                          ///< messages do not carry the age of an execution
    priority_not_carried,            ///< messages do not carry the rank of an execution
    equal_precedence_unresolved,     ///< two executions of equal rank and age do not precede each other
    decided_loses_locks,             ///< a commit with granted locks loses them to a transaction that has precedence
    reservation_excludes_none,       ///< a reservation that is not irrevocable excludes no transaction
    reservation_never_ends,          ///< an execution's reservations remain after its end
    evict_locked,                    ///< a directory drops an entry that a transaction has locked
    evict_at_home,                   ///< a home drops its pointer
    evict_without_report,            ///< a former owner drops a pointer or an erased entry without telling the home
    evict_version,                   ///< a home that drops an erased entry shows the object as never written
    evict_before_readers,            ///< a home drops an erased entry without waiting for readers of older times
    evict_watched,              ///< an owner hands an erased entry to its home although a block sleeps on the object
    trust_prefetched,           ///< a prefetched value is used without a check that it is current
    rejoin_as_former,           ///< a restarted node is treated as its former process
    rejoin_before_reports,      ///< a rejoining node does not wait for the other nodes' ownership reports
    rejoin_at_old_version,      ///< a rejoining node shows missing objects with the version that they always had
    trust_former_pointers,      ///< a home sends readers of objects that ended with a node to the rejoined node
    trust_old_pointers,         ///< a rejoining node trusts that the others' latest pointer names the object's owner
    report_during_commits,      ///< a node that reports again does not wait for its commits
    accept_late_messages,       ///< a former process's messages are accepted as the new process's messages
    reuse_names,                ///< a new process reuses the former process's transaction names
    forget_former_process,      ///< locks of a former process are treated as locks of the new process
    admit_despite_references,   ///< a node is admitted while commits and holds depend on its former process
    absent_at_all_times,        ///< objects missing since a rejoin are shown as missing to readers of older times
    drop_values_for_rejoining,  ///< old values are dropped that a rejoining node's readers may ask for
    forward_to_former,          ///< readers of times before a rejoin may be forwarded back and forth forever
    pin_without_reference,      ///< a node is admitted while commits rely on copies of its former process's objects
    keep_copies_of_lost,        ///< a node continues to read copies of a lost node's objects
    free_in_doubt_locks,        ///< a lost node's write lock is freed, even if its transaction has decided
    keep_lost_readers,          ///< a lost node's read lock is never freed
    free_read_locks_early,      ///< a lost node's read lock is freed before the other participants have answered
    keep_lost_holds,            ///< a lost node's reservations and abstract locks are never freed
    show_before_decision_received,    ///< the deciding node shows its part before its sender has the decision
    hold_for_lost,                    ///< the deciding node holds its part even after its sender is lost
    doubt_without_notification,       ///< a block that sleeps on an object is not told that the object is in doubt
    lost_instead_of_uncertain,        ///< a block whose deciding node is lost is told that nothing happened
    deny_too_early,                   ///< a participant that has not prepared yet reports that it never will
    deny_forgotten,                   ///< a participant denies a transaction that it may have known and forgotten
    abort_undecided,                  ///< a participant aborts if no remaining node knows the decision
    adopt_at_own_version,             ///< a commit learnt from another participant gets a version of this node's clock
    trust_successors,                 ///< a new process is treated as the participant that had its number before
    commit_without_lost,              ///< a lost participant counts as prepared
    withdraw_alone,                   ///< a node reports that nothing has happened although all may have answered yes
    resolve_anywhere,                 ///< an operator may have any participant resolve a transaction in doubt
    resolve_after_report,             ///< a node that has reported continues to decide transactions in doubt
    ask_lost_home,                    ///< a read goes to a lost home although this node has a pointer
    transfer_lost_without_report,     ///< a node does not report an object whose transfer was lost with its owner
    local_commit_without_validation,  ///< a local commit compares no versions and ignores locks
    local_commit_ignores_locks,       ///< a local commit ignores the locks of other commits
    local_commit_in_parts,            ///< a local commit lets other threads read between two of its objects
    read_during_change,               ///< a read without a lock does not check that the object is unchanged
    show_locked,                      ///< an object locked for writing is shown to reads without a lock
    in_place_without_validation,      ///< an in-place commit does not check its reads again
    in_place_ignores_guards,          ///< an in-place commit ignores an object's guards
    in_place_without_old_value,       ///< an in-place commit keeps no old value, though a reader may ask for one
    in_place_validates_early,         ///< an in-place commit checks its reads before it has closed its writes
    keep_stale_copy,                  ///< a node continues to read a copy that it was told to drop
    keep_overtaken_copy,              ///< a node keeps a copy from an answer older than the order to drop the copy
    keep_released_copy,               ///< a node keeps a new copy by a grant that it has released
    drop_pinned_copy,                 ///< a node drops a copy that a running commit has read
    commit_without_copy_check,        ///< a commit does not check that the copies that it has read still exist
    write_despite_copies,             ///< an owner allows a write without having the copies dropped
    grant_copies_while_writer_waits,  ///< an owner grants new copies of an object while a transaction waits to write it
    drop_lost_copy_holders,           ///< a lost node stops being a copy holder before all other nodes have lost it
    keep_lost_copy_holders,           ///< a lost node remains a copy holder forever
    report_loss_before_pins_dropped,  ///< a node reports a loss while its commits have pinned copies of the lost node
    accept_late_copy_drops,           ///< a late message about an old copy makes an owner count a newer copy as dropped
    trust_outdated_entry,             ///< a holder of a shard's lock does not see the writes of in-place commits
};

#if defined(TUTTI_CLUSTER_FAULTS)
/// The disabled step. Set it only while no transaction runs.
inline constinit fault injected_fault = fault::none;
[[nodiscard]] inline bool injected(fault f) noexcept { return injected_fault == f; }
/// Yields if `f` is the disabled step. The missing step has an effect only if another thread runs at this point.
inline void yield_if_injected(fault f) noexcept {
    if (injected(f)) std::this_thread::yield();
}
#else
[[nodiscard]] constexpr bool injected(fault) noexcept { return false; }
constexpr void yield_if_injected(fault) noexcept {}
#endif

}  // namespace tutti::cluster
