#include "policies/serialize_kernel.hpp"

#include "core/ports/kernel_serializer.hpp"
#include "policies/self_abort.hpp"
#include "policies/serialize_soft.hpp"

namespace tutti::policies {
namespace {

void show(core::descriptor& self) noexcept {
    core::show_in_kernel(self);
    self.slow_commit |= core::slow_commit_restarted;  // makes the commit call `end`
}

void pause_in_kernel(core::descriptor& self) noexcept {
    if (const core::wait_target& o = self.run.blocked_by; o.awaited != nullptr) {
        core::wait_for_commit(self, *o.awaited, o.state, core::sleep_in_kernel);
    }
}

void pause_at_lower_weight(core::descriptor& self) noexcept {
    const core::wait_target& o = self.run.blocked_by;
    if (o.awaited != nullptr && core::defer_in_kernel(self, *o.awaited)) return pause_by_yielding(self);
    serialize_soft.pause(self);
}

void end_softly(core::descriptor& self) noexcept {
    core::hide_in_kernel(self);
    serialize_soft.end(self);
}

}  // namespace

const core::policy serialize_kernel{.name = "serialize-kernel",
                                    .summary = "run after the commit of the winner; sleep in the kernel until then",
                                    .conflict = choose_self_abort,
                                    .pause = pause_in_kernel,
                                    .start = show,
                                    .end = core::hide_in_kernel,
                                    .remote = remote_self_abort};

const core::policy serialize_soft_kernel{.name = "serialize-soft-kernel",
                                         .summary = "run at a lower kernel weight until the winners have committed",
                                         .conflict = choose_self_abort,
                                         .pause = pause_at_lower_weight,
                                         .start = show,
                                         .end = end_softly,
                                         .remote = remote_self_abort};

}  // namespace tutti::policies
