// Steps of the protocol that a test may leave out, to prove that the checker of histories would notice. In the library
// `broken` is a constant, and the branch behind it is gone.
#pragma once

#include <cstdint>

#if defined(TUTTI_CLUSTER_FAULTS)
#include <thread>
#endif

namespace tutti::cluster {

enum class fault : std::uint8_t {
    none,
    no_forwarding,                 ///< a newer version is accepted without a look at what was read before
    clock_by_store,                ///< a clock is set to what a message says, also backwards
    early_release,                 ///< locks are given back with the answer to prepare
    stale_copy,                    ///< a former owner goes on answering for an object
    directory_not_updated,         ///< the former owner does not learn that the object has moved
    no_read_locks,                 ///< a commit only compares the versions of what it read
    no_validation_at_commit,       ///< it does not even do that
    forget_decisions,              ///< a late duplicate of a prepare takes its locks again
    newest_for_oldest,             ///< a snapshot reader takes what is there now
    read_through_locks,            ///< a snapshot reader does not wait for a commit that may come before its time
    promise_by_clock,              ///< what a node promises to ask for leaves its running readers out
    draw_version_early,            ///< a commit draws its version before it holds its locks
    watch_without_look,            ///< a sleeper is told of the next change, but not of the last one
    change_without_word,           ///< an object changes, and its owner tells no sleeper
    overlook_stale_read,           ///< a conflict is taken for one of what is being opened, whatever has changed
    last_stale_read,               ///< a look takes what the last node says for the first stale read
    keep_what_was_dropped,         ///< a partial roll-back leaves the entries that it drops
    keep_overwritten_copy,         ///< and what the block wrote in the copies of the blocks around it
    forget_to_look_again,          ///< the end of a checkpoint asks for no object
    grant_held_name,               ///< a home grants an abstract lock that another hold has
    late_claim_takes,              ///< a late duplicate of a claim takes its names again
    late_release_frees,            ///< a release that comes late frees what its sender has taken since
    no_token,                      ///< an irrevocable block does not wait until the last one has ended
    open_without_reserving,        ///< what it opens is only looked at
    bind_without_look,             ///< what was opened before it became irrevocable is not compared with what it is now
    lock_what_is_reserved,         ///< others lock what it has reserved
    reservation_ends_with_answer,  ///< or are let to, as soon as it has been told
    write_beside_readers,          ///< it does not wait for commits that have read what it writes
    no_age,                        ///< no message carries the age of an execution
    priority_not_carried,          ///< nor its rank
    tie_not_broken,                ///< two of one rank and age do not go before each other
    decided_gives_way,             ///< a commit that has been promised its locks loses them to one that goes first
    protect_nobody,                ///< a reservation that is not firm keeps nobody out
    protection_never_ends,         ///< what was reserved for an execution stays so when it is over
    forget_what_is_locked,         ///< a directory drops an entry that a transaction has locked
    forget_at_home,                ///< a home drops its pointer
    forget_in_silence,             ///< a former owner drops its pointer, or a trace, and does not tell the home
    forget_the_version,            ///< a home that drops a trace shows the object as never written
    forget_before_readers,         ///< it does not wait for readers of older times
    forget_who_watches,            ///< an owner gives a trace to its home though a block sleeps over it
    believe_early_answers,         ///< what was asked for ahead is taken for what is there when it is needed
    let_back_in,                   ///< a node that has ended and is started again is taken for what it was
    answer_before_surveys,         ///< a node that comes back does not wait for what others know of its objects
    return_at_old_version,         ///< what it says does not exist has the version that it has always had
    believe_former_pointers,       ///< a home sends readers of what has ended with a node to the one that came back
    believe_old_pointers,          ///< it takes the latest pointer of the others for where the object is
    survey_beside_commits,         ///< a node that is asked again does not wait for its commits
    believe_late_messages,         ///< what a former process has sent is taken for the new one's
    names_again,                   ///< the new process gives its transactions the names of the former one's
    forget_who_has_gone,           ///< what those have locked is taken for locked by the new one's
    let_in_beside_ties,            ///< it is let in while commits and holds count on the former one
    absent_at_all_times,           ///< what does not exist since its return is shown so to readers of older times
    forget_who_returns,            ///< old values go that its readers may ask for
    send_on_to_the_past,           ///< a reader of a time before the return is sent on by the new process, and back
    pin_without_tie,               ///< it is let in while commits count on copies of what the former one owned
    keep_copies_of_lost,           ///< a node goes on reading copies of what a node that is lost owned
    free_what_is_in_doubt,         ///< a write lock of a node that is gone is void, whatever that has decided
    keep_lost_readers,             ///< and a read lock is not
    free_reads_at_once,            ///< it is, before other participants have said what they know
    keep_lost_holds,               ///< nor what it had reserved, and its abstract locks
    show_before_heard,             ///< the node that decides shows its part before its sender has the decision
    hold_for_lost,                 ///< it holds it for a sender that is gone, too
    doubt_in_silence,              ///< a block that sleeps over an object is not told that it is in doubt
    uncertain_for_lost,            ///< a block that had asked it to decide is told that nothing happened
    deny_too_early,                ///< a participant that has not prepared yet says that it never will
    deny_what_is_forgotten,        ///< it says so of what it may have known
    abort_what_is_open,            ///< a participant takes for aborted what no node that is left knows the decision of
    adopt_at_own_version,          ///< what another participant knows as committed gets a version of this node's clock
    believe_successors,            ///< another process is taken for the participant that had its number before
    commit_without_lost,           ///< a participant that is lost counts as one that has prepared
    give_up_alone,                 ///< a node says that nothing has happened although all may have said yes
    settle_anywhere,               ///< an operator may have any participant settle what is in doubt
    settle_after_survey,           ///< a node that has said what it knows of objects goes on deciding what was in doubt
    ask_lost_home,                 ///< a look goes to a home that is gone, though this node has a pointer
    expect_in_silence,             ///< a node says nothing of an object that never came, since its owner is gone
    at_once_without_look,          ///< a commit at once compares no version, and heeds no lock
    at_once_beside_locks,          ///< it does not heed the locks of other commits
    at_once_in_parts,              ///< it lets others look between two of its objects
    look_through_changes,          ///< a look without a lock does not compare what it has seen
    show_what_is_locked,           ///< an object that is locked for writing is shown to such looks
    in_place_without_look,         ///< a commit in place does not look again at what it has only read
    in_place_beside_others,        ///< it heeds nothing that guards an object
    in_place_before_readers,       ///< it keeps no old value, though a reader may ask for one
    in_place_looks_early,          ///< it looks at what it has only read before it has closed what it writes
    keep_what_is_stale,            ///< a node goes on reading a copy that it has been told to drop
    keep_what_was_overtaken,       ///< it keeps a copy of what was answered before it was told to drop it
    keep_what_is_given_up,         ///< it keeps another by a grant that it has given up
    drop_what_is_pinned,           ///< it drops what a commit under way has read
    commit_past_copies,            ///< a commit does not look whether what it has read in copies is still there
    write_beside_copies,           ///< an owner has no copies dropped before it lets others write
    share_what_is_wanted,          ///< it gives out new copies of what somebody waits to write
    forget_lost_sharers,           ///< a node that is lost is no sharer from then on, whatever others have heard of it
    count_lost_sharers,            ///< it is one for ever
    believe_early_partings,        ///< a node tells of a loss while its commits have pinned copies of the lost one
    believe_late_words,            ///< it counts a copy as dropped that it has given out since
    trust_the_entry,               ///< a holder of a shard's lock does not see what commits in place have written
};

#if defined(TUTTI_CLUSTER_FAULTS)
/// Set while no transaction runs.
inline constinit fault injected_fault = fault::none;
[[nodiscard]] inline bool broken(fault f) noexcept { return injected_fault == f; }
/// Where that step is left out only another thread can notice, and now.
inline void invite_others(fault f) noexcept {
    if (broken(f)) std::this_thread::yield();
}
#else
[[nodiscard]] constexpr bool broken(fault) noexcept { return false; }
constexpr void invite_others(fault) noexcept {}
#endif

}  // namespace tutti::cluster
