// The deferred log: actions deferred to the end of the transaction. It holds handlers, participants, allocations and
// frees.
//
//   entry           at commit                                       at roll-back (of its block, newest first)
//   before_commit     runs before prepare; may access, add, throw     dropped
//   participant       votes after our prepare; told the decision      told; first told to abort if it was asked to vote
//   data_participant  as a participant                                the same; stays at nested roll-backs
//   shown             dropped                                         stays; in a partial roll-back: told, and dropped
//   owned_resource    released as at_commit runs                      undone and released
//   at_commit         runs with ownership held; must not fail         dropped
//   constructed       dropped                                         becomes doomed
//   exception         dropped                                         released at once, without user code
//   allocated         dropped                                         becomes discarded
//   discarded         freed                                           freed, with the outermost block
//   doomed            destroyed                                       destroyed, with the outermost block at the latest
//   freed             goes to limbo                                   dropped
//   replaced          as freed, or destroyed before the end           dropped
//   on_commit         runs when everything is over; may throw         becomes over
//   on_abort          becomes over                                    runs; told the cause; must not fail; becomes over
//   over              a handler, which is deleted                     deleted, with the outermost block
//   spent             nothing                                         nothing
//
// Memory that a nested block allocated outlives the roll-back of that block. The parent's logs keep the block's reads,
// and these may include reads of that memory. Handlers outlive the roll-back, because the data that they captured
// belongs to the user. So do objects, unless they can be destroyed in the transaction that continues; see
// user_code.hpp.
//
// A replaced object contains no variables, so no log refers to it; see replaced.hpp.
//
// before_commit and at_commit handlers become `over` when they have run, or are dropped.
//
// The roll-back of a nested block sets aside the entries that must be destroyed later: over, discarded, doomed
// (memory/log.hpp). Only the end of the attempt visits these entries; the commits and roll-backs of blocks around that
// block do not. So the log proper contains only entries that the end of some block still has to visit. At any depth,
// the end of a nested block takes time proportional to the number of entries that the block deferred. Entries are
// destroyed in the order in which they were set aside: objects of an inner block before those of the outer one.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// A participant that shows data of its own to the body. A data participant joins for the whole attempt, no matter in
/// which block it joins. Data that was shown to a nested block is like the block's reads: it may influence the rest of
/// the attempt even if the block is rolled back. The participant shows data in *steps*, which correspond to reads of
/// variables. A step of a block stays when the block is rolled back, but is forgotten when the block runs again because
/// of a conflict (a partial roll-back).
class data_participant : public participant {
public:
    /// Forgets the latest step that has not been forgotten. Called when the on_abort handlers that were registered
    /// after that step have run.
    virtual void drop_step() noexcept = 0;
    /// Checks all shown data at the end of a checkpoint, and rolls back if some of it is not current. A conflict that
    /// is found here can be resolved by a partial roll-back, in contrast to a conflict that is found at the vote.
    virtual void recheck() = 0;
    /// Called when the block is about to become irrevocable. Makes sure that the shown data stays current until the
    /// attempt ends. Returns false if the block has to run again, irrevocably from its begin. If `freeze` throws,
    /// nothing has changed.
    [[nodiscard]] virtual bool freeze() = 0;
    /// Does at once what prepare and commit do, if the data participant can commit in one phase. Otherwise changes
    /// nothing and returns false, and the engine then asks the data participant to prepare. Called if the body has
    /// touched no variable, and the log has no other entry. Must not access the transaction.
    [[nodiscard]] virtual bool commit_one_phase() noexcept = 0;
};

/// A resource outside of memory that an attempt owns, for example a stream. The object replaces two handlers, and saves
/// their allocation, because the resource's owner keeps the object for the next attempt.
class owned_resource {
public:
    /// Releases the resource. Called after the decision to commit, while the attempt still owns everything. Must not
    /// access the transaction.
    virtual void release() noexcept = 0;
    /// Undoes the block's changes to the resource, and releases the resource. Called in the roll-back of the block that
    /// registered the resource, when all later entries have been undone.
    virtual void undo(descriptor& d) noexcept = 0;
    /// Makes all effects that the attempt has deferred until its commit happen now. From now on, code without barriers
    /// may use the resource, but a block may still be rolled back. REQUIRES: the attempt is irrevocable.
    virtual void make_effective() noexcept {}

protected:
    ~owned_resource() = default;
};

/// Registers p as a resource that d's attempt owns. REQUIRES: the log has room for one more entry.
inline void add_owned_resource(descriptor& d, owned_resource& p) noexcept {
    d.deferred_log.push_reserved({deferred::kind::owned_resource, 0, &p, nullptr});
    d.slow_commit |= slow_commit_resources;
}

/// Returns true if the entry owns a detail::handler.
[[nodiscard]] constexpr bool is_handler(deferred::kind what) noexcept { return what <= deferred::kind::over; }
/// Returns the handler of the entry. REQUIRES: is_handler(e.what).
[[nodiscard]] inline detail::handler* handler_of(const deferred& e) noexcept {
    return static_cast<detail::handler*>(e.object);
}
[[nodiscard]] constexpr bool is_memory(deferred::kind what) noexcept { return what >= deferred::kind::constructed; }
/// Returns true if the entry belongs to a participant.
[[nodiscard]] constexpr bool votes(deferred::kind what) noexcept {
    return what == deferred::kind::participant || what == deferred::kind::data_participant;
}
/// Adds an entry. Throws std::bad_alloc, and then nothing has changed.
inline void defer(descriptor& d, deferred::kind what, void* object, detail::destroyer destroy) {
    d.deferred_log.push({what, 0, object, destroy});
    if (votes(what)) d.joined_in = d.own_sequence;
    if (what == deferred::kind::data_participant) d.joined_by_data_participants = d.own_sequence;
    d.slow_commit &= ~slow_commit_one_phase;
    d.slow_commit |= is_memory(what) ? slow_commit_memory : slow_commit_handlers;
}

/// Releases everything that the attempt owns outside of memory, without waiting for the decision. REQUIRES: none of its
/// open blocks will be rolled back.
void release_owned_resources(descriptor& d) noexcept;
/// Calls `make_effective` of all resources that the attempt owns.
void make_resources_effective(descriptor& d) noexcept;
/// Runs the before_commit handlers, including handlers that they register. The handlers are user code, so this function
/// may throw or raise a signal.
void run_before_commit(descriptor& d);
/// Returns true if a participant has joined the attempt, even if the participant's block was rolled back later. If the
/// result is false, the log has no participants.
[[nodiscard]] inline bool has_participants(const descriptor& d) noexcept { return d.joined_in == d.own_sequence; }
/// Does the same for data participants.
[[nodiscard]] inline bool has_data_participants(const descriptor& d) noexcept {
    return d.joined_by_data_participants == d.own_sequence;
}
/// Returns true if the log has only one entry, which belongs to a participant, and nothing else makes the commit slow.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool has_one_participant_only(const descriptor& d) noexcept {
    return (d.slow_commit & ~slow_commit_one_phase) == slow_commit_handlers && d.deferred_log.size() == 1 &&
           d.deferred_log.aside() == 0 && votes(d.deferred_log.begin()->what);
}
/// Adds `only` to the empty log of d, and marks the transaction, so that `only` is asked to commit in one phase.
/// REQUIRES: the log has room for one more entry.
TUTTI_ALWAYS_INLINE void defer_to_single_voter(descriptor& d, data_participant& only) noexcept {
    d.deferred_log.push_reserved({deferred::kind::data_participant, 0, static_cast<participant*>(&only), nullptr});
    d.slow_commit = slow_commit_handlers | slow_commit_one_phase;
    d.joined_in = d.joined_by_data_participants = d.own_sequence;
}
/// Returns true if defer_to_single_voter was called for the attempt, and nothing was deferred after the call.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool has_single_voter(const descriptor& d) noexcept {
    return d.slow_commit == (slow_commit_handlers | slow_commit_one_phase);
}
/// Returns true if the only participant has committed in one phase. REQUIRES: has_single_voter; d has touched no
/// variable.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool commit_single_voter(descriptor& d) noexcept {
    return static_cast<data_participant*>(static_cast<participant*>(d.deferred_log.begin()->object))
        ->commit_one_phase();
}
[[nodiscard]] std::size_t count_participants(const descriptor& d) noexcept;
[[nodiscard]] bool has(const descriptor& d, deferred::kind what) noexcept;
/// Asks the participants in order until one votes against the commit. `asked` counts the participants that were asked.
vote ask_participants(descriptor& d, std::size_t& asked);
/// Notifies the participants that the snapshot has moved. If a participant has shown data that is no longer current,
/// the attempt restarts.
void notify_participants_of_snapshot(descriptor& d);
inline void follow_snapshot(descriptor& d) {
    if (has_participants(d)) [[unlikely]]
        notify_participants_of_snapshot(d);
}
/// Calls `recheck` of all data participants at the end of a checkpoint; may roll back.
void recheck_data_participants(descriptor& d);
/// Returns true if all data that data participants have shown stays current until the attempt ends.
[[nodiscard]] bool freeze_data_participants(descriptor& d);
/// Returns the index in the log at which the participant `of` has registered its step number `step`. Steps are numbered
/// from 0. REQUIRES: that step exists.
[[nodiscard]] std::size_t index_of_step(const descriptor& d, const data_participant& of, std::size_t step) noexcept;
/// Notifies the participants that the body calls retry. Returns false if a participant cannot wake the transaction. A
/// retry that continues with the next alternative notifies only the participants that joined in this alternative. The
/// retry that waits notifies the other participants.
[[nodiscard]] bool notify_participants_of_retry(descriptor& d);
void notify_participants_of_abort(descriptor& d, std::size_t asked) noexcept;
/// Runs at_commit handlers, and the participants' commits, in registration order. Called after the decision.
void run_at_commit(descriptor& d) noexcept;
/// Called when the commit is published. Moves freed memory to limbo, and keeps allocations. `after` is empty, and
/// receives the entries that run_after_commit handles when d is idle.
void finish_deferred(descriptor& d, memory::log<deferred>& after) noexcept;

/// Undoes all entries of the outermost block, newest first. `left` is empty, and receives the entries that are to be
/// destroyed later. REQUIRES: the block's writes are rolled back, and d is idle.
void compensate(descriptor& d, memory::log<deferred>& left, abort_cause cause) noexcept;
/// Undoes the entries that a nested block deferred since `mark`, newest first. A partial roll-back also forgets the
/// block's steps. Sets aside objects that are to be destroyed, the newest first. Time: O(entries that the block
/// deferred and that are not set aside). REQUIRES: the block's writes are rolled back.
void compensate_nested(descriptor& d, std::size_t mark, abort_cause cause, bool partial) noexcept;

}  // namespace tutti::core
