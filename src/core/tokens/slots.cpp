#include "core/tokens/slots.hpp"

#include "base/lock.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/attempt.hpp"
#include "core/state/critical.hpp"
#include "core/state/fault_injection.hpp"
#include "core/waiting/waiting.hpp"

namespace tutti::core {
namespace {

/// A waiter that has found no free slot this many times is handed the next one.
constexpr unsigned tries_before_hand_over = 4;

/// A waiter for a slot, on the waiter's own stack.
struct slot_waiter {
    descriptor& context;
    slot_waiter* next = nullptr;
    unsigned tries = 0;
    unsigned slot = slot_count;               // the slot that the waiter was handed; written under the lock
    detail::shared<std::uint32_t> called{0};  // the word on which it sleeps
};

/// The waiting list for slots of one kind. `lock` guards all members except `wanted`.
struct alignas(128) waiting_list {
    const unsigned begin, end;
    detail::shared<std::uint32_t> wanted{0};  // SLT1
    base::lock lock{};
    slot_waiter* first = nullptr;
    slot_waiter* last = nullptr;
    slot_waiter* looking = nullptr;  // the waiter that was woken and has not tried to take a slot yet
};

struct alignas(128) slot_table {
    detail::shared<std::uint32_t> occupants[slot_count];  // descriptor number + 1, or 0
};

constinit slot_table slots;
constinit waiting_list for_irrevocable{0, 1};
constinit waiting_list for_visible{1, slot_count};

waiting_list& list_for_mode(status mode) noexcept {
    return mode == status::irrevocable ? for_irrevocable : for_visible;
}
waiting_list& list_of_slot(unsigned slot) noexcept {
    return slot < for_irrevocable.end ? for_irrevocable : for_visible;
}

/// Returns true if the next released slot must be handed to c, which is the first of the list.
bool is_due(const slot_waiter& c) noexcept { return c.tries >= tries_before_hand_over; }

/// Stores whether the list wants a released slot (SLT1). seq_cst: partner of the load of `wanted` in release_slot.
void update_wanted(waiting_list& r) noexcept {
    const bool wanted = r.first != nullptr && (r.looking == nullptr || is_due(*r.first));
    r.wanted.store(wanted ? 1 : 0, std::memory_order_seq_cst);
}

/// Returns the number of d's slot. REQUIRES: d has a slot.
unsigned slot_number(const descriptor& d) noexcept { return static_cast<unsigned>(std::countr_zero(d.slot)); }

void join(waiting_list& r, slot_waiter& c) noexcept {
    (r.first == nullptr ? r.first : r.last->next) = &c;
    r.last = &c;
}

void unlink(waiting_list& r, slot_waiter& c) noexcept {
    slot_waiter* before = nullptr;
    for (slot_waiter* each = r.first; each != &c; each = each->next) before = each;
    (before == nullptr ? r.first : before->next) = c.next;
    if (r.last == &c) r.last = before;
}

void leave(waiting_list& r, slot_waiter& c) noexcept {
    unlink(r, c);
    if (r.looking == &c) r.looking = nullptr;
}

void move_to_front(waiting_list& r, slot_waiter& c) noexcept {
    unlink(r, c);
    c.next = r.first;
    r.first = &c;
    if (r.last == nullptr) r.last = &c;
}

void call(slot_waiter& c) noexcept {
    c.called.store(1, std::memory_order_release);
    base::futex_wake_all(c.called.raw());
}

/// Wakes the first waiter, so that it tries to take a slot. Does nothing if a woken waiter has not tried yet. REQUIRES:
/// the caller holds the lock.
void call_next_waiter(waiting_list& r) noexcept {
    if (r.first != nullptr && r.looking == nullptr && !injected(fault::release_slot_without_wake_up)) {
        r.looking = r.first;
        call(*r.first);
    }
    update_wanted(r);
}

bool is_any_free(const waiting_list& r) noexcept {
    for (unsigned slot = r.begin; slot < r.end; ++slot) {
        if (slots.occupants[slot].load(std::memory_order_seq_cst) == 0) return true;
    }
    return false;
}

/// Tries to give c a slot. Returns true if c has a slot now, and has left the list. REQUIRES: the caller holds the
/// lock.
bool find(waiting_list& r, slot_waiter& c, status mode) noexcept {
    c.called.store(0, std::memory_order_relaxed);
    if (c.slot != slot_count) {
        c.context.slot = word{1} << c.slot;
        return true;
    }
    if (r.looking == &c) r.looking = nullptr;
    update_wanted(r);  // SLT2
    if (!take_slot(c.context, mode)) return false;
    leave(r, c);
    if (is_any_free(r)) call_next_waiter(r);  // SLT3
    else update_wanted(r);
    return true;
}

/// Runs f under the list's lock, in a critical region, so that no context is switched away while it holds that lock.
template <class F>
auto with_list_locked(descriptor& d, waiting_list& r, F&& f) {
    return in_critical_region(d, [&] {
        const base::lock_guard guard{r.lock};
        return f();
    });
}

bool must_stop_waiting(const descriptor& d, std::optional<base::deadline> until) noexcept {
    return (until && base::now() >= *until) || is_interrupted_before_attempt(d);
}

/// Spins for about as long as a sleep takes, because most slots are released sooner.
bool spin_for_slot(descriptor& d, status mode) noexcept {
    const waiting_list& r = list_for_mode(mode);
    for (const std::uint64_t start = base::ticks(); base::ticks() - start < base::spin_ticks;) {
        if (is_any_free(r) && take_slot(d, mode)) return true;
        base::spin_turn();
    }
    return false;
}

bool wait_in_list(descriptor& d, status mode, std::optional<base::deadline> until) noexcept {
    waiting_list& r = list_for_mode(mode);
    slot_waiter me{d};
    with_list_locked(d, r, [&] { join(r, me); });
    for (;;) {
        const bool late = must_stop_waiting(d, until);
        const bool found = with_list_locked(d, r, [&] {
            if (r.looking == &me) ++me.tries;
            if (find(r, me, mode)) return true;
            if (late) {  // SLT4
                leave(r, me);
                update_wanted(r);
            }
            return false;
        });
        if (found || late) return found;
        base::futex_wait(me.called.raw(), 0, base::recheck_deadline(until));
    }
}

}  // namespace

bool take_slot(descriptor& d, status mode) noexcept {
    const waiting_list& r = list_for_mode(mode);
    for (unsigned slot = r.begin; slot < r.end; ++slot) {
        std::uint32_t nobody = 0;
        // seq_cst: partners are release_slot (SLT2), and a commit that reads the occupants instead of the marks.
        if (slots.occupants[slot].load(std::memory_order_seq_cst) == 0 &&
            slots.occupants[slot].compare_exchange(nobody, d.id + 1, std::memory_order_seq_cst)) {
            d.slot = word{1} << slot;
            return true;
        }
    }
    return false;
}

bool wait_for_slot(descriptor& d, status mode, std::optional<base::deadline> until) noexcept {
    if (d.hooks == nullptr) return take_slot(d, mode) || spin_for_slot(d, mode) || wait_in_list(d, mode, until);
    // A preemptable context does not use the list, because the occupant may be a context of the same worker.
    while (!take_slot(d, mode)) {
        if (must_stop_waiting(d, until)) return false;
        if (descriptor* const other = occupant(list_for_mode(mode).begin)) {
            const word state = other->state.load(std::memory_order_acquire);
            if (!memory::is_running(state)) base::spin_turn();  // the occupant was handed the slot, and is about to run
            else wait_for(d, *other, state, until);
        }
    }
    return true;
}

void release_slot(descriptor& d) noexcept {
    const unsigned slot = slot_number(d);
    d.slot = 0;
    waiting_list& r = list_of_slot(slot);
    if (r.wanted.load(std::memory_order_relaxed) == 0) {
        slots.occupants[slot].store(0, std::memory_order_seq_cst);  // SLT2
        if (r.wanted.load(std::memory_order_seq_cst) == 0) return;
        return with_list_locked(d, r, [&] { call_next_waiter(r); });
    }
    with_list_locked(d, r, [&] {
        slot_waiter* const c = r.first;
        if (c == nullptr || !is_due(*c)) {
            slots.occupants[slot].store(0, std::memory_order_seq_cst);
            return call_next_waiter(r);
        }
        slots.occupants[slot].store(c->context.id + 1, std::memory_order_seq_cst);  // SLT5
        leave(r, *c);
        c->slot = slot;
        call(*c);
        update_wanted(r);
    });
}

bool move_waiter_forward(descriptor& d, const descriptor& other) noexcept {
    waiting_list& r = list_of_slot(slot_number(d));
    return with_list_locked(d, r, [&] {
        slot_waiter* c = r.first;
        while (c != nullptr && &c->context != &other && !is_ancestor(other, c->context)) c = c->next;
        if (c == nullptr) return false;
        c->tries = tries_before_hand_over;
        move_to_front(r, *c);
        update_wanted(r);
        return true;
    });
}

void forget_other_occupants(const descriptor* self) noexcept {
    for (unsigned slot = 0; slot < slot_count; ++slot) {
        const descriptor* const d = occupant(slot);
        if (d != nullptr && !shares_context(*d, self)) slots.occupants[slot].store(0, std::memory_order_relaxed);
    }
    // The lists are emptied even if the caller has a slot that these waiters wanted.
    for (waiting_list* r : {&for_irrevocable, &for_visible}) {
        r->lock.reset_in_fork_child();
        r->first = r->last = r->looking = nullptr;
        r->wanted.store(0, std::memory_order_relaxed);
    }
}

descriptor* occupant(unsigned slot) noexcept {
    const std::uint32_t id = slots.occupants[slot].load(std::memory_order_seq_cst);
    return id == 0 ? nullptr : &descriptor::of(memory::status_record_of(id - 1));
}

bool any_occupant() noexcept { return occupant(0) != nullptr || visible_readers() != 0; }

unsigned visible_readers() noexcept {
    unsigned count = 0;
    for (unsigned slot = 1; slot < slot_count; ++slot) {
        if (slots.occupants[slot].load(std::memory_order_seq_cst) != 0) ++count;
    }
    return count;
}

}  // namespace tutti::core
