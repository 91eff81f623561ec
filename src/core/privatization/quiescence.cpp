#include "core/privatization/quiescence.hpp"

#include <algorithm>

#include "base/fence.hpp"
#include "core/ports/algorithm.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/fault.hpp"
#include "core/state/sleepers.hpp"
#include "core/waiting/waiting.hpp"

namespace tutti::core {
namespace {

/// Whether the outermost block is one of the language, which keeps `plain` raised from its begin on.
bool began_plainly(const descriptor& d) noexcept {
    const detail::frame* f = d.frame_;
    while (f->parent != nullptr) f = f->parent;
    return f->receive != nullptr;
}

void end_publication(descriptor& self) noexcept {
    self.quiescing.announced = false;
    self.privatizing.store(0, std::memory_order_release);
    wake_sleepers(self);
}

/// Whether self's context holds something that those self would wait for may be waiting for.
bool is_encumbered(const descriptor& self) noexcept {
    if (broken(fault::wait_with_abstract_locks)) return ancestor_runs(self);
    for (const descriptor* d = &self; d != nullptr; d = d->outer) {
        if (d->abstract_locks != nullptr || (d != &self && d->running())) return true;
    }
    return false;
}

/// Calls f(other) for every descriptor that may announce a publication.
template <class F>
void for_each_publisher(descriptor& self, bool settled, F&& f) {
    if (settled) return for_each_member(self, f);
    const std::uint32_t count = memory::activities();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& other = descriptor::of(memory::activity_of(id));
        if (&other != &self) f(other);
    }
}

/// Waits until no commit quiesces that has published a version up to `bound`. True: none can publish one any more.
bool await_up_to(descriptor& self, word bound) noexcept {
    // Before it looks: a commit that did not see that plain memory is used had put its bound up before the fence of the
    // context that raised this bit, and the look sees it. Acquire: partner is the release in use_plain_memory.
    const bool settled = (attention.load(std::memory_order_acquire) & attention_plain_settled) != 0;
    bool all_have_published = settled;
    for_each_publisher(self, settled, [&](descriptor& other) {
        const word shown = other.privatizing.load(std::memory_order_seq_cst);
        if (shown == 0 || (shown & ~unpublished) > bound) return;
        if ((shown & unpublished) == 0) wait_for_quiescence(self, other, shown);
        else if (!broken(fault::overlook_the_unpublished)) all_have_published = false;
    });
    return all_have_published;
}

/// The same, or later where it cannot wait now. True: it has waited, and no commit can publish one any more.
bool await_or_owe(descriptor& self, word bound) noexcept {
    if (!is_encumbered(self)) return await_up_to(self, bound);
    self.quiescing.owes_up_to = std::max(self.quiescing.owes_up_to, bound);
    return false;
}

}  // namespace

void use_plain_memory() noexcept {
    if ((attention.load(std::memory_order_relaxed) & attention_plain) != 0) return;
    attention.fetch_or(attention_plain, std::memory_order_seq_cst);
    base::heavy_fence();  // partner: light_fence in come_into_sight
    const std::uint32_t count = memory::activities();
    for (std::uint32_t id = 0; id < count; ++id) {
        descriptor& d = descriptor::of(memory::activity_of(id));
        if (d.privatizing.load(std::memory_order_acquire) != 0) enlist(d);
    }
    attention.fetch_or(attention_plain_settled, std::memory_order_release);
}

void enter_plain(descriptor& d) {
    if (began_plainly(d)) return;
    use_plain_memory();
    if (!is_enlisted(d)) enlist(d);
    d.plain.exchange(1, std::memory_order_seq_cst);
    d.slow_commit |= slow_commit_plain;
    d.algorithm->refresh(d);
}

void quiesce(descriptor& self) noexcept {
    if (is_encumbered(self)) {
        self.quiescing.announced = false;  // it is owed from here on
        return;
    }
    for_each_member(self, [&](descriptor& other) {
        if (other.plain.load(std::memory_order_seq_cst) == 0) return;
        // seq_cst, as above: partners are the exchanges in enter_plain and open_plainly, the fence in attempt_start.
        const word state = other.state.load(std::memory_order_seq_cst);
        if (memory::is_running(state)) wait_for_current_reads(self, other, state);
    });
    end_publication(self);
}

void pay_debts(descriptor& self) noexcept {
    for (descriptor* d = &self; d != nullptr; d = d->inner) {
        if (d->privatizing.load(std::memory_order_relaxed) != 0) {
            if (d != &self && broken(fault::forget_what_inner_owes)) end_publication(*d);
            else quiesce(*d);
        }
        if (const word bound = std::exchange(d->quiescing.owes_up_to, 0); bound != 0) await_or_owe(*d, bound);
    }
}

void await_quiescence(descriptor& self) noexcept {
    if (self.snapshot_bound <= self.quiescing.received_up_to) return;
    // A bound that is the count of a sequence lock has none of these bits.
    if (await_or_owe(self, self.snapshot_bound | memory::writer_mask))
        self.quiescing.received_up_to = self.snapshot_bound;
}

void await_all_quiescence(descriptor& self) noexcept { (void)await_or_owe(self, memory::no_version); }

}  // namespace tutti::core
