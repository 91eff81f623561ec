#include "core/conflict.hpp"

#include "core/kill.hpp"
#include "core/policy.hpp"
#include "core/seats.hpp"
#include "core/signal.hpp"
#include "core/waiting.hpp"

namespace tutti::core {

bool spin_while(const record& r, word seen) noexcept {
    for (int turn = 0; turn < base::spin_turns; ++turn) {
        if (r.load(std::memory_order_relaxed) != seen) return true;
        base::spin_turn();
    }
    return false;
}

namespace {

/// True: the other is doomed, or as good as over.
bool overcome(descriptor& d, descriptor& other, word state) {
    if (kill(other, state)) {
        evict(other);
        return true;
    }
    // It is preparing: it waits for nobody, so the wait is short even while we hold records.
    wait_for(d, other, state);
    return false;
}

/// Whether d may sleep in place until another transaction ends, without a cycle of sleepers. Who sleeps has written
/// nothing, so it owns no record, and nobody sleeps for an owner who sleeps. A reader with marks may sleep for an owner
/// (who does not sleep), but not for another reader (who may be sleeping for d's mark).
bool may_wait(const descriptor& d, abort_cause where) noexcept {
    return d.writes.empty() && (where != abort_cause::conflict_visible_read || !d.strict());
}

verdict judge(descriptor& d, descriptor& other, word state, abort_cause where) noexcept {
    if (d.is_irrevocable()) return verdict::kill_other;
    const verdict v = memory::status_of(state) == status::irrevocable ? verdict::wait
                                                                      : chosen_policy().conflict(d, other, where);
    return v == verdict::wait && !may_wait(d, where) ? verdict::abort_self : v;
}

/// True if the other was killed.
bool carry_out(descriptor& d, descriptor& other, word state, abort_cause where) {
    switch (judge(d, other, state, where)) {
        case verdict::kill_other: return overcome(d, other, state);
        case verdict::wait: wait_for(d, other, state); return false;
        case verdict::abort_self: break;
    }
    d.run.in_the_way = {&other, state};
    abort_attempt(d, where);
}

}  // namespace

void meet_owner(descriptor& d, const record& r, word seen, abort_cause where) {
    if (spin_while(r, seen)) return;
    abort_if_doomed(d);
    descriptor& other = descriptor::of(memory::activity_of(memory::owner_of(seen)));
    const word state = other.state.load(std::memory_order_acquire);
    // Only if the record is still locked does the state belong to the transaction that locked it.
    if (r.load(std::memory_order_acquire) != seen) return;
    if (!carry_out(d, other, state, where)) return;
    // Doomed: it lets go at its next barrier, unless it was suspended and has been relieved of the record already.
    if (!spin_while(r, seen)) wait_for(d, other, state);
}

bool meet_readers(descriptor& d, const record& r, word seen, word others) {
    if (spin_while(r, seen)) return false;
    abort_if_doomed(d);
    for (unsigned seat = 0; seat < seat_count; ++seat) {
        if ((others >> seat & 1) == 0) continue;
        descriptor* const other = occupant(seat);
        if (other == nullptr) return false;  // just left; it took its marks away before
        const word state = other->state.load(std::memory_order_acquire);
        if (r.load(std::memory_order_acquire) != seen) return false;
        if (!carry_out(d, *other, state, abort_cause::conflict_visible_read)) return false;
    }
    return true;
}

void meet(descriptor& d, descriptor& other, word state, abort_cause where) { carry_out(d, other, state, where); }

void wait_out(descriptor& self, const record& r, word seen) noexcept {
    if (spin_while(r, seen)) return;
    descriptor& other = descriptor::of(memory::activity_of(memory::owner_of(seen)));
    const word state = other.state.load(std::memory_order_acquire);
    if (r.load(std::memory_order_acquire) == seen) wait_for(self, other, state);
}

}  // namespace tutti::core
