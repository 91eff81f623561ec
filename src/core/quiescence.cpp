#include "core/quiescence.hpp"

#include "base/fence.hpp"
#include "core/algorithm.hpp"
#include "core/apart.hpp"
#include "core/kill.hpp"
#include "core/waiting.hpp"

namespace tutti::core {
namespace {

/// Whether the outermost block is one of the language, which keeps `plain` raised from its begin on.
bool began_plainly(const descriptor& d) noexcept {
    const detail::frame* f = d.frame_;
    while (f->parent != nullptr) f = f->parent;
    return f->receive != nullptr;
}

/// Waits for all other transactions that use plain memory.
void await_users_of_plain_memory(descriptor& self) noexcept {
    const bool in_the_way = encloser_owns(self);
    const std::uint32_t count = memory::activities();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& other = descriptor::of(memory::activity_of(id));
        if (&other == &self || encloses(other, self) || other.plain.load(std::memory_order_acquire) == 0) continue;
        const word state = other.state.load(std::memory_order_acquire);
        if (!memory::is_running(state)) continue;
        if (in_the_way) {
            // It may be waiting for what a block around self owns. If it cannot be asked to die, it has read nothing that
            // has changed and never will have, because what it reads is marked: it is no danger to what is private.
            if (memory::status_of(state) == status::irrevocable) continue;
            if (kill(other, state)) evict(other);
        }
        wait_for(self, other, state);
    }
}

}  // namespace

void use_plain_memory() noexcept {
    if ((attention.load(std::memory_order_relaxed) & attention_plain) != 0) return;
    attention.fetch_or(attention_plain, std::memory_order_seq_cst);
    base::heavy_fence();
}

void enter_plain(descriptor& d) {
    if (began_plainly(d)) return;
    use_plain_memory();
    d.plain.exchange(1, std::memory_order_seq_cst);
    d.extras |= extra_plain;
    d.algorithm->refresh(d);
}

void quiesce(descriptor& self) noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // partner: the exchange in enter_plain
    await_users_of_plain_memory(self);
    end_publication(self);
    wake_sleepers(self);
}

void await_quiescence(descriptor& self) noexcept {
    const std::uint32_t count = memory::activities();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& other = descriptor::of(memory::activity_of(id));
        if (&other == &self || encloses(other, self)) continue;
        if (other.privatizing.load(std::memory_order_acquire) == 0) continue;
        // Those for whom the other waits may be waiting for what a block around self owns.
        if (encloser_owns(self)) return await_users_of_plain_memory(self);
        wait_for_quiescence(self, other);
    }
}

}  // namespace tutti::core
