#include "core/lifecycle/access_check.hpp"

#include "core/modes/deadline.hpp"
#include "core/rollback/signal.hpp"

namespace tutti::core {

access_check check_access(descriptor& d) {
    if ((d.slow_path & slow_path_idle) != 0) {
        throw usage_error{"tutti: this tx's transaction has ended; a tx may only be used inside the body that got it"};
    }
    if ((d.slow_path & slow_path_frozen) != 0) {
        throw usage_error{
            "tutti: a participant, an at_commit or an on_abort handler touched the transaction; move the access to the "
            "body or to a before_commit handler"};
    }
    if ((d.slow_path & slow_path_pending) != 0) {
        if (!d.unwinding()) raise_again(d);
        // While an exception leaves the block, the block may still own its writes. Then its algorithm can serve reads.
        return d.ownership_released ? access_check::attempt_over : access_check::during_unwind;
    }
    if (d.unwinding()) {
        if (!d.kill_requested()) return access_check::during_unwind;
        const base::lock_guard guard{d.eviction};
        doom(d, signal::restart, abort_cause::killed);
        return access_check::attempt_over;
    }
    attempt_abort_if_doomed(d);
    if ((d.slow_path & slow_path_timed) != 0) check_deadline(d);
    // Another transaction closed the bounds because it killed an earlier transaction of d, which is over by now.
    d.set_bounds();
    return access_check::proceed;
}

}  // namespace tutti::core
