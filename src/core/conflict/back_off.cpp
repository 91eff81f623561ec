#include "core/conflict/back_off.hpp"

#include <algorithm>

#include "core/state/attempt.hpp"
#include "core/waiting/waiting.hpp"

namespace tutti::core {
namespace {

/// Number of attempts before a block without a known obstacle backs off.
constexpr std::uint32_t patient_attempts = 4;

}  // namespace

void back_off(descriptor& d) noexcept {
    const std::uint32_t attempt = std::min(d.run.attempt, 10U);
    const std::uint64_t turns = d.next_random() & ((std::uint64_t{4} << attempt) - 1);
    for (std::uint64_t i = 0; i < turns; ++i) base::spin_turn();
}

void pause_patiently(descriptor& self) noexcept {
    if (const obstacle& o = self.run.in_the_way; o.who != nullptr) {
        wait_for(self, *o.who, o.state, patience(self));
    } else if (self.run.attempt > patient_attempts) {
        back_off(self);
    }
}

}  // namespace tutti::core
