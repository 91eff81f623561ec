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
// holds the lock is not in application code, so no tick finds the lock held on its own thread. A thread that acquires
// the lock may already hold locks of the runtime (of an eviction, of a bucket of sleepers). While a thread holds the
// lock, it acquires only the locks for creating a descriptor.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "preempt/adaptive_lock_guard.hpp"
#include "preempt/code_map.hpp"
#include "preempt/context_pool.hpp"
#include "preempt/options.hpp"
#include "preempt/parked_contexts.hpp"
#include "preempt/priority_queue.hpp"
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

    /// Returns the code that may be preempted. The map is empty until the program adds code.
    [[nodiscard]] code_map& application() noexcept { return application_; }

    /// Submits work. Any thread may call this, and so may procedures. Returns false if the work will not run, because
    /// there is no room or no memory, or because the scheduler is stopping. REQUIRES: !options::sheds
    [[nodiscard]] bool submit(work w) noexcept { return submit({&w, 1}).empty(); }
    /// Submits several works in one step. In separate steps, a worker could be interrupted for one work, which the next
    /// work would then preempt. Returns the works that will not run, in the first elements of `several`. With
    /// options::sheds, the result may include works that were submitted earlier. Such a work has a lower level than the
    /// work that replaced it, and would have begun last. For the works that will run, at most `max_wakeups` sleeping
    /// workers are woken. Each awake worker takes more work when it has finished its current work. `wake_worker` wakes
    /// further workers. If a worker submits during its idle callback, that worker is the first to be woken.
    [[nodiscard]] TUTTI_EXPORT std::span<work> submit(std::span<work> several,
                                                            unsigned max_wakeups = max_workers) noexcept;
    /// Wakes as many workers as there are works that have not begun. If there is no such work, wakes an idle worker,
    /// which then runs its idle callback.
    TUTTI_EXPORT void wake_worker() noexcept;
    /// Returns true if patient work waits for workers that it did not interrupt.
    [[nodiscard]] bool has_skipped_workers() const noexcept {
        return has_skipped_workers_.load(std::memory_order_relaxed);
    }
    /// Interrupts the least urgent work if more urgent work has waited since before the previous call. Such a wait
    /// shows that no running work was short enough. Any thread may call this.
    TUTTI_EXPORT void tick_overdue() noexcept;
    /// Returns when all work accepted so far has run, including work that other work has submitted.
    void drain() noexcept;
    /// Interrupts the transaction of the work with `context_slot` and `argument` (core/lifecycle/interrupt.hpp). Does
    /// nothing if the work has not begun. The interruption lasts until the work ends. Any thread may call this, except
    /// in a transaction.
    TUTTI_EXPORT void interrupt(void* const& context_slot, const void* argument) noexcept;
    /// Works like `interrupt`, but only if the work's transaction sleeps in retry.
    TUTTI_EXPORT void interrupt_sleeper(void* const& context_slot, const void* argument) noexcept;
    /// Terminates the work with `argument` in the middle of its run, like work whose stack overflows
    /// (stack_overflow.hpp). If termination is not possible at the work's current position, its worker tries again
    /// while the work runs. The time between two tries is the same as between ticks that find library code
    /// (tick_timing). If a try succeeds, the work ends by work::on_termination. Otherwise the work ends normally.
    TUTTI_EXPORT void terminate_in_place(void* const& context_slot, const void* argument) noexcept;
    /// Returns the unique number of the current run of the work with `argument`. A run begins when a worker takes the
    /// work's context, and ends when the context leaves the worker. Returns 0 if the work is not running.
    [[nodiscard]] TUTTI_EXPORT std::uint64_t run_number_of(void* const& context_slot,
                                                                 const void* argument) noexcept;
    /// Ends the interruption of the caller's own work, whatever the reason of the interruption was. REQUIRES: the
    /// caller runs on a context, and no thread will interrupt that work any more.
    TUTTI_EXPORT static void forget_interruption() noexcept;
    /// From now on, interrupts work that sleeps in retry once all other accepted work has ended or sleeps in the same
    /// way. In this situation, no work is left to wake the sleeper. Calls work::on_stranded first. Interrupts one work
    /// at a time, because that work may wake other sleepers before it ends. A sleep with a limit ends by itself. Any
    /// thread may call this.
    TUTTI_EXPORT void end_waits() noexcept;
    /// Stops the scheduler: accepts only work that procedures submit, ends waits, drains, and ends the workers.
    /// Idempotent. Only one thread may call this.
    TUTTI_EXPORT void stop() noexcept;

    [[nodiscard]] TUTTI_EXPORT counts statistics() noexcept;

    /// Returns true if the process has a scheduler.
    [[nodiscard]] TUTTI_EXPORT static bool exists() noexcept;

    /// Returns work::argument of the work that the calling thread runs, or null. May be called from a signal handler.
    [[nodiscard]] TUTTI_EXPORT static const void* argument_here() noexcept;
    /// Returns the context on which the caller runs, or null.
    [[nodiscard]] static context* current() noexcept;

    // --- called by workers, each worker on its own thread

    [[nodiscard]] const options& how() const noexcept { return how_; }
    [[nodiscard]] const tick_source& ticks() const noexcept { return source_; }
    /// Returns true if each context has thread-local storage of its own.
    [[nodiscard]] bool separates_thread_locals() const noexcept { return separates_thread_locals_; }

    struct worker_step {
        context* next = nullptr;
        bool ended = false;  // there will be no more work
        // there is no context now, but the worker's latest action may have made one ready, so the worker calls
        // next_step again
        bool repeat = false;
    };
    /// Puts the context that has left the worker, `before`, into its list. Returns the worker's next step.
    [[nodiscard]] worker_step next_step(worker& of, const departed_context& before) noexcept;
    /// Puts the context `before` into its list, for a worker that already knows its next context.
    void requeue_departed(worker& of, const departed_context& before) noexcept;
    /// Returns a ready context that preempts the running one, because its level is higher. Returns null if there is no
    /// such context.
    [[nodiscard]] context* next_above(worker& of, context& running) noexcept;
    /// Handles a signal that arrives on a thread that is not a worker: calls the handler that was installed before.
    static void forward_signal(int number, siginfo_t* about, void* interrupted) noexcept;

private:
    struct accepted_work {
        work what;
        std::uint64_t arrived;  // in ticks of the base clock
    };
    /// The contexts that were admitted together. The struct contains the number of these contexts by level, and a
    /// bitmap of the levels.
    struct arrivals {
        std::array<unsigned, max_levels> at{};
        std::uint64_t levels = 0;
    };
    void deliver(const wakeups& to_wake) noexcept;
    [[nodiscard]] unsigned idle_caller() const noexcept;

    // The following functions require that the lock is held.

    /// Accepts `w`. Returns the work that will not run, if any: `w`, or the work that was shed to make room. Counts
    /// admitted work in `now`.
    std::optional<work> accept(const work& w, arrivals& now) noexcept;
    /// Returns true if some work that has not begun can be shed for work of `level`.
    [[nodiscard]] bool can_shed_for(unsigned level) const noexcept;
    /// Removes and returns the work to shed. REQUIRES: can_shed_for(level)
    work shed_for(unsigned level) noexcept;
    void admit_or_queue(const rank& at, const accepted_work& w, arrivals& now);  // throws like prepare
    void prepare(context& c);              // throws std::bad_alloc, std::length_error
    context* context_for(unsigned level);  // throws like prepare; null: none available
    context* free_context();               // throws like prepare; null: none available
    void add_context();                    // throws like prepare
    void admit(context& c, const rank& at, const accepted_work& w) noexcept;
    void admit_unannounced(context& c) noexcept;  // for the next work that waits for a place
    void admit_next() noexcept;                   // does the same, if work waits and a place is free
    void withdraw(context& c) noexcept;           // removes an unstarted context
    void recycle(context& c) noexcept;
    /// Returns the context to which `context_slot` refers. Returns null if the context does not run the work with
    /// `argument`. REQUIRES: the lock is held.
    static context* context_running(void* context_slot, const void* argument) noexcept;
    /// Returns a context to interrupt because nothing can wake it. The context is pinned until the caller calls
    /// interrupt_stranded.
    context* find_stranded() noexcept;
    void announce(wakeups& to_wake) noexcept;
    void wake_worker_for(const context& c, wakeups& to_wake) noexcept;
    void requeue(worker& of, const departed_context& before, wakeups& to_wake) noexcept;
    void poll_wakeups(worker& of, wakeups& to_wake) noexcept;   // before `take_next`
    context* take_next(worker& of, wakeups& to_wake) noexcept;  // returns the next context to run, or null
    context& more_recently_run(context& c) noexcept;
    void wake_overdue(worker& of, wakeups& to_wake) noexcept;  // wakes the worker's parked contexts that are due
    void wake(context& c, wakeups& to_wake) noexcept;
    void make_active(context& c, wakeups& to_wake) noexcept;
    void inherit_level(context& to, const context& from, wakeups& to_wake) noexcept;
    void end_inheritance(context& c, wakeups& to_wake) noexcept;
    void add_parked(context& c, core::descriptor* awaited, std::optional<base::deadline> until) noexcept;

    // Called without the lock.
    void interrupt_stranded(context& c) noexcept;
    void unpin(context& c) noexcept;

    void prepare_thread_locals();  // throws std::system_error

    /// Installs and removes the hooks of the runtime (runtime_hooks.cpp).
    void install_hooks();
    void remove_hooks() noexcept;
    /// Ends the workers, and then removes the runtime hooks. REQUIRES: no work is left.
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
    context_pool pool_;  // guarded by lock_; the contexts outlive the workers
    std::vector<std::unique_ptr<worker>> workers_;

    base::lock lock_;
    ready_queue ready_;
    worker_table worker_table_;
    std::atomic<bool> has_skipped_workers_{false};  // stored under the lock; read without the lock, only a hint
    std::uint64_t overdue_before_ = 0;              // work accepted before the latest tick_overdue has a lower number
    priority_queue<accepted_work, max_levels> admission_queue_;  // accepted while no context was free
    parked_contexts parked_;
    std::uint64_t outstanding_ = 0;
    unsigned draining_ = 0;  // number of threads that wait until no work is left
    std::uint64_t runs_ = 0;
    // True if work was admitted without waking a worker, because some worker is about to check the queue. If that
    // worker continues another context instead, it wakes another worker (announce).
    bool unannounced_ = false;
    bool ending_waits_ = false;
    core::descriptor* stranded_ =
        nullptr;  // the sleeper that is interrupted for end_waits, until `interrupt_stranded` returns
    bool stopping_ = false;
    bool ended_ = false;
    counts counts_;
    // number of times that all work was done while a thread waited for this in `drain`
    std::atomic<std::uint32_t> drained_{0};
};

}  // namespace tutti::preempt
