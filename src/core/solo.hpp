// Running alone: what an irrevocable transaction needs whose code is not instrumented, so that neither marks nor locks
// can show what it touches.
//
//   soloist:   its number goes up; heavy fence; kills every other running transaction and waits until it is over
//   any other: state = running; light fence; is a number up? then idle again, and wait for the soloist's end
//
// By base/fence.hpp one of them sees the other, so nobody else is running when go_alone returns, and whoever begins later
// waits until the soloist's transaction is over. It can wait for everybody because it is irrevocable: who waits for it
// in turn is asked to die and then waits no longer, or is preparing and waits for nobody. Only an open nested
// transaction that stands aside is no transaction any more that could be asked: it ends the one around it instead.
//
// What it writes moves no record, so at its end everybody is woken who waits in retry.
//
// Under an algorithm that runs one transaction at a time there is nothing to do. The number comes down with the seat of
// the irrevocable transaction, of which there is one: so there is one soloist.
#pragma once

#include "core/descriptor.hpp"

namespace tutti::core {

// Descriptor number + 1, or 0. The second is of who runs alone because nobody else is there (below): a word of its own,
// for it is stored without knowing whether somebody else has come and gone alone meanwhile.
inline constinit detail::shared<std::uint32_t> soloist{0}, only_one{0};

[[nodiscard]] TUTTI_ALWAYS_INLINE bool somebody_is_alone() noexcept {
    return (soloist.load(std::memory_order_relaxed) | only_one.load(std::memory_order_relaxed)) != 0;
}

/// From here to the end of its transaction no other runs, and d.alone holds. Idempotent.
/// REQUIRES: d is irrevocable and runs.
void go_alone(descriptor& d) noexcept;

/// d has just begun and touched nothing: waits until nobody else is alone. Its snapshot has to be taken afterwards.
/// In an open nested block: may close it, and restarts the transaction around it.
void stand_aside(descriptor& d);

/// REQUIRES: d.alone.
void end_solo(descriptor& d) noexcept;

// Running alone because nobody else is there: while one context only has a descriptor, its blocks need no fence to know
// that nobody runs beside them.
//
//   the only one:      its number goes up; light fence; is it still the only one? then it runs alone
//   another's attach:  the count goes up; heavy fence; later its begin looks for the number, as above

/// How many descriptors are in use.
inline constinit detail::shared<std::uint32_t> contexts{0};

/// Tries to begin an attempt of d that runs alone because no other context is there. It is optimistic in name and meets
/// nobody. REQUIRES: as for the begin of a first attempt that nothing special is asked of.
[[nodiscard]] bool begin_as_only_one(descriptor& d);

}  // namespace tutti::core
