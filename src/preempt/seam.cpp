// The functions that the runtime calls when a preemptible context has to wait, and the choice of the next context.
//
// A context that waits for a transaction is parked. It lends its level and its deadline to the context of that
// transaction, and to the context that this one waits for in turn. So these are scheduled as if the waiting context
// itself ran. The loan ends with the transaction. Why no wake-up is lost:
//
//   waiter:  enters parked_ (lock); other.sleepers |= 1; heavy_fence; is it over? then leaves the list, else parks
//   owner:   ends its transaction; light_fence; is `sleepers` odd? then on_wake_sleepers:
//            wakes all waiters for it (lock)
//
// By base/fence.hpp, either the waiter sees the end, or the owner sees the bit and then finds the waiter in the list. A
// waiter may also wait for an orec alone, or for an execution across its restarts. It checks these again after
// `longest_wait`.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>
#include <utility>

#include "core/lifecycle/registry.hpp"
#include "core/modes/deadline.hpp"
#include "core/state/sleepers.hpp"
#include "core/waiting/waiting.hpp"
#include "preempt/library_calls.hpp"
#include "preempt/overrun.hpp"
#include "preempt/scheduler.hpp"

namespace tutti::preempt {
namespace {

constexpr auto longest_wait = std::chrono::milliseconds{1};

scheduler* the_scheduler = nullptr;

// For threads that are not workers. Closing stores null to `reachable` and then waits until `inside` is zero. Both are
// seq_cst, so a thread that has counted itself in either reads the null, or is seen in the count. Contexts need
// neither, because they have ended when the seam is closed.
constinit std::atomic<scheduler*> reachable{nullptr};
constinit std::atomic<unsigned> inside{0};

struct sigaction handler_before;

bool runs_a_transaction(const core::descriptor& d) noexcept {
    return memory::is_running(d.state.load(std::memory_order_acquire));
}

}  // namespace

bool scheduler::exists() noexcept { return the_scheduler != nullptr; }

void scheduler::open_seam() {
    if (the_scheduler != nullptr) throw std::logic_error{"tutti: a process has one scheduler at a time"};
    the_scheduler = this;
    tick_in_this_process();
    struct sigaction tick{};
    tick.sa_sigaction = &worker::handle_signal;
    // Blocks further ticks while the handler runs, so that handlers do not pile up on the stack of a context. When the
    // handler switches to another context, it unblocks them, because that context must be interruptible.
    tick.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&tick.sa_mask);
    ::sigaction(tick_signal, nullptr, &handler_before);  // comes before the first signal that may be passed on
    ::sigaction(tick_signal, &tick, nullptr);
    start_catching_faults();
    reachable.store(this, std::memory_order_seq_cst);
    core::on_wake_sleepers.store(&let_go, std::memory_order_release);
}

void scheduler::close_seam() noexcept {
    core::on_wake_sleepers.store(nullptr, std::memory_order_release);
    reachable.store(nullptr, std::memory_order_seq_cst);
    while (inside.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
    stop_catching();
    ::sigaction(tick_signal, &handler_before, nullptr);
    the_scheduler = nullptr;
}

void scheduler::pass_on(int number, siginfo_t* about, void* interrupted) noexcept {
    const struct sigaction& before = handler_before;
    if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) return;
    if ((before.sa_flags & SA_SIGINFO) != 0) before.sa_sigaction(number, about, interrupted);
    else before.sa_handler(number);
}

void scheduler::connect(context& c) const noexcept {
    c.hooks.serve_tick = &serve_tick;
    c.hooks.wait = &wait;
    c.hooks.sleep = &sleep;
    c.hooks.park = &rest;
    c.hooks.wake = &wake_sleeper;
    c.hooks.outranks = &outranks;
    c.hooks.block_ticks = &hold;
    c.hooks.stack = c.room.mapping();
    c.hooks.stack_bytes = c.room.mapping_bytes();
    c.hooks.isolates = true;
    c.hooks.of = &c;
    // Without ticks nothing is interrupted, so critical regions are omitted.
    if (source_.preempts) core::make_preemptable(*c.descriptor, c.hooks);
    else c.descriptor->hooks = &c.hooks;
}

context* scheduler::context_of(const core::descriptor& d) noexcept {
    if (d.hooks == nullptr || d.hooks->serve_tick != &serve_tick) return nullptr;
    return static_cast<const hooks_of_context*>(d.hooks)->of;
}

void scheduler::serve_tick(core::descriptor&) noexcept { worker::current()->check(); }

// Signal fences: handlers on the same thread see either all or none of the effects in between.
void scheduler::hold(core::descriptor& self, bool begins) noexcept {
    context& c = *context_of(self);
    const std::uint32_t before = c.held.load(std::memory_order_relaxed);
    if (begins) {
        c.held.store(before + 1, std::memory_order_relaxed);
        return std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    c.held.store(before - 1, std::memory_order_relaxed);
    if (before != 1 || !c.tick_kept.exchange(false, std::memory_order_relaxed)) return;
    if (core::tick(self)) worker::current()->check();
}

bool scheduler::outranks(core::descriptor& self, core::descriptor& other) noexcept {
    const context* const mine = context_of(self);
    const context* const theirs = context_of(other);
    if (theirs == nullptr) return false;
    const short_guard guard{the_scheduler->lock_};
    return mine->effective_level() > theirs->effective_level();
}

void scheduler::wait(core::descriptor& self, core::descriptor& other, core::word state) noexcept {
    scheduler& s = *the_scheduler;
    context& c = *context_of(self);
    const bool over = core::is_over(other, state);
    // A caller that asks again waits for more than the end of that transaction.
    if (over && (c.found_over != state || c.found_over_of != &other)) {
        c.found_over = state;
        c.found_over_of = &other;
        return;
    }
    calls whom;
    {
        const short_guard guard{s.lock_};
        if (context* const o = context_of(other)) s.lend(*o, c, whom);
        s.enter_parked(c, &other, base::now() + longest_wait);
    }
    s.deliver(whom);
    other.sleepers.fetch_or(1, std::memory_order_relaxed);
    base::heavy_fence();  // pairs with the light_fence in wake_sleepers
    if (!over && core::is_over(other, state)) {
        whom = {};
        {
            const short_guard guard{s.lock_};
            if (c.waits) s.forget_parked(c);
            c.woken = false;
            if (context* const o = context_of(other); o != nullptr && !runs_a_transaction(other)) {
                s.take_back_loan(*o, whom);
            }
        }
        s.deliver(whom);
        return;
    }
    worker::current()->park();
}

void scheduler::sleep(core::descriptor& self, const detail::shared<std::uint32_t>& woken,
                      std::optional<base::deadline> until) noexcept {
    scheduler& s = *the_scheduler;
    context& c = *context_of(self);
    {
        const short_guard guard{s.lock_};
        // The thread that stores `woken` takes the lock afterwards.
        if (woken.load(std::memory_order_acquire) != 0) return;
        c.in_retry = &self;
        // It has no limit other than the interval of its own checks.
        if (!core::retry_limit(self)) {
            c.sleeper = &self;
            ++s.asleep_;
        }
        s.enter_parked(c, nullptr, until);
        s.give_place_up(c);
        s.admit_another();
    }
    worker::current()->park();
}

void scheduler::rest(core::descriptor& self, const detail::shared<std::uint32_t>& woken,
                     base::deadline until) noexcept {
    scheduler& s = *the_scheduler;
    context& c = *context_of(self);
    {
        const short_guard guard{s.lock_};
        // The thread that stores `woken` takes the lock afterwards.
        if (woken.load(std::memory_order_acquire) != 0) return;
        s.enter_parked(c, nullptr, until);
    }
    worker::current()->park();
}

void scheduler::wake_sleeper(core::descriptor& sleeper) noexcept {
    scheduler& s = *the_scheduler;
    calls whom;
    {
        const short_guard guard{s.lock_};
        if (context& c = *context_of(sleeper); c.waits) s.wake(c, whom);
    }
    s.deliver(whom);
}

void scheduler::let_go(core::descriptor& d) noexcept {
    inside.fetch_add(1, std::memory_order_seq_cst);
    if (scheduler* const s = reachable.load(std::memory_order_seq_cst)) s->wake_those_who_await(d);
    inside.fetch_sub(1, std::memory_order_release);
}

void scheduler::wake_those_who_await(core::descriptor& d) noexcept {
    calls whom;
    {
        const short_guard guard{lock_};
        if (context* const o = context_of(d); o != nullptr && !runs_a_transaction(d)) take_back_loan(*o, whom);
        for (std::size_t i = parked_.size(); i-- != 0;) {
            if (parked_[i]->awaited == &d) wake(*parked_[i], whom);
        }
    }
    deliver(whom);
}

void scheduler::enter_parked(context& c, core::descriptor* awaited, std::optional<base::deadline> until) noexcept {
    c.found_over = 0;
    c.waits = true;
    c.awaited = awaited;
    c.until = until;
    if (awaited != nullptr || until) {
        c.parked_at = parked_.size();
        parked_.push_back(&c);  // there is room for all contexts
    }
    ++parked_count_;
    ++counts_.parkings;
    if (until) c.home->wake_by(*until);
}

void scheduler::forget_parked(context& c) noexcept {
    if (c.awaited != nullptr || c.until) {
        context* const last = parked_.back();
        parked_[c.parked_at] = last;
        last->parked_at = c.parked_at;
        parked_.pop_back();
    }
    --parked_count_;
    c.in_retry = nullptr;
    if (std::exchange(c.sleeper, nullptr) != nullptr) --asleep_;
    c.waits = false;
    c.awaited = nullptr;
    c.until.reset();
}

void scheduler::wake(context& c, calls& whom) noexcept {
    forget_parked(c);
    if (c.state != condition::parked) {
        c.woken = true;  // its worker checks this when the context has left
        return;
    }
    make_active(c, whom);
}

void scheduler::lend(context& to, const context& from, calls& whom) noexcept {
    const unsigned level = from.effective_level();
    context* o = &to;
    for (std::size_t hops = contexts_.size(); o != nullptr && o != &from && hops != 0; --hops) {
        if (o->state == condition::pooled || o->state == condition::standing) return;
        const bool sooner = from.due && (!o->due || *from.due < *o->due);
        if (level < o->effective_level() || (level == o->effective_level() && !sooner)) return;
        o->lent = level + 1;
        if (sooner) o->due = from.due;
        ++counts_.loans;
        switch (o->state) {
            case condition::running:
                if (roster_.runs(o->home->number(), *o)) roster_.change_level(o->home->number(), level, whom);
                return;
            case condition::active: ready_.reorder(*o, o->home->number()); return call_for(*o, whom);
            case condition::parked: o = o->awaited == nullptr ? nullptr : context_of(*o->awaited); break;
            default: return;
        }
    }
}

void scheduler::take_back_loan(context& c, calls& whom) noexcept {
    if (c.lent == 0) return;
    c.lent = 0;
    c.due = c.what.due;
    if (c.state == condition::active) ready_.reorder(c, c.home->number());
    if (c.home == nullptr || !roster_.runs(c.home->number(), c)) return;
    // No worker was called for contexts that became ready while this one ran at the higher level.
    const unsigned number = c.home->number();
    roster_.change_level(number, c.level, whom);
    if (const int next = ready_.next_level(number); next > roster_.level(number)) roster_.call(number, next, whom);
}

}  // namespace tutti::preempt
