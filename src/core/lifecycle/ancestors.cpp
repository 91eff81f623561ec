#include "core/lifecycle/ancestors.hpp"

#include "core/conflict/back_off.hpp"
#include "core/lifecycle/ends.hpp"
#include "core/lifecycle/open_nesting.hpp"
#include "core/rollback/signal.hpp"

namespace tutti::core {
namespace {

/// The number of attempts of an inner transaction after which the outer transaction starts over.
#if defined(TUTTI_INTERLEAVE)
constexpr std::uint32_t attempts_inside = 2;  // small, so that small programs reach this path
#else
constexpr std::uint32_t attempts_inside = 16;
#endif

}  // namespace

void restart_ancestor(descriptor& d, abort_cause cause) {
    execution_fail(d);
    d.pending = signal::none;  // the signal that leaves through d's frames is not d's: detail::signalled
    // A block of the language starts over by a jump, which skips the frames that would call leave_open_nested.
    if (d.outer->frame_->receive != nullptr) leave_open_nested(*d.outer);
    attempt_abort(*d.outer, cause);
}

void check_ancestors(descriptor& d) {
    if (ancestor_is_doomed(d)) restart_ancestor(d, abort_cause::killed);
}

void back_off_inside(descriptor& d) {
    check_ancestors(d);
    if (d.run.attempt % attempts_inside == 0 && may_restart_ancestor(d)) restart_ancestor(d, d.run.last_cause);
    back_off(d);
}

}  // namespace tutti::core
