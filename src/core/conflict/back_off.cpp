#include "core/conflict/back_off.hpp"

#include <algorithm>

#include "core/state/attempt.hpp"
#include "core/waiting/waiting.hpp"

namespace tutti::core {
namespace {

/// The number of attempts after which a block backs off, if its conflicting transaction is not known.
constexpr std::uint32_t attempts_without_back_off = 4;

}  // namespace

void back_off(descriptor& d) noexcept {
    const std::uint32_t attempt = std::min(d.run.attempt, 10U);
    const std::uint64_t turns = d.next_random() & ((std::uint64_t{4} << attempt) - 1);
    for (std::uint64_t i = 0; i < turns; ++i) base::spin_turn();
}

void wait_or_back_off(descriptor& self) noexcept {
    if (const wait_target& o = self.run.blocked_by; o.awaited != nullptr) {
        wait_for(self, *o.awaited, o.state, wait_limit(self));
    } else if (self.run.attempt > attempts_without_back_off) {
        back_off(self);
    }
}

}  // namespace tutti::core
