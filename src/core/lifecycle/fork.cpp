#include "core/lifecycle/fork.hpp"

#include "base/fence.hpp"
#include "core/conflict/abstract_locks.hpp"
#include "core/lifecycle/retired.hpp"
#include "core/state/ancestry.hpp"
#include "core/tokens/serial_token.hpp"
#include "core/tokens/slots.hpp"
#include "core/waiting/wakeup.hpp"

namespace tutti::core {
namespace {

void forget(descriptor& gone) noexcept {
    const word state = gone.state.load(std::memory_order_relaxed);
    gone.state.store(memory::make_state(memory::sequence_of(state), status::idle), std::memory_order_relaxed);
    gone.plain.store(0, std::memory_order_relaxed);
    gone.privatizing.store(0, std::memory_order_relaxed);
    gone.settling.store(0, std::memory_order_relaxed);
    gone.quiescing.announced = false;
    gone.quiescing.deferred_up_to = 0;
    gone.sleepers.store(0, std::memory_order_relaxed);
    gone.waits_for.store(nullptr, std::memory_order_relaxed);
    gone.shows_wait_for.store(nullptr, std::memory_order_relaxed);
    gone.shows_retry.store(false, std::memory_order_relaxed);
    gone.last_defeat.store(0, std::memory_order_relaxed);  // its execution does not continue
    gone.sleeping_waiter = nullptr;
    gone.limbo.forget_owner();
    gone.abstract_locks = nullptr;  // the holdings' memory stays where it is, like the memory of the logs
}

}  // namespace

void forget_others(const descriptor* self) noexcept {
    base::forget_others_fences();
    const std::uint32_t count = memory::activities();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& d = descriptor::of(memory::activity_of(id));
        d.eviction.forget_holder();
        if (!shares_context(d, self)) forget(d);
    }
    forget_other_collectors();
    forget_serial_others(self);
    forget_bias_of_others(self);
    forget_other_occupants(self);
    forget_other_holders(self);
    forget_all_waiters();
}

}  // namespace tutti::core
