// A worker: a thread that runs contexts, one at a time, from a loop on its own stack.
//
// A context leaves the processor by switching to that loop with a word about why; the loop puts it where it belongs and
// enters the next one. So a worker that may resume a context finds it switched away completely.
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

/// A context that has left its worker, which has still to put it where it belongs.
struct left {
    context* who = nullptr;
    departure why = departure::none;
};

class worker {
public:
    worker(scheduler& of, unsigned number) noexcept : of_{of}, number_{number} {}
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    /// Returns when it can be ticked. Throws std::system_error, std::invalid_argument or std::bad_alloc where it
    /// cannot.
    void start();
    /// Of one that has been started, or was to be. It has been rung, with nothing left to do.
    void join() noexcept {
        if (thread_.joinable()) thread_.join();
    }

    /// That of the calling thread, or null.
    [[nodiscard]] static worker* current() noexcept;
    /// The context that runs; null in the loop.
    [[nodiscard]] context* running() const noexcept { return running_; }

    /// preemption_check: gives way if something of a higher level is ready. On the running context, where it may be
    /// switched away. Returns when the context goes on.
    void check() noexcept;
    /// Leaves the processor until the context is woken. REQUIRES: scheduler::enter_parked.
    void park() noexcept;
    /// The running context is to be looked at as soon as it may be switched away.
    void note_tick() noexcept;

    /// Where faults and traps come to first (overrun.hpp).
    static void handle_fault(int signal, siginfo_t* what, void* interrupted) noexcept;
    static void handle_step(int signal, siginfo_t* what, void* interrupted) noexcept;

    /// Wakes an idle worker. From any thread.
    void ring() noexcept;
    /// The same for one that is not asleep. From any thread.
    void nudge() noexcept { bell_.fetch_add(1, std::memory_order_seq_cst); }
    /// Ticks a busy one. From any other thread.
    void tick() noexcept { source().request(target_); }

    /// Whether its thread has a real-time priority from now on. From any thread.
    void go_first(bool first) noexcept;

    /// Has its thread look at what it runs at once: in the handler of ticks. From any thread.
    void interrupt_thread() noexcept { send_tick(target_); }

    [[nodiscard]] unsigned number() const noexcept { return number_; }
    /// Adds its own counts. From any thread.
    void add_to(counts& all) const noexcept;
    /// The handler of ticks.
    static void handle_signal(int number, siginfo_t* about, void* interrupted) noexcept;
    /// What kernel_entry.hpp calls.
    static void handle_redirection() noexcept;

    // --- for the scheduler, on the worker's own thread

    /// What it enters next is to be looked at at once.
    void hurry() noexcept { target_.urgent.store(true, std::memory_order_relaxed); }
    /// When the first of its parked contexts is to be woken; the end of the clock: never.
    [[nodiscard]] base::deadline nearest() const noexcept { return nearest_; }
    void wake_nobody() noexcept { nearest_ = base::deadline::max(); }
    void wake_by(base::deadline until) noexcept { nearest_ = std::min(nearest_, until); }

private:
    [[nodiscard]] const tick_source& source() const noexcept;
    void run(std::promise<void> starts) noexcept;
    /// Throws std::invalid_argument or std::system_error where it cannot. Its thread goes as it went.
    void try_to_go_first();
    context* choose() noexcept;
    void set_timer() noexcept;
    [[nodiscard]] bool is_wanted() const noexcept;
    void enter(context& c) noexcept;
    /// Whether it has the thread-local storage that it is to have. It gets a block if it has none.
    [[nodiscard]] bool has_thread_locals(context& c) const noexcept;
    /// In place of what the context would run.
    void turn_away(context& c) noexcept;
    /// Whether the running context wants to be undisturbed; then the tick is kept until it does no more.
    [[nodiscard]] bool keeps_tick() noexcept;
    bool must_give_way() noexcept;
    /// The flag that is looked at wherever a critical region ends. False: nothing runs that could give way.
    bool raise_tick() noexcept;
    void leave(departure why) noexcept;
    /// The caller leaves its context, and no step of that context may follow the switch: on the way to the loop a
    /// worker changes its thread-local variables, and a trap there would not find the worker that it is for.
    void end_traps() noexcept;
    /// The same, for good.
    [[noreturn]] void leave_finished(context& c) noexcept;
    static void run_as(worker* w, tx* t) noexcept;
    void rest(std::uint32_t seen) noexcept;
    /// Whether it did something else (pastime).
    bool pass_time(std::uint32_t seen) noexcept;
    void on_tick(std::uintptr_t instruction) noexcept;
    void on_redirection() noexcept;
    void tell(happening what, const context& whom) const noexcept;
    static void run_context(void* of) noexcept;

    // Of contexts that have run over their stack, or are doomed (cutting_off.cpp).
    bool survives(const siginfo_t& fault, ucontext_t& where) noexcept;
    /// Whether the next instruction of this thread is a step of the running context.
    [[nodiscard]] bool steps_here() const noexcept;
    bool steps_on(ucontext_t& where) noexcept;
    void step_doomed(context& c, ucontext_t& where) noexcept;
    /// Whether the running context is doomed, and has been cut off. If it is and has not, the worker looks again soon.
    bool ends_doomed(ucontext_t& where) noexcept;
    [[nodiscard]] bool may_cut_off(const context& c, const ucontext_t& where) const noexcept;
    [[nodiscard]] bool may_end_doomed(const context& c, const ucontext_t& where) const noexcept;
    /// At the end of a tick's handler: a fault in the handler itself has only the handler step.
    void keep_stepping(ucontext_t& where) const noexcept;
    static bool cut_off(context& c, ucontext_t& where) noexcept;
    static void end_cut_off(context* of) noexcept;

    scheduler& of_;
    const unsigned number_;
    std::thread thread_;
    fiber loop_;
    std::uintptr_t own_block_ = 0;  // of thread-local storage, if contexts have such blocks
    tick_target target_;
    int usual_policy_ = 0;  // of its thread, for the kernel

    // --- of its own thread
    context* running_ = nullptr;
    // No instruction of this thread traps: it is on its way between a context and the loop, or in the loop. The
    // handlers of the same thread read it.
    std::atomic<bool> off_context_{true};
    left left_;                  // the context that has just left it
    context* chosen_ = nullptr;  // for which it left
    core::clock_view clock_;     // as the context that has just left sees it
    base::deadline nearest_ = base::deadline::max();
    std::atomic<std::uint64_t> signals_{0}, redirections_{0}, postponed_{0};

    std::atomic<std::uint32_t> bell_{0};
    std::atomic<bool> asleep_{false};
    std::atomic<bool> elsewhere_{false};  // in pastime::spend
};

}  // namespace tutti::preempt
