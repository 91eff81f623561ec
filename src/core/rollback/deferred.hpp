// The deferred log: actions deferred to the end of the transaction. It holds handlers, participants, allocations and
// frees.
//
//   entry           at commit                                       at roll-back (of its block, newest first)
//   before_commit     runs before prepare; may access, add, throw     dropped
//   participant       votes after our prepare; told the decision      told; told already before if it was asked to vote
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
// Memory that a nested block allocated outlives the roll-back of that block: its reads stay in the logs of the parent,
// and some may be of that memory. Handlers outlive the roll-back because the data that they captured belongs to the
// user. The same holds for objects, unless they can be destroyed in the transaction that continues; see user_code.hpp.
//
// A replaced object holds no variables, so no log names it: replaced.hpp.
//
// before_commit and at_commit handlers are over when they are dropped, or have run.
//
// The roll-back of a nested block sets aside the entries that it leaves to destroy: over, discarded, doomed
// (memory/log.hpp). Only the end of the attempt goes through these entries. The commits and roll-backs of blocks around
// that block do not walk over them. So the log proper has only entries that the end of some block still has to look at.
// The end of a nested block takes time proportional to the number of entries that the block deferred, at any depth.
// Entries are destroyed in the order in which they were set aside: objects of an inner block before those of the outer
// one.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// A participant that joins for the whole attempt, whichever block it joined in, and shows the body data of its own.
/// Data that it showed to a nested block that was rolled back may have decided what the rest does, as reads of that
/// block do. It shows data in *steps*, which correspond to reads of variables: a step of a block stays when the block
/// is rolled back. The step is forgotten when the block runs again because of a conflict (a partial roll-back).
class data_participant : public participant {
public:
    /// Forgets the latest step that has not been forgotten. The on_abort handlers that were registered after that step
    /// have run.
    virtual void drop_step() noexcept = 0;
    /// Checks all shown data at the end of a checkpoint, and rolls back if some of it is not current. A conflict found
    /// here can be rolled back partially; one found at the vote cannot.
    virtual void recheck() = 0;
    /// Makes sure that the data that it has shown stays current until the attempt ends, because the block is about to
    /// become irrevocable. Returns false if the block has to run again, irrevocably from its begin. May throw, and then
    /// nothing has changed.
    [[nodiscard]] virtual bool freeze() = 0;
    /// Does at once what prepare and commit do, if the data participant can commit in one phase. Otherwise returns
    /// false, and changes nothing: the data participant is then asked to prepare. The body has touched no variable, and
    /// the log has no other entry. Must not touch the transaction.
    [[nodiscard]] virtual bool commit_one_phase() noexcept = 0;
};

/// A resource outside of memory that an attempt owns, for example a stream. It replaces two handlers, and needs no
/// memory for them: its owner keeps the object for the next time.
class owned_resource {
public:
    /// Releases the resource. The decision to commit is made, and ownership is still held. Must not touch the
    /// transaction.
    virtual void release() noexcept = 0;
    /// Undoes the block's changes to the resource, and releases it. The block that registered it is rolled back, and
    /// all later entries have been undone.
    virtual void undo(descriptor& d) noexcept = 0;
    /// Makes everything that the attempt holds back for its commit take effect now. Code without barriers may use the
    /// resource from here on, but a block may still be rolled back. REQUIRES: the attempt is irrevocable.
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

/// Releases everything that the attempt owns outside of memory, now instead of at its decision. REQUIRES: none of its
/// open blocks will be rolled back.
void release_owned_resources(descriptor& d) noexcept;
/// Calls `make_effective` of all resources that the attempt owns.
void make_resources_effective(descriptor& d) noexcept;
/// Runs the before_commit handlers, including those that they register. User code: may throw or raise.
void run_before_commit(descriptor& d);
/// Returns true if a participant has joined the attempt, even if its block has been rolled back since. If it returns
/// false, the log has no participants.
[[nodiscard]] inline bool has_participants(const descriptor& d) noexcept { return d.joined_in == d.own_sequence; }
/// Does the same for data participants.
[[nodiscard]] inline bool has_data_participants(const descriptor& d) noexcept {
    return d.joined_by_data_participants == d.own_sequence;
}
/// Returns true if the log has only one entry, of a participant, and nothing else makes the commit slow.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool has_one_participant_only(const descriptor& d) noexcept {
    return (d.slow_commit & ~slow_commit_one_phase) == slow_commit_handlers && d.deferred_log.size() == 1 &&
           d.deferred_log.aside() == 0 && votes(d.deferred_log.begin()->what);
}
/// Adds `only` to the empty log of d, and marks it as one that is asked to commit in one phase. REQUIRES: the log has
/// room for one more entry.
TUTTI_ALWAYS_INLINE void defer_to_single_voter(descriptor& d, data_participant& only) noexcept {
    d.deferred_log.push_reserved({deferred::kind::data_participant, 0, static_cast<participant*>(&only), nullptr});
    d.slow_commit = slow_commit_handlers | slow_commit_one_phase;
    d.joined_in = d.joined_by_data_participants = d.own_sequence;
}
/// Returns true if defer_to_single_voter was called for the attempt, and nothing was deferred since.
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
/// Asks the participants in order until one refuses. `asked` counts the participants that were asked.
vote ask_participants(descriptor& d, std::size_t& asked);
/// Tells the participants that the snapshot has moved. If data that one of them showed is no longer current, the
/// attempt restarts.
void notify_participants_of_snapshot(descriptor& d);
inline void follow_snapshot(descriptor& d) {
    if (has_participants(d)) [[unlikely]]
        notify_participants_of_snapshot(d);
}
/// Calls `recheck` of all data participants at the end of a checkpoint; may roll back.
void recheck_data_participants(descriptor& d);
/// Returns true if all data that data participants have shown stays current until the attempt ends.
[[nodiscard]] bool freeze_data_participants(descriptor& d);
/// Returns the index in the log at which `of` has registered its step number `step`, from 0 on. REQUIRES: that step
/// exists.
[[nodiscard]] std::size_t index_of_step(const descriptor& d, const data_participant& of, std::size_t step) noexcept;
/// Tells the participants that the body calls retry. Returns false if one of them cannot wake it. A retry that
/// continues with the next alternative asks only the participants that joined in this alternative. The retry that waits
/// asks the others.
[[nodiscard]] bool notify_participants_of_retry(descriptor& d);
void notify_participants_of_abort(descriptor& d, std::size_t asked) noexcept;
/// Runs at_commit handlers, and the participants' commits, in registration order. The decision is made.
void run_at_commit(descriptor& d) noexcept;
/// Moves frees to limbo, and keeps allocations. The commit is published. `after` is empty; it receives the entries that
/// run_after_commit handles when d is idle.
void finish_deferred(descriptor& d, memory::log<deferred>& after) noexcept;

/// Undoes all entries of the outermost block, newest first. `left` is empty; it receives the entries that are to be
/// destroyed then. REQUIRES: the block's writes are rolled back, and d is idle.
void compensate(descriptor& d, memory::log<deferred>& left, abort_cause cause) noexcept;
/// Undoes the entries that a nested block deferred since `mark`, newest first; a partial roll-back also forgets its
/// steps. Sets aside objects that are to be destroyed, the newest first. Time: O(entries that the block deferred and
/// that are not set aside). REQUIRES: the block's writes are rolled back.
void compensate_nested(descriptor& d, std::size_t mark, abort_cause cause, bool partial) noexcept;

}  // namespace tutti::core
