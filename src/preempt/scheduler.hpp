// The scheduler: the interface of this layer for a server, or for a program that embeds one.
//
//   scheduler s{{.workers = 2}};
//   s.application().add_object_of(procedure);
//   if (!s.submit({procedure, &parameters, 3})) …   // refused: too much waits already
//   s.stop();
//
// A process has one scheduler at a time: ticks are signals, and the runtime has one set of hooks.
//
// The members below `lock_` change under that lock. No procedure or observer runs while the lock is held. A worker that
// holds it is not in application code, so no tick finds it held on its own thread. Threads take it inside locks of the
// runtime (an eviction, a bucket of sleepers). Inside it, they take only the locks for creating a descriptor.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "preempt/adaptive_lock_guard.hpp"
#include "preempt/admission_queue.hpp"
#include "preempt/code_map.hpp"
#include "preempt/options.hpp"
#include "preempt/ready_queue.hpp"
#include "preempt/worker.hpp"
#include "preempt/worker_table.hpp"

namespace tutti::preempt {

class scheduler {
public:
    /// Starts the workers. Throws std::invalid_argument for invalid options, std::logic_error if the process already
    /// has a scheduler, std::bad_alloc, std::system_error.
    TUTTI_EXPORT explicit scheduler(const options& how);
    /// Calls stop().
    TUTTI_EXPORT ~scheduler();
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    /// Returns the code that may be preempted, which is empty until you add something.
    [[nodiscard]] code_map& application() noexcept { return application_; }

    /// Submits work, from any thread and also from procedures. Returns false if there is no room or no memory, or the
    /// scheduler is stopping: then the work will not run. REQUIRES: !options::sheds
    [[nodiscard]] bool submit(work w) noexcept { return submit({&w, 1}).empty(); }
    /// Does the same for several works at once, without interrupting a worker for one of them that the next one then
    /// preempts. Returns the works that will not run, in the first elements of `several`. With options::sheds, they may
    /// include works that were submitted earlier. These have a lower level than the work that replaced them, and would
    /// have begun last. At most `max_wakeups` sleeping workers are woken for the rest. They and the workers that are
    /// awake find more work when they are done, and `wake_worker` wakes others. If a worker submits during its idle
    /// callback, it is the first to be woken.
    [[nodiscard]] TUTTI_EXPORT std::span<work> submit(std::span<work> several,
                                                            unsigned max_wakeups = max_workers) noexcept;
    /// Wakes workers for work that has not begun, as many as there are works. Without such work, an idle worker wakes
    /// up and runs its idle callback.
    TUTTI_EXPORT void wake_worker() noexcept;
    /// Returns true if workers are skipped for patient work.
    [[nodiscard]] bool has_skipped_workers() const noexcept {
        return has_skipped_workers_.load(std::memory_order_relaxed);
    }
    /// Interrupts the least urgent work for more urgent work that has waited since before the previous such call,
    /// because no running work was short enough. Any thread may call it.
    TUTTI_EXPORT void tick_overdue() noexcept;
    /// Returns when all work accepted so far, and the work that it submitted, has run.
    void drain() noexcept;
    /// Interrupts the transaction of the work with that context slot and argument until that work ends, if it has begun
    /// (core/lifecycle/interrupt.hpp). Any thread may call it, except in a transaction.
    TUTTI_EXPORT void interrupt(void* const& context_slot, const void* argument) noexcept;
    /// Does the same, but only if the transaction sleeps in retry.
    TUTTI_EXPORT void interrupt_sleeper(void* const& context_slot, const void* argument) noexcept;
    /// Terminates the work with `argument` in the middle of its run, like work whose stack overflows
    /// (stack_overflow.hpp). If that is not possible at its current position, its worker tries again while the work
    /// runs, as often as tick_timing says for library code. The work ends by work::on_termination, or as usual.
    TUTTI_EXPORT void terminate_in_place(void* const& context_slot, const void* argument) noexcept;
    /// Returns the number of the current run of the work with `argument` on a worker; 0: it does not run. The number is
    /// unique.
    [[nodiscard]] TUTTI_EXPORT std::uint64_t run_number_of(void* const& context_slot,
                                                                 const void* argument) noexcept;
    /// Ends the interruption of the work that the caller runs, whatever its reason was. REQUIRES: the caller is a
    /// context; no thread interrupts that work any more.
    TUTTI_EXPORT static void forget_interruption() noexcept;
    /// Interrupts work that sleeps in retry, from now on, when all other accepted work has ended or sleeps in the same
    /// way. Then no work is left to wake it. Calls work::on_stranded first. Interrupts one work at a time, because it
    /// may wake others on its way out. A sleep with a limit ends by itself. Any thread may call it.
    TUTTI_EXPORT void end_waits() noexcept;
    /// Stops: accepts only work that procedures submit, ends waits, drains, and ends the workers. Idempotent. One
    /// thread calls it.
    TUTTI_EXPORT void stop() noexcept;

    [[nodiscard]] TUTTI_EXPORT counts statistics() noexcept;

    /// Returns true if the process has a scheduler.
    [[nodiscard]] TUTTI_EXPORT static bool exists() noexcept;

    /// Returns work::argument of the work that the calling thread runs, or null. May be called from a signal handler.
    [[nodiscard]] TUTTI_EXPORT static const void* argument_here() noexcept;
    /// Returns the context that the caller runs on, or null.
    [[nodiscard]] static context* current() noexcept;

    // --- called by workers, each on its own thread

    [[nodiscard]] const options& how() const noexcept { return how_; }
    [[nodiscard]] const tick_source& ticks() const noexcept { return source_; }
    /// Returns true if each context has thread-local storage of its own.
    [[nodiscard]] bool separates_thread_locals() const noexcept { return separates_thread_locals_; }

    struct worker_step {
        context* next = nullptr;
        bool ended = false;  // there will be no more work
        // there is no context, but the worker's latest action may have made one ready
        bool repeat = false;
    };
    /// Returns the next step of the worker, which `before` has left.
    [[nodiscard]] worker_step next_step(worker& of, const departed_context& before) noexcept;
    /// Does the same for a worker that knows its next context.
    void requeue_departed(worker& of, const departed_context& before) noexcept;
    /// Returns a ready context of a higher level than the running one, which it preempts; or null.
    [[nodiscard]] context* next_above(worker& of, context& running) noexcept;
    /// Forwards a signal that came to a thread that is not a worker to the handler that was installed before.
    static void forward_signal(int number, siginfo_t* about, void* interrupted) noexcept;

private:
    /// The contexts that were admitted together: their number by level, and a bitmap of these levels.
    struct arrivals {
        std::array<unsigned, max_levels> at{};
        std::uint64_t levels = 0;
    };
    void deliver(const wakeups& to_wake) noexcept;
    [[nodiscard]] unsigned idle_caller() const noexcept;

    // REQUIRES: the lock is held.
    /// Accepts `w`. Returns the work that will not run, if any: `w`, or the work that was shed for it. `now` counts
    /// admitted work.
    std::optional<work> accept(const work& w, arrivals& now) noexcept;
    /// Returns true if some work that has not begun can be shed for that level.
    [[nodiscard]] bool can_shed_for(unsigned level) const noexcept;
    /// Removes and returns the work to shed. REQUIRES: can_shed_for(level)
    work shed_for(unsigned level) noexcept;
    void admit_or_queue(const admission_queue::item& w, arrivals& now);  // throws like prepare
    void prepare(context& c);                                            // throws std::bad_alloc, std::length_error
    context* context_for(unsigned level);                                // throws like prepare; null: there is none
    context* free_context();                                             // throws like prepare; null: there is none
    void add_context();                                                  // throws like prepare
    void admit(context& c, const admission_queue::item& w) noexcept;
    void admit_unannounced(context& c) noexcept;  // for the next work that waits for a place
    void admit_next() noexcept;                   // does the same if there is a place and work waits for one
    void withdraw(context& c) noexcept;           // removes an unstarted context
    void release_place(context& c) noexcept;
    void recycle(context& c) noexcept;
    /// Returns the context that `context_slot` names, or null if it does not run the work with that argument. REQUIRES:
    /// the lock.
    static context* context_running(void* context_slot, const void* argument) noexcept;
    /// Returns a context to interrupt because nothing can wake it. Pins the context for the caller, which calls
    /// interrupt_stranded.
    context* find_stranded() noexcept;
    void announce(wakeups& to_wake) noexcept;
    void wake_worker_for(const context& c, wakeups& to_wake) noexcept;
    void requeue(worker& of, const departed_context& before, wakeups& to_wake) noexcept;
    void poll_wakeups(worker& of, wakeups& to_wake) noexcept;   // before `take_next`
    context* take_next(worker& of, wakeups& to_wake) noexcept;  // returns the next context to run, or null
    context& more_recently_run(context& c) noexcept;
    void wake_overdue(worker& of, wakeups& to_wake) noexcept;  // of its parked contexts
    void wake(context& c, wakeups& to_wake) noexcept;
    void make_active(context& c, wakeups& to_wake) noexcept;
    void inherit_level(context& to, const context& from, wakeups& to_wake) noexcept;
    void end_inheritance(context& c, wakeups& to_wake) noexcept;
    void add_parked(context& c, core::descriptor* awaited, std::optional<base::deadline> until) noexcept;
    void remove_parked(context& c) noexcept;

    // Called without the lock.
    void interrupt_stranded(context& c) noexcept;
    void unpin(context& c) noexcept;

    void prepare_thread_locals();  // throws std::system_error

    /// Installs and removes the hooks of the runtime (runtime_hooks.cpp).
    void install_hooks();
    void remove_hooks() noexcept;
    /// Ends the workers, then removes the runtime hooks. REQUIRES: no work is left.
    void end_workers() noexcept;
    void attach_hooks(context& c) const noexcept;

    // The functions that the runtime calls (core::preemption). `self` is always the descriptor of the calling context.
    static void serve_tick(core::descriptor& self) noexcept;
    static void wait(core::descriptor& self, core::descriptor& other, core::word state) noexcept;
    static void sleep(core::descriptor& self, const detail::shared<std::uint32_t>& woken,
                      std::optional<base::deadline> until) noexcept;
    static void park_for_network(core::descriptor& self, const detail::shared<std::uint32_t>& woken,
                                 base::deadline until) noexcept;
    static void wake_sleeper(core::descriptor& sleeper) noexcept;
    static bool outranks(core::descriptor& self, core::descriptor& other) noexcept;
    static void on_transaction_end(core::descriptor& d) noexcept;
    void wake_waiters_of(core::descriptor& d) noexcept;
    static void set_no_preemption(core::descriptor& self, bool begins) noexcept;
    static context* context_of(const core::descriptor& d) noexcept;

    const options how_;
    const tick_source& source_;
    const bool separates_thread_locals_;
    code_map application_;
    std::vector<std::unique_ptr<context>> contexts_;
    std::vector<std::unique_ptr<worker>> workers_;

    base::lock lock_;
    ready_queue ready_;
    worker_table worker_table_;
    std::atomic<bool> has_skipped_workers_{false};  // stored under the lock; without it, a hint
    std::uint64_t overdue_before_ = 0;              // work accepted before the previous tick_overdue has a lower number
    context* pooled_ = nullptr;
    context* recently_run_ = nullptr;  // pooled and used, the most recently used first
    admission_queue admission_queue_;
    std::vector<context*> parked_;    // contexts that wait for a transaction or a time, or are about to
    std::uint64_t parked_count_ = 0;  // includes those that only wait to be woken
    std::uint64_t outstanding_ = 0;
    unsigned draining_ = 0;  // number of threads that wait until no work is left
    std::uint64_t places_taken_ = 0;
    std::uint64_t runs_ = 0;
    // True if work was admitted for a worker that is about to check the queue, so that no worker was woken. That worker
    // may continue another context. Then it wakes another worker (announce).
    bool unannounced_ = false;
    std::uint64_t sleeping_ = 0;  // contexts with a `sleeper`, including those that cannot be interrupted
    bool ending_waits_ = false;
    core::descriptor* stranded_ =
        nullptr;  // the sleeper that is interrupted for end_waits, until `interrupt_stranded` returns
    bool stopping_ = false;
    bool ended_ = false;
    counts counts_;
    // number of times that no work was left while a thread waited for that
    std::atomic<std::uint32_t> drained_{0};
};

}  // namespace tutti::preempt
