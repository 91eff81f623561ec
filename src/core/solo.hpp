// Running alone: what an irrevocable transaction needs whose code is not instrumented, so that neither marks nor locks
// can show what it touches.
//
//   soloist:   its number goes up; heavy fence; kills every other running transaction and waits until it is over
//   any other: state = running; light fence; is a number up? then idle again, and wait for the soloist's end
//
// By base/fence.hpp one of them sees the other, so nobody else is running when go_alone returns, and whoever begins
// later waits until the soloist's transaction is over. It can wait for everybody because it is irrevocable: who waits
// for it in turn is asked to die and then waits no longer, or is preparing and waits for nobody. Who begins inside
// another's body does not stand aside: the soloist waits for the one around it, which cannot end before.
//
// What it writes moves no record, so at its end everybody is woken who waits in retry.
//
// Under an algorithm that runs one transaction at a time there is nothing to do. The number comes down with the seat of
// the irrevocable transaction, of which there is one: so there is one soloist.
#pragma once

#include "core/favourite.hpp"

namespace tutti::core {

inline constinit detail::shared<std::uint32_t> soloist{0};  // descriptor number + 1, or 0

/// For a context that has just begun. Acquire: who finds nobody sees what the last one did alone.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool somebody_may_be_alone(const descriptor& d) noexcept {
    const word f = favourite.load(std::memory_order_acquire);
    return soloist.load(std::memory_order_acquire) != 0 || (f != 0 && f != d.favour);
}

/// From here to the end of its transaction no other runs, and d.alone holds. Idempotent.
/// REQUIRES: d is irrevocable and runs.
void go_alone(descriptor& d) noexcept;

/// d has just begun and touched nothing: waits until nobody else is alone. Its snapshot has to be taken afterwards.
/// Throws where its execution ends here, and then the block is closed.
void stand_aside(descriptor& d);

/// REQUIRES: d.alone.
void end_solo(descriptor& d) noexcept;

}  // namespace tutti::core
