#include "preempt/worker.hpp"

#include <cxxabi.h>
#include <pthread.h>
#include <sched.h>
#include <ucontext.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/emergency_output.hpp"
#include "base/futex.hpp"
#include "base/panic.hpp"
#include "base/scheduling.hpp"
#include "core/conflict/kill.hpp"
#include "core/lifecycle/left_behind.hpp"
#include "preempt/scheduler.hpp"
#include "preempt/stack_overflow.hpp"

// Points to the flag `urgent` of the calling thread's worker. The stubs of library_calls.cpp read the flag, on every
// thread.
extern "C" {
namespace {
constinit const std::atomic<bool> nothing_is_urgent{false};
}
[[gnu::tls_model("initial-exec"), gnu::visibility("hidden"),
  gnu::used]] constinit thread_local const std::atomic<bool>* tutti_preempt_urgent = &nothing_is_urgent;
}

namespace tutti::preempt {
namespace {

// Signal handlers read this variable, so its first access must not allocate memory.
[[gnu::tls_model("initial-exec")]] thread_local worker* current_worker = nullptr;

const sigset_t only_ticks = [] {
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, tick_signal);
    return s;
}();

const sigset_t faults_and_ticks = [] {
    sigset_t s = only_ticks;
    sigaddset(&s, SIGSEGV);
    sigaddset(&s, SIGTRAP);
    return s;
}();

/// The number of checks for work before a worker sleeps: 1.3 us if a check takes 5 ns.
constexpr int idle_turns = 4 * base::spin_turns;

/// The lowest real-time priority, so that threads that bring work to workers have a higher one.
constexpr int realtime_priority = 1;

/// Calls f for the descriptor of a context, and for the descriptors around it (open nesting).
template <class F>
void for_each_open(tx* t, F&& f) noexcept {
    if (t == nullptr) return;
    for (core::descriptor* d = &core::descriptor::of(*t); d != nullptr; d = d->outer) f(*d);
}

/// Increments a counter without an atomic addition, because only one thread, with its signal handlers, increments each
/// counter.
void count(std::atomic<std::uint64_t>& what) noexcept {
    what.store(what.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// Copies the thread's view of the version clock. The view belongs to the thread. It depends on the thread whether
/// other threads move the clock, and whether the clock's deferred mode pays off. If each context had a view of its own,
/// the context would mistake other contexts on the same worker for other writers (algorithms/version_clock.hpp).
void copy_clock_view(const core::clock_view& from, core::clock_view& to) noexcept {
    to.own = from.own;
    to.counted = from.counted;
    to.foreign = from.foreign;
    to.foreign_versions = from.foreign_versions;
    to.deferred_length = from.deferred_length;
    to.deferred_left = from.deferred_left;
}

}  // namespace

// The next two functions are not inlined, because compilers keep addresses of thread-local variables across a switch.
[[gnu::noinline]] worker* worker::current() noexcept { return current_worker; }
[[gnu::noinline]] void worker::set_current(worker* w, tx* t) noexcept {
    current_worker = w;
    tutti_preempt_urgent = w == nullptr ? &nothing_is_urgent : &w->target_.urgent;
    detail::current_transaction = t;
}

const tick_source& worker::source() const noexcept { return scheduler_.ticks(); }

void worker::start() {
    target_.timing = scheduler_.how().timing;
    std::promise<void> starts;
    std::future<void> started = starts.get_future();
    thread_ = std::thread{[this, starts = std::move(starts)]() mutable { run(std::move(starts)); }};
    started.get();
}

void worker::run(std::promise<void> starts) noexcept {
    set_current(this, nullptr);  // comes first, because a signal that finds no worker here is forwarded to the program
    std::optional<signal_stack> for_faults;
    try {
        for_faults.emplace();
        if (scheduler_.how().realtime_min_priority) check_realtime_permission();
        source().start(target_);
    } catch (...) {
        starts.set_exception(std::current_exception());
        return;
    }
    ::pthread_sigmask(SIG_UNBLOCK, &faults_and_ticks, nullptr);  // because the program's threads may have blocked them
    ::pthread_setname_np(::pthread_self(), "tutti-worker");      // the name that tools show
    if (scheduler_.separates_thread_locals()) own_block_ = tls_block::current();
    starts.set_value();
    for (;;) {
        context* c = std::exchange(chosen_, nullptr);
        if (c != nullptr) scheduler_.requeue_departed(*this, std::exchange(departed_, {}));
        else c = choose_context();
        if (c == nullptr) break;
        enter(*c);
    }
    source().stop(target_);
}

context* worker::choose_context() noexcept {
    for (;;) {
        const std::uint32_t seen = wakeup_word_.load(std::memory_order_acquire);
        target_.urgent.store(false, std::memory_order_release);  // pairs with must_send_tick
        const scheduler::worker_step now = scheduler_.next_step(*this, std::exchange(departed_, {}));
        if (now.next != nullptr || now.ended) return now.next;
        if (!now.repeat) wait_for_work(seen);
    }
}

bool worker::run_idle_callback(std::uint32_t seen) noexcept {
    const idle_callback& idle = scheduler_.how().idle;
    if (idle.run_idle == nullptr) return false;
    in_idle_callback_.store(true, std::memory_order_seq_cst);  // partner: the load in signal_wakeup
    const bool spent = idle.run_idle(idle.self, wakeup_word_, seen, next_wakeup_);
    in_idle_callback_.store(false, std::memory_order_relaxed);
    return spent;
}

void worker::wait_for_work(std::uint32_t seen) noexcept {
    if (run_idle_callback(seen)) return;
    for (int turn = 0; turn < idle_turns; ++turn) {
        if (wakeup_word_.load(std::memory_order_acquire) != seen) return;
        base::spin_turn();
    }
    asleep_.store(true, std::memory_order_seq_cst);  // partner: the load in signal_wakeup
    const bool waits = next_wakeup_ != base::deadline::max();
    base::futex_wait(wakeup_word_, seen, waits ? std::optional{next_wakeup_} : std::nullopt);
    asleep_.store(false, std::memory_order_relaxed);
}

void worker::signal_wakeup() noexcept {
    wakeup_word_.fetch_add(1, std::memory_order_seq_cst);
    // Either this thread sees that the worker is about to sleep, or the worker sees the new count, at the latest in the
    // kernel. The same holds for a sleep in the worker's idle callback. An exception is a call by the worker itself,
    // which checks the count before it sleeps.
    if (asleep_.load(std::memory_order_seq_cst)) base::futex_wake_all(wakeup_word_);
    else if (in_idle_callback_.load(std::memory_order_seq_cst) && current() != this)
        scheduler_.how().idle.wake(scheduler_.how().idle.self);
}

void worker::set_realtime(bool on) noexcept {
    // The process had the permission at the start. If the process has lost it, work runs as late as without the
    // priority.
    if (on) (void)base::set_realtime_priority(target_.thread, realtime_priority);
    else base::clear_realtime_priority(target_.thread, normal_policy_);
}

void worker::check_realtime_permission() {
    normal_policy_ = base::scheduling_policy();
    if (normal_policy_ == SCHED_RR || normal_policy_ == SCHED_FIFO)
        throw std::invalid_argument{
            "tutti: realtime_min_priority: the program already has a real-time priority, which its workers inherit: "
            "start the program without one"};
    if (const int error = base::set_realtime_priority(0, realtime_priority); error != 0)
        throw std::system_error{error, std::generic_category(),
                                "tutti: realtime_min_priority: cannot give a worker a real-time priority"};
    base::clear_realtime_priority(0, normal_policy_);
}

// Makes the block when the context begins instead of at admission, because only contexts that have begun need a block.
bool worker::has_thread_locals(context& c) const noexcept {
    if (c.block || !scheduler_.separates_thread_locals()) return true;
    try {
        c.block.emplace();
        return true;
    } catch (const std::system_error&) {
        return false;
    }
}

void worker::reject(context& c) noexcept {
    static std::atomic<bool> reported{false};
    if (c.current_work.on_rejection == nullptr)
        base::panic("no thread can be started for the thread-local storage of a context");
    if (!reported.exchange(true)) {
        base::write_emergency_message(
            "tutti: no thread can be started for the thread-local storage of a context, so work is rejected: allow "
            "the process more threads (ulimit -u, TasksMax=, pids.max)\n");
    }
    c.current_work.on_rejection(c.current_work.argument);
    departed_ = {&c, leave_reason::finished};
    report(context_event::finished, c);
}

void worker::enter(context& c) noexcept {
    core::descriptor& d = *c.descriptor;
    const bool fresh = !std::exchange(c.has_started, true);
    report(fresh ? context_event::dispatched : context_event::resumed, c);
    if (fresh && !has_thread_locals(c)) return reject(c);
    running_ = &c;
    if (c.block) tls_block::use(c.block->base());
    if (fresh) {
        c.transaction = &d;
        d.exceptions = reinterpret_cast<const core::exception_globals*>(abi::__cxa_get_globals());
        d.pending_tick.store(false, std::memory_order_relaxed);
        c.no_preemption_depth.store(0, std::memory_order_relaxed);
        c.tick_deferred.store(false, std::memory_order_relaxed);
        c.execution.prepare(c.stack_memory, run_context, &c);
    }
    end_back_off(target_);  // because the latest ticks found library code of the previous context
    set_current(this, c.transaction);
    target_.running.store(&d, std::memory_order_release);  // pairs with must_send_tick
    if (source().enter != nullptr) source().enter(target_, d, c.stack_memory);
    // The context that is the reason for this tick may have become ready after `c` was chosen, and the tick's signal
    // may have arrived before this point.
    if (target_.urgent.load(std::memory_order_acquire)) request_check();
    else set_timer();
    copy_clock_view(clock_, d.algorithm_data.clock);
    off_context_.store(false, std::memory_order_relaxed);
    fiber::switch_between(loop_, c.execution);
    copy_clock_view(d.algorithm_data.clock, clock_);
    if (source().leave != nullptr) source().leave(target_);
    target_.running.store(nullptr, std::memory_order_relaxed);
    if (c.block) {
        set_current(nullptr, nullptr);  // no signal may find this worker in the block, which another worker may use
        tls_block::use(own_block_);
    }
    set_current(this, nullptr);
    running_ = nullptr;
    departed_.who = &c;
    switch (departed_.reason) {
        case leave_reason::finished: report(context_event::finished, c); break;
        case leave_reason::preempted: report(context_event::preempted, c); break;
        case leave_reason::parked: report(context_event::parked, c); break;
        case leave_reason::none: break;
    }
}

void worker::run_context(void* of) noexcept {
    auto& c = *static_cast<context*>(of);
    {
        // Ends open transactions, because the next work on this context must not find one.
        const core::call_boundary nothing_stays_open;
        c.current_work.run(c.current_work.argument);
    }
    current()->leave_finished(c);
}

// Signal fence: the trap after the store, and each later tick, reads the stored value (context_termination.cpp). So the
// first of these traps is the last one, and it occurs while the thread still knows its worker.
void worker::end_traps() noexcept {
    off_context_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

void worker::leave_finished(context& c) noexcept {
    departed_.reason = leave_reason::finished;
    end_traps();
    fiber::finish_for(c.execution, loop_);
}

void worker::leave(leave_reason why) noexcept {
    context& c = *running_;
    c.transaction = detail::current_transaction;
    // From here on, other transactions may take what a preempted context owns. They may not take anything from a
    // context that parks itself, for two reasons. Such a context owns nothing for which other transactions wait long
    // (core/waiting/waiting.hpp). It may also be inside a barrier, which would not notice the loss. A context that is
    // parked for the network keeps what it owns, like a thread that sleeps, because its commit may be in progress on
    // another node.
    if (why == leave_reason::preempted) for_each_open(c.transaction, core::suspend);
    departed_.reason = why;
    end_traps();
    fiber::switch_between(c.execution, loop_);
    if (why == leave_reason::preempted) for_each_open(c.transaction, core::resume);
}

void worker::park() noexcept { leave(leave_reason::parked); }

bool worker::must_be_preempted() noexcept {
    target_.urgent.store(false, std::memory_order_release);  // pairs with must_send_tick
    chosen_ = scheduler_.next_above(*this, *running_);
    if (chosen_ == nullptr) set_timer();
    return chosen_ != nullptr;
}

// Acknowledges the tick, because the worker checks again at the end of the region without preemption
// (scheduler::set_no_preemption). Otherwise each call of a library would cause another tick until then.
bool worker::defers_tick() noexcept {
    if (running_->no_preemption_depth.load(std::memory_order_relaxed) == 0) return false;
    running_->tick_deferred.store(true, std::memory_order_relaxed);
    target_.urgent.store(false, std::memory_order_release);
    return true;
}

void worker::check_preemption() noexcept {
    if (!defers_tick() && must_be_preempted()) leave(leave_reason::preempted);
}

void worker::request_check() noexcept {
    if (raise_tick()) tick_after(target_, target_.timing.retry_pause);  // because the next barrier may be far away
}

bool worker::raise_tick() noexcept {
    if (!source().preempts || detail::current_transaction == nullptr) return false;
    target_.urgent.store(true, std::memory_order_relaxed);
    core::descriptor::of(*detail::current_transaction).pending_tick.store(true, std::memory_order_relaxed);
    return true;
}

/// Sets the timer, because a parked context may become due while another context runs, and because a doomed context
/// must be terminated.
void worker::set_timer() noexcept {
    if (target_.interval.count() != 0) return;  // the periodic timer checks this anyway
    std::chrono::nanoseconds pause = std::chrono::nanoseconds::max();
    if (next_wakeup_ != base::deadline::max() && source().preempts) {
        pause = next_wakeup_ - base::now();
        tick_after(target_, pause);
    }
    // This check comes last, because the tick that found the context doomed may have arrived, and set the timer, before
    // the lines above set the timer.
    if (running_->doomed.load(std::memory_order_relaxed)) tick_after(target_, std::min(pause, next_pause(target_)));
}

/// Returns true if there is a reason to check the queue. There may be none, because a barrier may have handled the
/// tick's reason before the tick arrived.
bool worker::is_wanted() const noexcept {
    return target_.urgent.load(std::memory_order_acquire) || target_.interval.count() != 0 ||
           (next_wakeup_ != base::deadline::max() && base::now() >= next_wakeup_);
}

void worker::on_tick(std::uintptr_t instruction) noexcept {
    if (!source().preempts) return;  // the signal came from another sender; there are no critical regions
    if (running_ == nullptr || detail::current_transaction == nullptr) return;  // `enter` checks `urgent`
    count(ticks_by_signal_);
    if (!is_wanted()) return;
    core::descriptor& d = core::descriptor::of(*detail::current_transaction);
    const bool application = scheduler_.application().contains(instruction);
    if (application) end_back_off(target_);
    if (application && core::tick(d) && !defers_tick()) {
        if (!must_be_preempted()) return;
        // Ticks are blocked while the handler runs. They are unblocked here, because the switch leaves the handler
        // early.
        ::pthread_sigmask(SIG_UNBLOCK, &only_ticks, nullptr);
        return leave(leave_reason::preempted);
    }
    count(ticks_deferred_);
    if (!application && raise_tick()) back_off(target_);
}

/// Needs no check of the instruction's position, because the module has checked it.
void worker::on_redirection() noexcept {
    if (running_ == nullptr || detail::current_transaction == nullptr) return;
    count(ticks_by_kernel_);
    if (!is_wanted()) return;
    end_back_off(target_);
    if (!core::tick(core::descriptor::of(*detail::current_transaction)) || defers_tick()) return count(ticks_deferred_);
    if (must_be_preempted()) leave(leave_reason::preempted);
}

void worker::handle_redirection() noexcept {
    const int error = errno;
    current()->on_redirection();
    worker& now = *current();  // because a migrated context returns on another worker
    now.source().rearm(now.target_);
    errno = error;
}

void worker::handle_signal(int number, siginfo_t* about, void* interrupted) noexcept {
    worker* const w = current();
    if (w == nullptr) return scheduler::forward_signal(number, about, interrupted);
    const int error = errno;
    auto& where = *static_cast<ucontext_t*>(interrupted);
    if (w->terminates_doomed(where)) return;
    w->on_tick(static_cast<std::uintptr_t>(where.uc_mcontext.gregs[REG_RIP]));
    // The return from a handler restores an alternate stack. If the context has migrated, that stack belongs to another
    // thread.
    if (current() != w) ::sigaltstack(nullptr, &where.uc_stack);
    current()->keep_stepping(where);
    errno = error;
}

void worker::add_to(counts& all) const noexcept {
    all.ticks_by_signal += ticks_by_signal_.load(std::memory_order_relaxed);
    all.ticks_by_kernel += ticks_by_kernel_.load(std::memory_order_relaxed);
    all.ticks_deferred += ticks_deferred_.load(std::memory_order_relaxed);
    if (source().deferred != nullptr) all.ticks_deferred += source().deferred(target_);
}

void worker::report(context_event what, const context& whom) const noexcept {
    const observer& o = scheduler_.how().event_observer;
    if (o.on_event != nullptr) o.on_event(o.self, what, whom, number_);
}

}  // namespace tutti::preempt
