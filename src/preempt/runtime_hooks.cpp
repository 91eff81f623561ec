// The functions that the runtime calls when a preemptible context has to wait, and the choice of the next context.
//
// A context that waits for a transaction is parked. The context of that transaction inherits the waiting context's
// level and deadline. If that context itself waits for a third one, the third one inherits both as well. All these
// contexts are scheduled as if the waiting context itself ran. The inheritance ends with the transaction. The following
// protocol ensures that no wake-up is lost:
//
//   waiter:  adds itself to parked_ (lock); other.sleepers |= 1; heavy_fence; if the transaction is over: removes
//            itself; else parks
//   owner:   ends its transaction; light_fence; if `sleepers` is odd: on_wake_sleepers wakes all waiters (lock)
//
// By base/fence.hpp, the waiter sees the end, or the owner sees the bit and then finds the waiter in the list. A waiter
// may also wait for an orec alone, or for an execution across its restarts. Such a waiter checks its condition again
// after `max_wait`.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>

#include "core/lifecycle/registry.hpp"
#include "core/modes/deadline.hpp"
#include "core/state/sleepers.hpp"
#include "core/waiting/waiting.hpp"
#include "preempt/library_calls.hpp"
#include "preempt/scheduler.hpp"
#include "preempt/stack_overflow.hpp"

namespace tutti::preempt {
namespace {

constexpr auto max_wait = std::chrono::milliseconds{1};

scheduler* the_scheduler = nullptr;

// Threads that are not workers may call a hook while the scheduler ends. So `remove_hooks` stores null to `reachable`
// and then waits until `threads_inside` is zero. Both operations are seq_cst. So a thread that has counted itself in
// `threads_inside` either reads the null, or is seen in the count. Contexts need no such protocol, because they have
// ended when the runtime hooks are removed.
constinit std::atomic<scheduler*> reachable{nullptr};
constinit std::atomic<unsigned> threads_inside{0};

struct sigaction handler_before;

bool runs_a_transaction(const core::descriptor& d) noexcept {
    return memory::is_running(d.state.load(std::memory_order_acquire));
}

}  // namespace

bool scheduler::exists() noexcept { return the_scheduler != nullptr; }

void scheduler::install_hooks() {
    if (the_scheduler != nullptr) throw std::logic_error{"tutti: this process already has a scheduler"};
    the_scheduler = this;
    tick_in_this_process();
    struct sigaction tick{};
    tick.sa_sigaction = &worker::handle_signal;
    // While the handler runs, further ticks are blocked, so that handlers do not pile up on the stack of a context.
    // When the handler switches to another context, it unblocks ticks, because that context must be interruptible.
    tick.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&tick.sa_mask);
    ::sigaction(tick_signal, nullptr, &handler_before);  // precedes the first signal that may be passed on
    ::sigaction(tick_signal, &tick, nullptr);
    start_catching_faults();
    reachable.store(this, std::memory_order_seq_cst);
    core::on_wake_sleepers.store(&on_transaction_end, std::memory_order_release);
}

void scheduler::remove_hooks() noexcept {
    core::on_wake_sleepers.store(nullptr, std::memory_order_release);
    reachable.store(nullptr, std::memory_order_seq_cst);
    while (threads_inside.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
    stop_catching();
    ::sigaction(tick_signal, &handler_before, nullptr);
    the_scheduler = nullptr;
}

void scheduler::forward_signal(int number, siginfo_t* about, void* interrupted) noexcept {
    const struct sigaction& before = handler_before;
    if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) return;
    if ((before.sa_flags & SA_SIGINFO) != 0) before.sa_sigaction(number, about, interrupted);
    else before.sa_handler(number);
}

void scheduler::attach_hooks(context& c) const noexcept {
    c.hooks.serve_tick = &serve_tick;
    c.hooks.wait = &wait;
    c.hooks.sleep = &sleep;
    c.hooks.park = &park_for_network;
    c.hooks.wake = &wake_sleeper;
    c.hooks.outranks = &outranks;
    c.hooks.block_ticks = &set_no_preemption;
    c.hooks.stack = c.stack_memory.mapping();
    c.hooks.stack_bytes = c.stack_memory.mapping_bytes();
    c.hooks.isolates = true;
    c.hooks.owner = &c;
    // Without ticks nothing is interrupted, so critical regions are not needed.
    if (source_.preempts) core::make_preemptable(*c.descriptor, c.hooks);
    else c.descriptor->hooks = &c.hooks;
}

context* scheduler::context_of(const core::descriptor& d) noexcept {
    if (d.hooks == nullptr || d.hooks->serve_tick != &serve_tick) return nullptr;
    return static_cast<const context_hooks*>(d.hooks)->owner;
}

void scheduler::serve_tick(core::descriptor&) noexcept { worker::current()->check_preemption(); }

// The signal fences ensure that handlers on the same thread see either all or none of the effects in between.
void scheduler::set_no_preemption(core::descriptor& self, bool begins) noexcept {
    context& c = *context_of(self);
    const std::uint32_t before = c.no_preemption_depth.load(std::memory_order_relaxed);
    if (begins) {
        c.no_preemption_depth.store(before + 1, std::memory_order_relaxed);
        return std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    c.no_preemption_depth.store(before - 1, std::memory_order_relaxed);
    if (before != 1 || !c.tick_deferred.exchange(false, std::memory_order_relaxed)) return;
    if (core::tick(self)) worker::current()->check_preemption();
}

bool scheduler::outranks(core::descriptor& self, core::descriptor& other) noexcept {
    const context* const mine = context_of(self);
    const context* const theirs = context_of(other);
    if (theirs == nullptr) return false;
    const adaptive_lock_guard guard{the_scheduler->lock_};
    return mine->effective_level() > theirs->effective_level();
}

void scheduler::wait(core::descriptor& self, core::descriptor& other, core::word state) noexcept {
    scheduler& s = *the_scheduler;
    context& c = *context_of(self);
    const bool over = core::is_over(other, state);
    // If the caller waits again for the same ended transaction, the end of that transaction is not sufficient for the
    // caller. So only the first call returns immediately.
    if (over && (c.seen_ended_state != state || c.seen_ended_descriptor != &other)) {
        c.seen_ended_state = state;
        c.seen_ended_descriptor = &other;
        return;
    }
    wakeups to_wake;
    {
        const adaptive_lock_guard guard{s.lock_};
        if (context* const o = context_of(other)) s.inherit_level(*o, c, to_wake);
        s.add_parked(c, &other, base::now() + max_wait);
    }
    s.deliver(to_wake);
    other.sleepers.fetch_or(1, std::memory_order_relaxed);
    base::heavy_fence();  // partner: the light_fence in wake_sleepers
    if (!over && core::is_over(other, state)) {
        to_wake = {};
        {
            const adaptive_lock_guard guard{s.lock_};
            if (c.is_waiting) s.parked_.remove(c);
            c.woken_early = false;
            if (context* const o = context_of(other); o != nullptr && !runs_a_transaction(other)) {
                s.end_inheritance(*o, to_wake);
            }
        }
        s.deliver(to_wake);
        return;
    }
    worker::current()->park();
}

void scheduler::sleep(core::descriptor& self, const detail::shared<std::uint32_t>& woken,
                      std::optional<base::deadline> until) noexcept {
    scheduler& s = *the_scheduler;
    context& c = *context_of(self);
    {
        const adaptive_lock_guard guard{s.lock_};
        // The thread that stores `woken` acquires the lock afterwards, and then wakes this context if it waits.
        if (woken.load(std::memory_order_acquire) != 0) return;
        c.in_retry = &self;
        // Without a limit, the sleep ends by itself only for its own periodic checks.
        if (!core::retry_limit(self)) s.parked_.mark_sleeper(c, self);
        s.add_parked(c, nullptr, until);
        s.pool_.release_place(c);
        s.admit_next();
    }
    worker::current()->park();
}

void scheduler::park_for_network(core::descriptor& self, const detail::shared<std::uint32_t>& woken,
                                 base::deadline until) noexcept {
    scheduler& s = *the_scheduler;
    context& c = *context_of(self);
    {
        const adaptive_lock_guard guard{s.lock_};
        // The thread that stores `woken` acquires the lock afterwards, and then wakes this context if it waits.
        if (woken.load(std::memory_order_acquire) != 0) return;
        s.add_parked(c, nullptr, until);
    }
    worker::current()->park();
}

void scheduler::wake_sleeper(core::descriptor& sleeper) noexcept {
    scheduler& s = *the_scheduler;
    wakeups to_wake;
    {
        const adaptive_lock_guard guard{s.lock_};
        if (context& c = *context_of(sleeper); c.is_waiting) s.wake(c, to_wake);
    }
    s.deliver(to_wake);
}

void scheduler::on_transaction_end(core::descriptor& d) noexcept {
    threads_inside.fetch_add(1, std::memory_order_seq_cst);
    if (scheduler* const s = reachable.load(std::memory_order_seq_cst)) s->wake_waiters_of(d);
    threads_inside.fetch_sub(1, std::memory_order_release);
}

void scheduler::wake_waiters_of(core::descriptor& d) noexcept {
    wakeups to_wake;
    {
        const adaptive_lock_guard guard{lock_};
        if (context* const o = context_of(d); o != nullptr && !runs_a_transaction(d)) end_inheritance(*o, to_wake);
        parked_.visit_listed([&](context& c) {
            if (c.awaited == &d) wake(c, to_wake);
        });
    }
    deliver(to_wake);
}

void scheduler::add_parked(context& c, core::descriptor* awaited, std::optional<base::deadline> until) noexcept {
    c.seen_ended_state = 0;
    parked_.add(c, awaited, until);  // there is room for all contexts (add_context)
    ++counts_.parkings;
    if (until) c.home_worker->wake_at_latest(*until);
}

void scheduler::wake(context& c, wakeups& to_wake) noexcept {
    parked_.remove(c);
    if (c.state != run_state::parked) {
        c.woken_early = true;  // the context's worker checks this after the context has left
        return;
    }
    make_active(c, to_wake);
}

void scheduler::inherit_level(context& to, const context& from, wakeups& to_wake) noexcept {
    const unsigned level = from.effective_level();
    context* o = &to;
    for (std::size_t hops = pool_.all().size(); o != nullptr && o != &from && hops != 0; --hops) {
        if (o->state == run_state::pooled || o->state == run_state::unstarted) return;
        const bool sooner = from.due && (!o->due || *from.due < *o->due);
        if (level < o->effective_level() || (level == o->effective_level() && !sooner)) return;
        o->inherited_level = level + 1;
        if (sooner) o->due = from.due;
        ++counts_.priority_inheritances;
        switch (o->state) {
            case run_state::running:
                if (worker_table_.is_running(o->home_worker->number(), *o))
                    worker_table_.change_level(o->home_worker->number(), level, to_wake);
                return;
            case run_state::active: ready_.reorder(*o, o->home_worker->number()); return wake_worker_for(*o, to_wake);
            case run_state::parked: o = o->awaited == nullptr ? nullptr : context_of(*o->awaited); break;
            default: return;
        }
    }
}

void scheduler::end_inheritance(context& c, wakeups& to_wake) noexcept {
    if (c.inherited_level == 0) return;
    c.inherited_level = 0;
    c.due = c.current_work.due;
    if (c.state == run_state::active) ready_.reorder(c, c.home_worker->number());
    if (c.home_worker == nullptr || !worker_table_.is_running(c.home_worker->number(), c)) return;
    // While this context ran at the higher level, other contexts may have become ready for which no worker was woken.
    const unsigned number = c.home_worker->number();
    worker_table_.change_level(number, c.level, to_wake);
    if (const int next = ready_.next_level(number); next > worker_table_.level(number))
        worker_table_.wake_for(number, next, to_wake);
}

}  // namespace tutti::preempt
