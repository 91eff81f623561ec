#include "core/interrupt.hpp"

#include "core/critical.hpp"
#include "core/kill.hpp"

namespace tutti::core {
namespace {

void note_sleep(descriptor& d, waiter* who) noexcept {
    undisturbed(d, [&] {
        const base::lock_guard guard{d.eviction};
        d.asleep = who;
    });
}

}  // namespace

void interrupt(descriptor& d) noexcept {
    d.interrupted.store(1, std::memory_order_release);  // partner: the acquiring load in start_attempt
    kill(d, d.state.load(std::memory_order_acquire));
    const base::lock_guard guard{d.eviction};
    if (d.asleep != nullptr) d.asleep->wake();
}

void sleep_interruptibly(descriptor& d, waiter& me, std::optional<base::deadline> until) noexcept {
    note_sleep(d, &me);
    if (d.interrupted.load(std::memory_order_acquire) == 0) me.sleep(until);
    note_sleep(d, nullptr);
}

}  // namespace tutti::core
