#include "core/quiescence.hpp"

#include "base/fence.hpp"
#include "core/algorithm.hpp"
#include "core/apart.hpp"
#include "core/fault.hpp"
#include "core/waiting.hpp"

namespace tutti::core {
namespace {

/// Whether the outermost block is one of the language, which keeps `plain` raised from its begin on.
bool began_plainly(const descriptor& d) noexcept {
    const detail::frame* f = d.frame_;
    while (f->parent != nullptr) f = f->parent;
    return f->receive != nullptr;
}

void end_publication(descriptor& self) noexcept {
    self.announced = false;
    self.privatizing.store(0, std::memory_order_release);
    wake_sleepers(self);
}

/// Waits until nobody quiesces who has published a version up to `limit`. Whether nobody can publish one any more.
bool await_up_to(descriptor& self, word limit) noexcept {
    bool all_have_published = true;
    const std::uint32_t count = memory::activities();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& other = descriptor::of(memory::activity_of(id));
        if (&other == &self) continue;
        const word shown = other.privatizing.load(std::memory_order_seq_cst);
        if (shown == 0 || (shown & ~unpublished) > limit) continue;
        if ((shown & unpublished) == 0) wait_for_quiescence(self, other, shown);
        else if (!broken(fault::overlook_the_unpublished)) all_have_published = false;
    }
    return all_have_published;
}

}  // namespace

void use_plain_memory() noexcept {
    if ((attention.load(std::memory_order_relaxed) & attention_plain) != 0) return;
    attention.fetch_or(attention_plain, std::memory_order_seq_cst);
    base::heavy_fence();
    attention.fetch_or(attention_plain_settled, std::memory_order_release);
}

void enter_plain(descriptor& d) {
    if (began_plainly(d)) return;
    use_plain_memory();
    d.plain.exchange(1, std::memory_order_seq_cst);
    d.extras |= extra_plain;
    d.algorithm->refresh(d);
}

void quiesce(descriptor& self) noexcept {
    if (encloser_owns(self)) {
        self.announced = false;  // it is owed from here on
        return;
    }
    const std::uint32_t count = memory::activities();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& other = descriptor::of(memory::activity_of(id));
        if (&other == &self || other.plain.load(std::memory_order_seq_cst) == 0) continue;
        // seq_cst, as above: partners are the exchanges in enter_plain and open_plainly, the fence in start_attempt.
        const word state = other.state.load(std::memory_order_seq_cst);
        if (memory::is_running(state)) wait_for(self, other, state);
    }
    end_publication(self);
}

void pay_for_inner(descriptor& self) noexcept {
    for (descriptor* i = self.inner; i != nullptr; i = i->inner) {
        if (i->privatizing.load(std::memory_order_relaxed) == 0) continue;
        if (broken(fault::forget_what_inner_owes)) end_publication(*i);
        else quiesce(*i);
    }
}

void await_quiescence(descriptor& self) noexcept {
    if (self.limit <= self.received_up_to || encloser_owns(self)) return;  // the block around it waits at its own end
    // Before it looks: the bound of a commit that did not see that plain memory is used was up before the fence of who
    // raised this, and is seen. Acquire: partner is the release in use_plain_memory.
    const bool settled = (attention.load(std::memory_order_acquire) & attention_plain_settled) != 0;
    const bool all = await_up_to(self, self.limit | memory::writer_mask);  // norec's limit has none of these bits
    if (settled && all) self.received_up_to = self.limit;
}

void await_all_quiescence(descriptor& self) noexcept {
    if (!encloser_owns(self)) (void)await_up_to(self, memory::no_version);
}

}  // namespace tutti::core
