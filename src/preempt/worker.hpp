// A worker: a thread that runs contexts, one at a time, from a loop on its own stack.
//
// A context leaves the processor by switching to that loop, and passes the reason to the loop. The loop puts the
// context into its list and enters the next context. So a worker that resumes a context always finds it completely
// switched away.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <thread>

#include "preempt/context.hpp"
#include "preempt/options.hpp"
#include "preempt/tls_block.hpp"

namespace tutti::preempt {

/// A context that has left its worker, but that the worker has not yet put into its list.
struct departed_context {
    context* who = nullptr;
    leave_reason reason = leave_reason::none;
};

class worker {
public:
    worker(scheduler& of, unsigned number) noexcept : scheduler_{of}, number_{number} {}
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    /// Starts the thread, and returns when it can receive ticks. Throws std::system_error, std::invalid_argument or
    /// std::bad_alloc if that fails.
    void start();
    /// Waits for the thread to end. REQUIRES: start() was called, even if it failed. The worker was woken, and no work
    /// is left.
    void join() noexcept {
        if (thread_.joinable()) thread_.join();
    }

    /// Returns the worker of the calling thread, or null.
    [[nodiscard]] static worker* current() noexcept;
    /// Returns the running context, or null if the worker is in its loop.
    [[nodiscard]] context* running() const noexcept { return running_; }

    /// preemption_check: switches if a context of a higher level is ready. The running context calls this where it may
    /// be switched away. Returns when the context continues.
    void check_preemption() noexcept;
    /// Leaves the processor until the context is woken. REQUIRES: scheduler::add_parked was called.
    void park() noexcept;
    /// Makes the worker check the queue as soon as the running context may be switched away.
    void request_check() noexcept;

    /// The first handlers of faults and traps (stack_overflow.hpp).
    static void handle_fault(int signal, siginfo_t* what, void* interrupted) noexcept;
    static void handle_trap(int signal, siginfo_t* what, void* interrupted) noexcept;

    /// Wakes an idle worker. Any thread may call it.
    void signal_wakeup() noexcept;
    /// Notifies a worker that is not asleep. Any thread may call this.
    void signal_if_awake() noexcept { wakeup_word_.fetch_add(1, std::memory_order_seq_cst); }
    /// Sends a tick to a busy worker. Any other thread may call it.
    void tick() noexcept { source().request(target_); }

    /// Gives the worker's thread a real-time priority, or withdraws that priority. Any thread may call this.
    void set_realtime(bool on) noexcept;

    /// Makes the worker's thread check its context immediately, in the handler of ticks. Any thread may call this.
    void interrupt_thread() noexcept { send_tick(target_); }

    [[nodiscard]] unsigned number() const noexcept { return number_; }
    /// Adds this worker's counts to `all`. Any thread may call this.
    void add_to(counts& all) const noexcept;
    /// The handler of ticks.
    static void handle_signal(int number, siginfo_t* about, void* interrupted) noexcept;
    /// Called by kernel_entry.hpp.
    static void handle_redirection() noexcept;

    // --- called by the scheduler, on the worker's own thread

    /// Makes the worker check the queue as soon as it enters the next context.
    void check_soon() noexcept { target_.urgent.store(true, std::memory_order_relaxed); }
    /// Returns the time when the first of the worker's parked contexts is to be woken. Returns base::deadline::max() if
    /// there is no such time.
    [[nodiscard]] base::deadline next_wakeup() const noexcept { return next_wakeup_; }
    void clear_next_wakeup() noexcept { next_wakeup_ = base::deadline::max(); }
    void wake_at_latest(base::deadline until) noexcept { next_wakeup_ = std::min(next_wakeup_, until); }

private:
    [[nodiscard]] const tick_source& source() const noexcept;
    void run(std::promise<void> starts) noexcept;
    /// Tests whether the thread may have a real-time priority, and restores the previous priority. Throws
    /// std::invalid_argument or std::system_error if it may not.
    void check_realtime_permission();
    context* choose_context() noexcept;
    void set_timer() noexcept;
    [[nodiscard]] bool is_wanted() const noexcept;
    void enter(context& c) noexcept;
    /// Gives the context a block of thread-local storage if it needs one. Returns false if that fails.
    [[nodiscard]] bool has_thread_locals(context& c) const noexcept;
    /// Rejects the work of the context, instead of running it.
    void reject(context& c) noexcept;
    /// Returns true if the running context must not be preempted now. In this case, defers the tick until preemption is
    /// allowed.
    [[nodiscard]] bool defers_tick() noexcept;
    bool must_be_preempted() noexcept;
    /// Sets the flag that is checked wherever a critical region ends. Returns false if no context is running that could
    /// be preempted.
    bool raise_tick() noexcept;
    void leave(leave_reason why) noexcept;
    /// Ends the stepping of the running context before a switch, because no step of that context may follow the switch.
    /// On its way to the loop, a worker changes its thread-local variables, and a trap there would not find its worker.
    void end_traps() noexcept;
    /// Leaves a finished context. That context never resumes.
    [[noreturn]] void leave_finished(context& c) noexcept;
    static void set_current(worker* w, tx* t) noexcept;
    void wait_for_work(std::uint32_t seen) noexcept;
    /// Returns true if the worker has run its idle callback.
    bool run_idle_callback(std::uint32_t seen) noexcept;
    void on_tick(std::uintptr_t instruction) noexcept;
    void on_redirection() noexcept;
    void report(context_event what, const context& whom) const noexcept;
    static void run_context(void* of) noexcept;

    // The following functions handle contexts whose stack has overflowed, or that are doomed (context_termination.cpp).
    bool handles_overflow(const siginfo_t& fault, ucontext_t& where) noexcept;
    /// Returns true if the next instruction of this thread is a step of the running context.
    [[nodiscard]] bool is_stepping() const noexcept;
    bool handles_trap(ucontext_t& where) noexcept;
    void step_doomed(context& c, ucontext_t& where) noexcept;
    /// Terminates the running context if it is doomed. Returns true if the context was terminated. If it cannot be
    /// terminated yet, the worker tries again soon.
    bool terminates_doomed(ucontext_t& where) noexcept;
    [[nodiscard]] bool may_terminate(const context& c, const ucontext_t& where) const noexcept;
    [[nodiscard]] bool may_terminate_doomed(const context& c, const ucontext_t& where) const noexcept;
    /// Makes the interrupted code continue with single steps, if the running context is stepping. Call this at the end
    /// of a tick's handler. Stepping that a stack overflow in the handler itself has started would otherwise end when
    /// the handler returns.
    void keep_stepping(ucontext_t& where) const noexcept;
    static bool terminate(context& c, ucontext_t& where) noexcept;
    static void finish_termination(context* of) noexcept;

    scheduler& scheduler_;
    const unsigned number_;
    std::thread thread_;
    fiber loop_;
    std::uintptr_t own_block_ = 0;  // the worker's own block of thread-local storage, if contexts have their own
    tick_target target_;
    int normal_policy_ = 0;  // scheduling policy of the worker's thread

    // --- used only by the worker's own thread
    context* running_ = nullptr;
    // True if no instruction of this thread traps, because the thread is in the loop, or between a context and the
    // loop. The handlers of the same thread read this flag.
    std::atomic<bool> off_context_{true};
    departed_context departed_;  // the context that has just left the worker
    context* chosen_ = nullptr;  // the context that replaces `running_`
    core::clock_view clock_;     // the thread's view of the version clock, between two contexts
    base::deadline next_wakeup_ = base::deadline::max();
    std::atomic<std::uint64_t> ticks_by_signal_{0}, ticks_by_kernel_{0}, ticks_deferred_{0};

    std::atomic<std::uint32_t> wakeup_word_{0};
    std::atomic<bool> asleep_{false};
    std::atomic<bool> in_idle_callback_{false};  // in idle_callback::run_idle
};

}  // namespace tutti::preempt
