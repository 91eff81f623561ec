#include "core/conflict/conflict.hpp"

#include "core/conflict/conflicting_transaction.hpp"
#include "core/conflict/contention_rank.hpp"
#include "core/conflict/kill.hpp"
#include "core/ports/policy.hpp"
#include "core/rollback/signal.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/attempt.hpp"
#include "core/state/critical.hpp"
#include "core/state/sleepers.hpp"
#include "core/tokens/serial_token.hpp"
#include "core/tokens/slots.hpp"
#include "core/waiting/waiting.hpp"

namespace tutti::core {

bool spin_until_changed(const orec& r, word seen) noexcept {
    for (int turn = 0; turn < base::spin_turns; ++turn) {
        if (r.load(std::memory_order_relaxed) != seen) return true;
        base::spin_turn();
    }
    return false;
}

namespace {

/// A conflict of d with the transaction of `other` whose state was `state`.
struct conflict {
    descriptor& other;
    word state;
    abort_cause where;
    const orec* contended_orec;  // its value was `seen`; null: the conflict concerns no orec
    word seen;
    bool owns_more = false;  // d owns more than orecs
};

/// Waits for e.other's transaction. The wait ends when that transaction ends, or when the orec is released. A nested
/// block of that transaction may release the orec earlier, and the transaction may then sleep for d.
///
/// The wait also ends when d is asked to abort. Transactions that have killed each other may each wait for the victim's
/// end. Each of them has stored its request before the heavy fence that precedes its sleep, and checks for a request to
/// itself after that fence. So the last transaction to execute the fence sees that it is a victim itself. The end of
/// this transaction wakes the other ones.
void wait_for_owner(descriptor& d, const conflict& e) noexcept {
    wait_holding_locks(d, e.other, e.state, e.contended_orec, e.seen);
}

/// Returns true if d may wait, even while it holds orecs, for another transaction that can no longer be killed. No
/// cycle of waits arises, because that transaction is preparing, and waits only for preparing transactions with higher
/// numbers. (Only transactions that hold nothing wait for the irrevocable transaction.)
bool may_wait_for_end(const descriptor& d, const conflict& e) noexcept {
    const bool preparing =
        memory::status_of(d.state.load(std::memory_order_relaxed)) == status::preparing ||
        e.contended_orec == nullptr;  // a commit under one lock is no longer `preparing` when it finds a conflict
    return !preparing || d.is_irrevocable() || d.id < e.other.id || is_over(e.other, e.state);
}

/// Returns true if d may sleep in place until another transaction ends, and no cycle of sleepers can arise. A sleeper
/// has written nothing, so it owns no orec. Therefore no owner of an orec sleeps, and a reader with marks may sleep for
/// an owner. But a reader with marks may not sleep for another reader, which may be sleeping for d's mark.
bool may_sleep_in_place(const descriptor& d, abort_cause where) noexcept {
    return d.writes.empty() && !ancestor_runs(d) && (where != abort_cause::conflict_visible_read || !d.strict());
}

/// Decides the conflict. The irrevocable transaction wins. If there is none, an undo under abstract locks wins, and
/// after it a transaction that has lost too often. Of two transactions that have lost too often, the older one wins. In
/// all other cases the policy decides.
///
/// The undo must win. The other transaction may own or mark data that the undo needs, and may wait for an abstract lock
/// that is free only after the undo. If the undo waited, it would have to wait until the other transaction rolls back,
/// and would then conflict with the next transaction. The bound on restarts still holds: a transaction that is killed
/// too often becomes irrevocable, and then no undo makes it start over.
verdict preferred_verdict(descriptor& d, const conflict& e) noexcept {
    if (memory::status_of(e.state) == status::irrevocable) return verdict::wait;
    // Relaxed: an outdated value only costs a wait or a restart, because the next conflict is decided anew.
    const bool undoes = d.undoes_under_locks.load(std::memory_order_relaxed) != 0;
    if (undoes != (e.other.undoes_under_locks.load(std::memory_order_relaxed) != 0))
        return undoes ? verdict::kill_other : verdict::wait;
    const bool senior = rank_shown(d) == senior_rank;
    const bool other_senior = rank_shown(e.other) == senior_rank;
    if (senior || other_senior) {
        return senior && (!other_senior || is_older(d, e.other)) ? verdict::kill_other : verdict::wait;
    }
    // If the other transaction is suspended, the scheduler decides. d wins only if the scheduler ranks d's context
    // higher.
    if (d.hooks != nullptr && d.hooks->outranks != nullptr && e.other.suspended.load(std::memory_order_acquire) != 0) {
        return d.hooks->outranks(d, e.other) ? verdict::kill_other : verdict::wait;
    }
    return policy_of(d).conflict(d, e.other, e.where);
}

verdict allowed_verdict(descriptor& d, const conflict& e) noexcept {
    if (d.is_irrevocable()) return verdict::kill_other;
    const verdict v = preferred_verdict(d, e);
    // A snapshot reader owns nothing, and a restart would gain nothing.
    if (v == verdict::abort_self && d.reads_snapshot()) return verdict::wait;
    return v == verdict::wait && (e.owns_more || !may_sleep_in_place(d, e.where)) ? verdict::abort_self : v;
}

/// Acts on the verdict. Returns true if the other transaction was killed.
bool act_on_verdict(descriptor& d, const conflict& e) {
    if (is_ancestor(e.other, d)) {
        // The ancestor is visible only because of its deadline. Without the deadline it would have no marks, and would
        // start over when it found its reads changed. So d overrides the mark, and the ancestor starts over at its next
        // barrier.
        if (e.where == abort_cause::conflict_visible_read && e.other.run.deadline_state.made_visible) {
            note_kill(e.other, d);
            if (kill(e.other, e.state)) return true;
        }
        throw usage_error{
            "tutti: an open nested block or its undo touched what the transaction around it has written or marked; "
            "that transaction cannot continue before the block has ended"};
    }
    if (wait_limit_reached(d)) attempt_abort(d, e.where);
    switch (allowed_verdict(d, e)) {
        case verdict::kill_other:
            if (kill_before_waiting(d, e.other, e.state)) return true;
            if (!may_wait_for_end(d, e)) break;
            wait_for_owner(d, e);
            return false;
        case verdict::wait: wait_for_owner(d, e); return false;
        case verdict::abort_self: break;
    }
    attempt_wait_and_repeat(d, {&e.other, e.state, e.contended_orec, e.seen}, e.where);
}

}  // namespace

void resolve_owner_conflict(descriptor& d, const orec& r, word seen, abort_cause where) {
    if (spin_until_changed(r, seen)) return;
    attempt_abort_if_doomed(d);
    descriptor& other = descriptor::of(memory::status_record_of(memory::owner_of(seen)));
    const word state = other.state.load(std::memory_order_acquire);
    // The state belongs to the transaction that locked the orec only if the orec is still locked.
    if (r.load(std::memory_order_acquire) != seen) return;
    const conflict e{other, state, where, &r, seen};
    if (!act_on_verdict(d, e)) return;
    // The doomed owner releases the orec at its next barrier. If the owner was suspended and evicted, the orec is free
    // already.
    wait_for_owner(d, e);
}

bool resolve_reader_conflicts(descriptor& d, const orec& r, word seen, word others) {
    if (spin_until_changed(r, seen)) return false;
    attempt_abort_if_doomed(d);
    for (unsigned slot = 0; slot < slot_count; ++slot) {
        if ((others >> slot & 1) == 0) continue;
        descriptor* const other = occupant(slot);
        if (other == nullptr) return false;  // the reader has just left; before that, it removed its marks
        const word state = other->state.load(std::memory_order_acquire);
        if (r.load(std::memory_order_acquire) != seen) return false;
        if (!act_on_verdict(d, {*other, state, abort_cause::conflict_visible_read, &r, seen})) return false;
    }
    return true;
}

void resolve_conflict(descriptor& d, descriptor& other, word state, abort_cause where) {
    act_on_verdict(d, {other, state, where, nullptr, 0});
}

void resolve_conflict_outside(descriptor& d, descriptor& owner, word state, bool owns_more) {
    attempt_abort_if_doomed(d);
    const conflict e{owner, state, abort_cause::conflict_write_locked, nullptr, 0, owns_more || d.strict()};
    if (act_on_verdict(d, e)) wait_for_owner(d, e);  // the doomed owner releases the object when it notices
}

void wait_for_owner(descriptor& self, const orec& r, word seen) noexcept {
    if (spin_until_changed(r, seen)) return;
    descriptor& other = descriptor::of(memory::status_record_of(memory::owner_of(seen)));
    const word state = other.state.load(std::memory_order_acquire);
    if (r.load(std::memory_order_acquire) == seen) wait_for(self, other, state);
}

bool wait_for_owner_after_attempt(descriptor& self, const orec& r, word seen) noexcept {
    if (spin_until_changed(r, seen)) return false;
    descriptor& other = descriptor::of(memory::status_record_of(memory::owner_of(seen)));
    const word state = other.state.load(std::memory_order_acquire);
    if (r.load(std::memory_order_acquire) != seen) return false;
    if (serial_owner() == &other) return true;
    // The wait has a time limit, because the owner may begin to run alone meanwhile.
    wait_for(self, other, state, r, seen, base::now() + std::chrono::milliseconds{1});
    return false;
}

}  // namespace tutti::core
