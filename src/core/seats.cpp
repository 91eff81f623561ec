#include "core/seats.hpp"

#include "base/futex.hpp"
#include "core/fork.hpp"
#include "core/interrupt.hpp"
#include "core/solo.hpp"
#include "core/waiting.hpp"

namespace tutti::core {
namespace {

struct alignas(128) seating {
    detail::shared<std::uint32_t> occupants[seat_count];  // descriptor number + 1, or 0
    detail::shared<std::uint32_t> departures{0};          // what those who wait for a seat sleep on
    detail::shared<std::uint32_t> waiting{0};
};

constinit seating seats;

}  // namespace

bool take_seat(descriptor& d, status mode) noexcept {
    const unsigned first = mode == status::irrevocable ? 0 : 1;
    const unsigned last = mode == status::irrevocable ? 1 : seat_count;
    for (unsigned seat = first; seat < last; ++seat) {
        std::uint32_t nobody = 0;
        // seq_cst: partner of the committers' look at the occupants in norec (see there).
        if (seats.occupants[seat].load(std::memory_order_relaxed) == 0 &&
            seats.occupants[seat].compare_exchange(nobody, d.id + 1, std::memory_order_seq_cst)) {
            d.seat = word{1} << seat;
            return true;
        }
    }
    return false;
}

bool wait_for_seat(descriptor& d, status mode, std::optional<base::deadline> until) noexcept {
    for (;;) {
        const std::uint32_t seen = seats.departures.load(std::memory_order_acquire);
        if (take_seat(d, mode)) return true;
        if ((until && base::now() >= *until) || ends_here(d)) return false;
        if (d.hooks != nullptr) {  // on a preemptable context: the occupant may be one of its own worker
            const unsigned first = mode == status::irrevocable ? 0 : 1;
            if (descriptor* const other = occupant(first)) {
                wait_for(d, *other, other->state.load(std::memory_order_acquire), until);
            }
            continue;
        }
        seats.waiting.fetch_add(1, std::memory_order_seq_cst);
        // vacate_seat counts the departure before it looks at `waiting`: it wakes us, or we see the new count.
        base::futex_wait(seats.departures.raw(), seen, base::nap_until(until));
        seats.waiting.fetch_add(~std::uint32_t{0}, std::memory_order_relaxed);
    }
}

void vacate_seat(descriptor& d) noexcept {
    if (d.alone) end_solo(d);
    const auto seat = static_cast<unsigned>(std::countr_zero(d.seat));
    d.seat = 0;
    seats.occupants[seat].store(0, std::memory_order_release);
    seats.departures.fetch_add(1, std::memory_order_seq_cst);
    if (seats.waiting.load(std::memory_order_seq_cst) != 0) base::futex_wake_all(seats.departures.raw());
}

void forget_other_occupants(const descriptor* self) noexcept {
    for (unsigned seat = 0; seat < seat_count; ++seat) {
        const descriptor* const d = occupant(seat);
        if (d != nullptr && !is_of(*d, self)) seats.occupants[seat].store(0, std::memory_order_relaxed);
    }
    // Also if the caller sits where they wanted to.
    seats.waiting.store(0, std::memory_order_relaxed);
}

descriptor* occupant(unsigned seat) noexcept {
    const std::uint32_t id = seats.occupants[seat].load(std::memory_order_seq_cst);
    return id == 0 ? nullptr : &descriptor::of(memory::activity_of(id - 1));
}

unsigned visible_readers() noexcept {
    unsigned count = 0;
    for (unsigned seat = 1; seat < seat_count; ++seat) {
        if (seats.occupants[seat].load(std::memory_order_seq_cst) != 0) ++count;
    }
    return count;
}

}  // namespace tutti::core
