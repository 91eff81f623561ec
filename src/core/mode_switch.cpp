#include "core/mode_switch.hpp"

#include "core/algorithm.hpp"
#include "core/seats.hpp"
#include "core/signal.hpp"

namespace tutti::core {
namespace {

/// REQUIRES: the seat is taken.
void switch_over(descriptor& d, status wanted, abort_cause cause) {
    d.run.next_mode = wanted;
    d.extras |= extra_strict;
    d.mode = wanted;
    d.close_bounds();
    // seq_cst: partner of kill(). Either it sees the new status and is refused, or we see its request.
    d.state.exchange(memory::make_state(d.own_sequence, wanted), std::memory_order_seq_cst);
    if (d.kill_request.load(std::memory_order_seq_cst) == d.own_sequence) abort_attempt(d, abort_cause::killed);
    if (!d.algorithm->become(d, wanted)) abort_attempt(d, cause);
}

}  // namespace

void become_strict(descriptor& d, status wanted, abort_cause cause) {
    d.run.next_mode = wanted;
    const bool already_seated = d.seat == irrevocable_seat;  // under `serial`
    if (d.strict() && !already_seated) abort_attempt(d, cause);
    if (!already_seated && !take_seat(d, wanted)) abort_attempt(d, cause);
    switch_over(d, wanted, cause);
}

bool become_strict_if_seated(descriptor& d, status wanted, abort_cause cause) {
    TUTTI_ASSERT(!d.strict(), "a strict attempt has a seat already");
    if (!take_seat(d, wanted)) return false;
    switch_over(d, wanted, cause);
    return true;
}

}  // namespace tutti::core
