// Ends the work of a context from outside. There are two reasons: the context has exceeded its time; or the scheduler
// ends, and nothing can wake the context from its sleep in retry any more.
//
// Once all accepted work sleeps or waits for a place, no work is left that could wake a sleeper. (Sleepers have no
// place, so in this situation work waits for a place only if memory is exhausted.) The situation begins when the last
// context falls asleep or ends. The worker of that context then searches for work, finds no work, and interrupts a
// sleeper instead. `end_waits` also wakes a worker for this purpose, and so does the thread that recycles a context
// that was being interrupted.
#include <algorithm>

#include "core/lifecycle/interrupt.hpp"
#include "preempt/scheduler.hpp"
#include "preempt/worker.hpp"

namespace tutti::preempt {

context* scheduler::context_running(void* context_slot, const void* argument) noexcept {
    auto* const c = static_cast<context*>(context_slot);
    // `context_slot` may still refer to a context that ran the work before.
    const bool runs_it = c != nullptr && c->current_work.argument == argument && c->state != run_state::pooled &&
                         c->state != run_state::unstarted && !c->work_ended;
    return runs_it ? c : nullptr;
}

void scheduler::interrupt(void* const& context_slot, const void* argument) noexcept {
    context* c = nullptr;
    {
        const adaptive_lock_guard guard{lock_};
        c = context_running(context_slot, argument);
        if (c == nullptr) return;
        ++c->pin_count;
    }
    // The lock is released here, because the thread that wakes a sleeper acquires it.
    core::interrupt(*c->descriptor);
    unpin(*c);
}

void scheduler::interrupt_sleeper(void* const& context_slot, const void* argument) noexcept {
    context* c = nullptr;
    core::descriptor* sleeper = nullptr;
    {
        const adaptive_lock_guard guard{lock_};
        c = context_running(context_slot, argument);
        if (c == nullptr || c->in_retry == nullptr) return;
        sleeper = c->in_retry;
        ++c->pin_count;
    }
    core::interrupt_sleeper(*sleeper);
    unpin(*c);
}

void scheduler::terminate_in_place(void* const& context_slot, const void* argument) noexcept {
    const adaptive_lock_guard guard{lock_};
    context* const c = context_running(context_slot, argument);
    if (c == nullptr) return;
    c->doomed.store(true, std::memory_order_relaxed);
    // The lock is still held, so that the running context is not recycled meanwhile. If the context is preempted before
    // the signal arrives, the worker that enters it next sends itself a tick.
    if (c->state == run_state::running) c->home_worker->interrupt_thread();
}

std::uint64_t scheduler::run_number_of(void* const& context_slot, const void* argument) noexcept {
    const adaptive_lock_guard guard{lock_};
    const context* const c = context_running(context_slot, argument);
    return c != nullptr && c->state == run_state::running ? c->run_number : 0;
}

void scheduler::unpin(context& c) noexcept {
    wakeups to_wake;
    {
        const adaptive_lock_guard guard{lock_};
        if (--c.pin_count == 0 && c.work_ended) {
            recycle(c);
            if (c.state == run_state::unstarted) worker_table_.wake_any_for(c.level, to_wake);
            else if (ending_waits_) worker_table_.wake_any_idle(to_wake);
        }
    }
    deliver(to_wake);
}

void scheduler::end_waits() noexcept {
    wakeups to_wake;
    {
        const adaptive_lock_guard guard{lock_};
        ending_waits_ = true;
        worker_table_.wake_any_idle(to_wake);
    }
    deliver(to_wake);
}

context* scheduler::find_stranded() noexcept {
    if (!ending_waits_ || stranded_ != nullptr || parked_.sleepers() == 0 ||
        outstanding_ != parked_.sleepers() + admission_queue_.size())
        return nullptr;
    // The context's own thread stores `sleeping_waiter` before it acquires the lock to sleep. The context's thread
    // clears `sleeping_waiter` only after the waking thread has acquired the lock.
    const auto can_be_ended = [](const std::unique_ptr<context>& c) {
        return c->sleeper != nullptr && c->sleeper->sleeping_waiter != nullptr;
    };
    const auto found = std::ranges::find_if(pool_.all(), can_be_ended);
    if (found == pool_.all().end()) return nullptr;
    context& c = **found;
    if (c.current_work.on_stranded != nullptr) c.current_work.on_stranded(c.current_work.argument);
    stranded_ = c.sleeper;
    ++c.pin_count;
    return &c;
}

void scheduler::interrupt_stranded(context& c) noexcept {
    // This call does nothing if a thread of the program or a time limit has woken the context meanwhile. The context's
    // procedure may then be over, and the server may have called executor::forget_interruption. Transactions that the
    // context runs after that must not be interrupted.
    core::interrupt_sleeper(*stranded_);
    unpin(c);
    const adaptive_lock_guard guard{lock_};
    stranded_ = nullptr;
}

}  // namespace tutti::preempt
