#include "core/conflict/kill.hpp"

#include "base/fence.hpp"
#include "core/conflict/conflicting_transaction.hpp"
#include "core/rollback/signal.hpp"
#include "core/state/sleepers.hpp"

namespace tutti::core {

bool kill(descriptor& victim, word seen) noexcept {
    const auto killable = [](word state) {
        const status s = memory::status_of(state);
        return s == status::active || s == status::visible || s == status::aborting;
    };
    if (!killable(seen)) return false;
    victim.kill_request.store(memory::sequence_of(seen), std::memory_order_relaxed);
    base::heavy_fence();  // partner: light_fence between `preparing` and the test in commit
    const word state = victim.state.load(std::memory_order_acquire);
    if (memory::sequence_of(state) != memory::sequence_of(seen) || !killable(state)) return false;
    // With closed bounds, the victim's next inlined read takes the slow path, where the victim finds the request. If
    // the victim's next transaction has begun meanwhile, that transaction takes the slow path once, finds no request
    // and continues.
    victim.close_bounds();
    return true;
}

namespace {

/// Returns true if the attempt has run code of the language. Such code reads private memory without barriers. After an
/// eviction, the code would continue with values that the evicting context has written there in the roll-back.
bool has_run_language(const descriptor& d) noexcept {
    if ((d.slow_commit & slow_commit_language) != 0) return true;
    const detail::frame* f = d.frame_;
    while (f != nullptr && f->receive == nullptr) f = f->parent;
    return f != nullptr;
}

}  // namespace

bool evict(descriptor& victim) noexcept {
    const base::lock_guard guard{victim.eviction};
    if (victim.suspended.load(std::memory_order_acquire) == 0 || has_run_language(victim)) return false;
    // Dooms the victim as if the victim had found the request itself. When the victim is resumed, it finds the signal
    // at its next barrier or at its commit.
    if (victim.kill_requested() && victim.pending == signal::none) doom(victim, signal::restart, abort_cause::killed);
    return true;
}

bool kill_before_waiting(descriptor& self, descriptor& victim, word seen) noexcept {
    note_kill(victim, self);  // before the kill, so that the victim finds this note
    if (!kill(victim, seen)) return false;
    evict(victim);
    // Either the victim finds the request before it sleeps, or it has entered itself as a sleeper before kill's fence.
    wake_sleepers(self);
    return true;
}

// The lock `eviction` makes it safe for other contexts to access the fields of a suspended victim. The victim's own
// context acquires the lock after its last instruction before the suspension, and again before its next instruction.
void suspend(descriptor& d) noexcept {
    const base::lock_guard guard{d.eviction};
    d.suspended.store(1, std::memory_order_release);
    ++d.suspensions;
}

void resume(descriptor& d) noexcept {
    const base::lock_guard guard{d.eviction};
    d.suspended.store(0, std::memory_order_release);
}

}  // namespace tutti::core
