#include "core/quiescence.hpp"

#include "base/fence.hpp"
#include "core/algorithm.hpp"
#include "core/apart.hpp"
#include "core/waiting.hpp"

namespace tutti::core {
namespace {

/// Whether the outermost block is one of the language, which keeps `plain` raised from its begin on.
bool began_plainly(const descriptor& d) noexcept {
    const detail::frame* f = d.frame_;
    while (f->parent != nullptr) f = f->parent;
    return f->receive != nullptr;
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
    if (encloser_owns(self)) return;
    std::atomic_thread_fence(std::memory_order_seq_cst);  // partner: the exchange in enter_plain
    const std::uint32_t count = memory::activities();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& other = descriptor::of(memory::activity_of(id));
        if (&other == &self || encloses(other, self) || other.plain.load(std::memory_order_acquire) == 0) continue;
        const word state = other.state.load(std::memory_order_acquire);
        if (memory::is_running(state)) wait_for(self, other, state);
    }
    end_publication(self);
    wake_sleepers(self);
}

void pay_for_inner(descriptor& self) noexcept {
    for (descriptor* i = self.inner; i != nullptr; i = i->inner) {
        if (i->privatizing.load(std::memory_order_relaxed) != 0) quiesce(*i);
    }
}

void await_quiescence(descriptor& self) noexcept {
    if (encloser_owns(self)) return;  // the block around it waits at its own end
    const std::uint32_t count = memory::activities();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& other = descriptor::of(memory::activity_of(id));
        if (&other == &self || encloses(other, self)) continue;
        if (other.privatizing.load(std::memory_order_acquire) != 0) wait_for_quiescence(self, other);
    }
}

}  // namespace tutti::core
