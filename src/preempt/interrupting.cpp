// Ends the work of a context from outside. The context has exceeded its time, or, when the scheduler ends, it sleeps in
// retry and nothing can wake it any more.
//
// A sleeper can no longer be woken once all accepted work sleeps or waits for a place. Work has a place unless memory
// is exhausted. The last context to fall asleep or to end brings about that state. Its worker then looks for work,
// finds none, and interrupts a sleeper instead. `end_waits`, and the thread that recycles a context that was being
// interrupted, ring a worker for that.
#include <algorithm>

#include "core/lifecycle/interrupt.hpp"
#include "preempt/scheduler.hpp"
#include "preempt/worker.hpp"

namespace tutti::preempt {

context* scheduler::runner_of(void* carrier, const void* argument) noexcept {
    auto* const c = static_cast<context*>(carrier);
    // `carrier` may still name a context that ran the work before.
    const bool runs_it = c != nullptr && c->what.argument == argument && c->state != condition::pooled &&
                         c->state != condition::standing && !c->over;
    return runs_it ? c : nullptr;
}

void scheduler::interrupt(void* const& carrier, const void* argument) noexcept {
    context* c = nullptr;
    {
        const short_guard guard{lock_};
        c = runner_of(carrier, argument);
        if (c == nullptr) return;
        ++c->visitors;
    }
    // Outside the lock, because the thread that wakes a sleeper takes it.
    core::interrupt(*c->descriptor);
    end_visit(*c);
}

void scheduler::interrupt_sleeper(void* const& carrier, const void* argument) noexcept {
    context* c = nullptr;
    core::descriptor* sleeper = nullptr;
    {
        const short_guard guard{lock_};
        c = runner_of(carrier, argument);
        if (c == nullptr || c->in_retry == nullptr) return;
        sleeper = c->in_retry;
        ++c->visitors;
    }
    core::interrupt_sleeper(*sleeper);
    end_visit(*c);
}

void scheduler::end_where_it_stands(void* const& carrier, const void* argument) noexcept {
    const short_guard guard{lock_};
    context* const c = runner_of(carrier, argument);
    if (c == nullptr) return;
    c->doomed.store(true, std::memory_order_relaxed);
    // Under the lock, so that the running context is not recycled meanwhile. If the context gives way before the signal
    // arrives, the worker that enters it next ticks itself.
    if (c->state == condition::running) c->home->interrupt_thread();
}

std::uint64_t scheduler::turn_of(void* const& carrier, const void* argument) noexcept {
    const short_guard guard{lock_};
    const context* const c = runner_of(carrier, argument);
    return c != nullptr && c->state == condition::running ? c->turn : 0;
}

void scheduler::end_visit(context& c) noexcept {
    calls whom;
    {
        const short_guard guard{lock_};
        if (--c.visitors == 0 && c.over) {
            recycle(c);
            if (c.state == condition::standing) roster_.call_any(c.level, whom);
            else if (ending_waits_) roster_.ring_any(whom);
        }
    }
    deliver(whom);
}

void scheduler::end_waits() noexcept {
    calls whom;
    {
        const short_guard guard{lock_};
        ending_waits_ = true;
        roster_.ring_any(whom);
    }
    deliver(whom);
}

context* scheduler::stranded() noexcept {
    if (!ending_waits_ || stranded_ != nullptr || asleep_ == 0 || outstanding_ != asleep_ + backlog_.size())
        return nullptr;
    // The context's own thread stores `sleeping_waiter` before it takes the lock to sleep. It clears `sleeping_waiter` after the waking
    // thread has taken the lock.
    const auto can_be_ended = [](const std::unique_ptr<context>& c) {
        return c->sleeper != nullptr && c->sleeper->sleeping_waiter != nullptr;
    };
    const auto found = std::ranges::find_if(contexts_, can_be_ended);
    if (found == contexts_.end()) return nullptr;
    context& c = **found;
    if (c.what.strand != nullptr) c.what.strand(c.what.argument);
    stranded_ = c.sleeper;
    ++c.visitors;
    return &c;
}

void scheduler::end_wait(context& c) noexcept {
    // A thread of the program or a time limit may have woken the context since. Then it is left alone. Its work may be
    // over, and its later steps for its caller (executor::forget_interruption) must not be interrupted.
    core::interrupt_sleeper(*stranded_);
    end_visit(c);
    const short_guard guard{lock_};
    stranded_ = nullptr;
}

}  // namespace tutti::preempt
