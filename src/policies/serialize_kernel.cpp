#include "policies/serialize_kernel.hpp"

#include "core/ports/kernel_serializer.hpp"
#include "policies/giving_way.hpp"
#include "policies/serialize_soft.hpp"

namespace tutti::policies {
namespace {

void show(core::descriptor& self) noexcept {
    core::show_in_kernel(self);
    self.slow_commit |= core::slow_commit_restarted;  // so that `end` is called at a commit
}

void pause_in_kernel(core::descriptor& self) noexcept {
    if (const core::obstacle& o = self.run.in_the_way; o.who != nullptr) {
        core::wait_for_commit(self, *o.who, o.state, core::sleep_in_kernel);
    }
}

void pause_at_lower_weight(core::descriptor& self) noexcept {
    const core::obstacle& o = self.run.in_the_way;
    if (o.who != nullptr && core::defer_in_kernel(self, *o.who)) return pause_by_yielding(self);
    serialize_soft.pause(self);
}

void end_softly(core::descriptor& self) noexcept {
    core::hide_in_kernel(self);
    serialize_soft.end(self);
}

}  // namespace

const core::policy serialize_kernel{.name = "serialize-kernel",
                                    .summary = "run after the commit of the winner; sleep in the kernel until then",
                                    .conflict = give_way,
                                    .pause = pause_in_kernel,
                                    .start = show,
                                    .end = core::hide_in_kernel,
                                    .abroad = give_way_abroad};

const core::policy serialize_soft_kernel{
    .name = "serialize-soft-kernel",
    .summary = "run at a lower weight, which the kernel gives, until those one lost to have committed",
    .conflict = give_way,
    .pause = pause_at_lower_weight,
    .start = show,
    .end = end_softly,
    .abroad = give_way_abroad};

}  // namespace tutti::policies
