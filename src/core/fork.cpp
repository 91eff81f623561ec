#include "core/fork.hpp"

#include "core/apart.hpp"
#include "core/seats.hpp"
#include "core/solo.hpp"

namespace tutti::core {
namespace {

/// Whether `d` is of the context that `self` is of.
bool is_of(const descriptor& d, const descriptor* self) noexcept {
    return self != nullptr && (&d == self || encloses(d, *self) || encloses(*self, d));
}

void forget(descriptor& gone) noexcept {
    const word state = gone.state.load(std::memory_order_relaxed);
    gone.state.store(memory::make_state(memory::sequence_of(state), status::idle), std::memory_order_relaxed);
    gone.plain.store(0, std::memory_order_relaxed);
    gone.privatizing.store(0, std::memory_order_relaxed);
    gone.sleepers.store(0, std::memory_order_relaxed);
    gone.waits_for.store(nullptr, std::memory_order_relaxed);
    gone.last_defeat.store(0, std::memory_order_relaxed);  // its execution does not go on
}

}  // namespace

void forget_others(const descriptor* self) noexcept {
    const std::uint32_t count = memory::activities();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& d = descriptor::of(memory::activity_of(id));
        if (!is_of(d, self)) forget(d);
    }
    const std::uint32_t who = soloist.load(std::memory_order_relaxed);
    if (who != 0 && !is_of(descriptor::of(memory::activity_of(who - 1)), self)) {
        soloist.store(0, std::memory_order_relaxed);
    }
    forget_other_favourites(self);
    for (unsigned seat = 0; seat < seat_count; ++seat) {
        const descriptor* const d = occupant(seat);
        if (d != nullptr && !is_of(*d, self)) take_back_seat(seat);
    }
}

}  // namespace tutti::core
