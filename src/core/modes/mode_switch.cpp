#include "core/modes/mode_switch.hpp"

#include "core/ports/algorithm.hpp"
#include "core/rollback/signal.hpp"
#include "core/tokens/slots.hpp"

namespace tutti::core {
namespace {

/// Switches d to `wanted`. REQUIRES: d has a slot for that mode.
void switch_over(descriptor& d, status wanted, abort_cause cause) {
    d.run.next_mode = wanted;
    d.slow_commit |= slow_commit_strict;
    d.mode = wanted;
    d.close_bounds();
    // seq_cst: partner of kill(). Either the killer sees the new status, and its request is refused; or d sees the
    // request.
    d.state.exchange(memory::make_state(d.own_sequence, wanted), std::memory_order_seq_cst);
    if (d.kill_request.load(std::memory_order_seq_cst) == d.own_sequence) attempt_abort(d, abort_cause::killed);
    if (!d.algorithm->become(d, wanted)) attempt_abort(d, cause);
}

}  // namespace

void become_strict(descriptor& d, status wanted, abort_cause cause) {
    d.run.next_mode = wanted;
    const bool has_slot = d.slot == irrevocable_slot;  // in a serial attempt
    if (d.strict() && !has_slot) attempt_abort(d, cause);
    if (!has_slot && !take_slot(d, wanted)) attempt_abort(d, cause);
    switch_over(d, wanted, cause);
}

bool try_become_strict(descriptor& d, status wanted, abort_cause cause) {
    TUTTI_ASSERT(!d.strict(), "a strict attempt has a slot already");
    if (!take_slot(d, wanted)) return false;
    switch_over(d, wanted, cause);
    return true;
}

}  // namespace tutti::core
