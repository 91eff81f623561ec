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
    gone.uses_plain_memory.store(0, std::memory_order_relaxed);
    gone.privatizing_version.store(0, std::memory_order_relaxed);
    gone.pending_quiescence_waits.store(0, std::memory_order_relaxed);
    gone.unfinished_handlers.store(0, std::memory_order_relaxed);
    gone.quiescing.announced = false;
    gone.quiescing.deferred_up_to = 0;
    gone.sleepers.store(0, std::memory_order_relaxed);
    gone.waits_for.store(nullptr, std::memory_order_relaxed);
    gone.shows_wait_for.store(nullptr, std::memory_order_relaxed);
    gone.shows_retry.store(false, std::memory_order_relaxed);
    gone.last_defeat.store(0, std::memory_order_relaxed);  // the execution does not continue in the child
    gone.sleeping_waiter = nullptr;
    gone.limbo.reset_in_fork_child();
    gone.abstract_locks = nullptr;  // the holdings' memory stays where it is, like the memory of the logs
}

}  // namespace

void forget_others(const descriptor* self) noexcept {
    base::reset_fences_in_fork_child();
    const std::uint32_t count = memory::status_record_count();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& d = descriptor::of(memory::status_record_of(id));
        d.eviction.reset_in_fork_child();
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
