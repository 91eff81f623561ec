#include "core/lifecycle/quiescence_reply.hpp"

#include "core/ports/algorithm.hpp"
#include "core/rollback/signal.hpp"
#include "core/state/fault_injection.hpp"
#include "core/state/sleepers.hpp"

namespace tutti::core {

void reply_to_quiescence(descriptor& d) {
    // An attempt that a signal is leaving has no snapshot to refresh, and its bounds stay closed (DSC3).
    if ((d.slow_path & ~slow_path_timed) != 0 || d.unwinding()) return;
    if (d.strict() || d.cannot_be_killed()) return;
    const std::uint32_t asked = d.replies_requested.load(std::memory_order_acquire);  // partner: wait_for_current_reads
    if (d.logging && !injected(fault::reply_without_refreshing)) d.algorithm->refresh(d);
    // Opens the bounds even for an unlogged reader, which cannot refresh. Otherwise such a reader would use the slow
    // path until its end.
    d.set_bounds();
    // A killer may have closed the bounds before this. Then its request was stored even earlier, and is found here.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    attempt_abort_if_doomed(d);
    if (!d.logging) return;
    d.replies_given.store(asked, std::memory_order_release);
    wake_sleepers(d);
}

}  // namespace tutti::core
