#include "core/quiescence.hpp"

#include "base/fence.hpp"
#include "core/algorithm.hpp"
#include "core/apart.hpp"
#include "core/waiting.hpp"

namespace tutti::core {

void enter_plain(descriptor& d) {
    if ((attention.load(std::memory_order_relaxed) & attention_plain) == 0) {
        attention.fetch_or(attention_plain, std::memory_order_seq_cst);
        base::heavy_fence();
    }
    d.plain.exchange(1, std::memory_order_seq_cst);
    d.extras |= extra_plain;
    d.algorithm->refresh(d);
}

void quiesce(descriptor& self) noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // partner: the exchange in enter_plain
    const std::uint32_t count = memory::activities();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& other = descriptor::of(memory::activity_of(id));
        if (&other == &self || encloses(other, self) || other.plain.load(std::memory_order_acquire) == 0) continue;
        const word state = other.state.load(std::memory_order_acquire);
        if (memory::is_running(state)) wait_for(self, other, state);
    }
}

}  // namespace tutti::core
