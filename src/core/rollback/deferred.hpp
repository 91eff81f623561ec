// What is put off to the end of the transaction: handlers, participants, allocations and frees, in one log.
//
//   what            commit                                          roll-back (of its block, newest first)
//   before_commit   runs before prepare; may access, add, throw     dropped
//   participant     votes after our prepare; told the decision      told, also before if it was asked to vote
//   companion       as a participant                                the same; stays when a nested block is rolled back
//   shown           forgotten                                       stays as well, but in a partial roll-back: told
//   possession      given back as at_commit runs                    undone and given back
//   at_commit       runs with ownership held; must not fail         dropped
//   constructed     forgotten                                       doomed
//   exception       forgotten                                       given up at once: no code of the user's runs
//   allocated       forgotten                                       discarded
//   discarded       freed                                           freed, with the outermost block
//   doomed          destroyed                                       destroyed, with the outermost block at the latest
//   freed           goes to limbo                                   forgotten
//   replaced        as freed, or destroyed before the end           forgotten
//   on_commit       runs when everything is over; may throw         over
//   on_abort        over                                            runs; told the cause; must not fail; then over
//   over            a handler, which is deleted                     deleted, with the outermost block
//   spent           nothing                                         nothing
//
// Memory that a nested block allocated outlives its roll-back, because the reads of that block stay in the logs of its
// parent, and some of them may be of that memory. Handlers outlive it because what they captured is the user's, as
// objects do unless they can be destroyed in the transaction that goes on; see user_code.hpp.
//
// What is replaced holds no variables, so no log names it: replaced.hpp.
//
// before_commit and at_commit handlers are over when they are dropped, or have run.
//
// What the roll-back of a nested block leaves to destroy (over, discarded, doomed) is set aside (memory/log.hpp). Only
// the end of the attempt goes through what is set aside: no block around that one walks over it when it commits or is
// rolled back. So the log proper has only entries that some end of a block still has to look at, and the ends of nested
// blocks cost time in proportion to what the blocks put off, however deep they are nested. Entries are destroyed in the
// order in which they were set aside: what an inner block made goes before what it was made in.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

/// A participant that joined for the whole attempt, whichever block it joined in, and shows the body data of its own:
/// what it showed to a nested block that was rolled back may have decided what the rest does, as reads of that block
/// do. It shows them in *steps*, which are to it what reads are to variables: a step that a block has made stays when
/// the block is rolled back, but is forgotten when the block runs again because of a conflict (a partial roll-back).
class companion : public participant {
public:
    /// The latest step that is not forgotten is. The on_abort handlers that were registered after it have run.
    virtual void forget_step() noexcept = 0;
    /// A checkpoint ends: what is found now has a way back, what is found at the vote has none. Goes back if something
    /// that it showed is not current.
    virtual void look_again() = 0;
    /// The block is about to become irrevocable: what it has shown must stay current until the attempt ends. False: the
    /// block has to run again, irrevocably from its begin. May leave by an error, and then it stays as it is.
    [[nodiscard]] virtual bool hold_still() = 0;
    /// The body has touched no variable, and nothing else takes part, or is put off: does at once what prepare and
    /// commit do, if it has a shorter way. False: nothing has happened, and it is asked to prepare. Must not touch the
    /// transaction.
    [[nodiscard]] virtual bool commit_alone() noexcept = 0;
};

/// Something outside of memory that an attempt owns: a stream. It is what two handlers would be, without their memory:
/// its owner keeps it for the next time.
class possession {
public:
    /// The decision to commit is made, and ownership still held. Must not touch the transaction.
    virtual void keep() noexcept = 0;
    /// The block that it was registered in is rolled back, and what was registered after it is undone.
    virtual void undo(descriptor& d) noexcept = 0;
    /// Code without barriers may use what is owned from here on, but a block may still be rolled back. What the attempt
    /// keeps back for its commit takes effect now. REQUIRES: the attempt is irrevocable.
    virtual void settle() noexcept {}

protected:
    ~possession() = default;
};

/// REQUIRES: the log has room for one more.
inline void own(descriptor& d, possession& p) noexcept {
    d.deferred_log.push_reserved({deferred::kind::possession, 0, &p, nullptr});
    d.slow_commit |= slow_commit_possessions;
}

/// Whether the entry owns a detail::handler.
[[nodiscard]] constexpr bool is_handler(deferred::kind what) noexcept { return what <= deferred::kind::over; }
/// REQUIRES: is_handler(e.what).
[[nodiscard]] inline detail::handler* handler_of(const deferred& e) noexcept {
    return static_cast<detail::handler*>(e.object);
}
[[nodiscard]] constexpr bool is_memory(deferred::kind what) noexcept { return what >= deferred::kind::constructed; }
/// Whether it is a participant's.
[[nodiscard]] constexpr bool votes(deferred::kind what) noexcept {
    return what == deferred::kind::participant || what == deferred::kind::companion;
}
/// Throws std::bad_alloc, and then nothing has changed.
inline void put_off(descriptor& d, deferred::kind what, void* object, detail::destroyer destroy) {
    d.deferred_log.push({what, 0, object, destroy});
    if (votes(what)) d.joined_in = d.own_sequence;
    if (what == deferred::kind::companion) d.joined_by_companions = d.own_sequence;
    d.slow_commit &= ~slow_commit_alone;
    d.slow_commit |= is_memory(what) ? slow_commit_memory : slow_commit_handlers;
}

/// What the attempt owns outside of memory goes back now, instead of at its decision. REQUIRES: none of its open blocks
/// is rolled back any more.
void keep_possessions(descriptor& d) noexcept;
/// Settles what the attempt owns outside of memory.
void settle_possessions(descriptor& d) noexcept;
/// Runs the before_commit handlers, including those that they register. User code: may throw or raise.
void run_before_commit(descriptor& d);
/// Whether a participant has joined the attempt, even if its block has been rolled back since. If none has, a search of
/// the log for participants would find none.
[[nodiscard]] inline bool has_participants(const descriptor& d) noexcept { return d.joined_in == d.own_sequence; }
/// The same of companions.
[[nodiscard]] inline bool has_companions(const descriptor& d) noexcept {
    return d.joined_by_companions == d.own_sequence;
}
/// Whether nothing is put off but to one that votes, and nothing else keeps the commit from its short way.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool has_only_one_voter(const descriptor& d) noexcept {
    return (d.slow_commit & ~slow_commit_alone) == slow_commit_handlers && d.deferred_log.size() == 1 &&
           d.deferred_log.aside() == 0 && votes(d.deferred_log.begin()->what);
}
/// Has d, of which nothing is put off, put off but to that companion, which is asked to commit alone. REQUIRES: the log
/// has room for one more.
TUTTI_ALWAYS_INLINE void put_off_to_one(descriptor& d, companion& only) noexcept {
    d.deferred_log.push_reserved({deferred::kind::companion, 0, static_cast<participant*>(&only), nullptr});
    d.slow_commit = slow_commit_handlers | slow_commit_alone;
    d.joined_in = d.joined_by_companions = d.own_sequence;
}
/// Whether that has been done, and nothing since.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool is_put_off_to_one(const descriptor& d) noexcept {
    return d.slow_commit == (slow_commit_handlers | slow_commit_alone);
}
/// Whether it has committed alone. REQUIRES: is_put_off_to_one; d has touched no variable.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool the_one_commits_alone(descriptor& d) noexcept {
    return static_cast<companion*>(static_cast<participant*>(d.deferred_log.begin()->object))->commit_alone();
}
[[nodiscard]] std::size_t count_participants(const descriptor& d) noexcept;
[[nodiscard]] bool has(const descriptor& d, deferred::kind what) noexcept;
/// Asks the participants in order until one refuses. `asked` counts those that were asked.
vote ask_participants(descriptor& d, std::size_t& asked);
/// The snapshot has moved: asks the participants whether what they showed is current, and restarts where it is not.
void tell_participants_of_snapshot(descriptor& d);
inline void follow_snapshot(descriptor& d) {
    if (has_participants(d)) [[unlikely]]
        tell_participants_of_snapshot(d);
}
/// A checkpoint ends; may go back.
void have_companions_look(descriptor& d);
/// Whether what companions have shown stays as it is until the attempt ends.
[[nodiscard]] bool have_companions_hold_still(descriptor& d);
/// Where in the log `of` has registered its step number `step`, from 0 on. REQUIRES: it has.
[[nodiscard]] std::size_t place_of_step(const descriptor& d, const companion& of, std::size_t step) noexcept;
/// The body calls retry: false where one of the participants cannot wake it. A retry that leaves to the next
/// alternative asks those that the alternative has registered; the others are asked by the retry that waits.
[[nodiscard]] bool tell_participants_of_retry(descriptor& d);
void tell_participants_to_abort(descriptor& d, std::size_t asked) noexcept;
/// The decision is made: at_commit handlers and the participants' commits, in registration order.
void run_at_commit(descriptor& d) noexcept;
/// The commit is published: frees go to limbo, allocations stay. `after`, which is empty, gets what run_after_commit
/// has to do when d is idle.
void settle_committed(descriptor& d, memory::log<deferred>& after) noexcept;

/// Undoes everything of the outermost block, newest first. `left`, which is empty, gets what is to be destroyed then.
/// REQUIRES: its writes are rolled back, and d is idle.
void compensate(descriptor& d, memory::log<deferred>& left, abort_cause cause) noexcept;
/// Undoes what a nested block put off since `mark`, newest first; in a partial roll-back what it was shown is
/// forgotten. Objects that are to be destroyed are set aside, the newest first. Time: O(entries that it put off and
/// that are not set aside). REQUIRES: its writes are rolled back.
void compensate_nested(descriptor& d, std::size_t mark, abort_cause cause, bool partial) noexcept;

}  // namespace tutti::core
