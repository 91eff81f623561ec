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

#include "preempt/backlog.hpp"
#include "preempt/code_map.hpp"
#include "preempt/options.hpp"
#include "preempt/ready_queue.hpp"
#include "preempt/roster.hpp"
#include "preempt/short_guard.hpp"
#include "preempt/worker.hpp"

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
    /// Does the same for several works at once, without interrupting a worker for one of them that then gives way to
    /// the next. Returns the works that will not run, in the first elements of `several`. With options::sheds, they may
    /// include works that were submitted earlier. These have a lower level than the work that replaced them, and would
    /// have begun last. At most `most_calls` sleeping workers are woken for the rest. They and the workers that are
    /// awake find more work when they are done, and `rouse` wakes others. If a worker submits during its pastime, it is
    /// the first to be called.
    [[nodiscard]] TUTTI_EXPORT std::span<work> submit(std::span<work> several,
                                                            unsigned most_calls = most_workers) noexcept;
    /// Wakes workers for work that has not begun, as many as there are works. Without such work, an idle worker wakes
    /// up and runs its pastime.
    TUTTI_EXPORT void rouse() noexcept;
    /// Returns true if workers are spared for patient work.
    [[nodiscard]] bool spares() const noexcept { return spares_.load(std::memory_order_relaxed); }
    /// Interrupts the least urgent work for more urgent work that has waited since before the previous such call,
    /// because no running work was brief enough. Any thread may call it.
    TUTTI_EXPORT void tick_the_late() noexcept;
    /// Returns when all work accepted so far, and the work that it submitted, has run.
    void drain() noexcept;
    /// Interrupts the transaction of the work with that carrier and argument until that work ends, if it has begun
    /// (core/lifecycle/interrupt.hpp). Any thread may call it, except in a transaction.
    TUTTI_EXPORT void interrupt(void* const& carrier, const void* argument) noexcept;
    /// Does the same, but only if the transaction sleeps in retry.
    TUTTI_EXPORT void interrupt_sleeper(void* const& carrier, const void* argument) noexcept;
    /// Gives up the work with `argument` in the middle of its run, like work whose stack overflows (overrun.hpp). If
    /// that is not possible at its current position, its worker tries again while the work runs, as often as
    /// tick_timing says for library code. The work ends by work::cut_off, or as usual.
    TUTTI_EXPORT void end_where_it_stands(void* const& carrier, const void* argument) noexcept;
    /// Returns the number of the current turn of the work with `argument` on a worker; 0: it has none. The number is
    /// unique.
    [[nodiscard]] TUTTI_EXPORT std::uint64_t turn_of(void* const& carrier, const void* argument) noexcept;
    /// Ends the interruption of the work that the caller runs, whatever its reason was. REQUIRES: the caller is a
    /// context; no thread interrupts that work any more.
    TUTTI_EXPORT static void forget_interruption() noexcept;
    /// Interrupts work that sleeps in retry, from now on, when all other accepted work has ended or sleeps in the same
    /// way. Then no work is left to wake it. Calls work::strand first. Interrupts one work at a time, because it may
    /// wake others on its way out. A sleep with a limit ends by itself. Any thread may call it.
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

    struct turn {
        context* next = nullptr;
        bool over = false;  // there will be no more work
        // there is no context, but the worker's latest action may have made one ready
        bool again = false;
    };
    /// Returns the next turn of the worker, which `before` has left.
    [[nodiscard]] turn take_turn(worker& of, const left& before) noexcept;
    /// Does the same for a worker that knows its next context.
    void settle(worker& of, const left& before) noexcept;
    /// Returns a ready context of a higher level than the running one, which then gives way; or null.
    [[nodiscard]] context* next_above(worker& of, context& running) noexcept;
    /// Passes on a signal that came to a thread that is not a worker, to the handler that was installed before.
    static void pass_on(int number, siginfo_t* about, void* interrupted) noexcept;

private:
    /// The contexts that were admitted together: their number by level, and a bitmap of these levels.
    struct arrivals {
        std::array<unsigned, most_levels> at{};
        std::uint64_t levels = 0;
    };
    void deliver(const calls& whom) noexcept;
    [[nodiscard]] unsigned idler() const noexcept;

    // REQUIRES: the lock is held.
    /// Accepts `w`. Returns the work that will not run, if any: `w`, or the work that gave way to it. `now` counts
    /// admitted work.
    std::optional<work> accept(const work& w, arrivals& now) noexcept;
    /// Returns true if some work that has not begun gives way to that level.
    [[nodiscard]] bool gives_way_to(unsigned level) const noexcept;
    /// Removes and returns the work that gives way. REQUIRES: gives_way_to(level)
    work shed_for(unsigned level) noexcept;
    void take_in(const backlog::item& w, arrivals& now);  // throws like equip
    void equip(context& c);                               // throws std::bad_alloc, std::length_error
    context* context_for(unsigned level);                 // throws like equip; null: there is none
    context* free_context();                              // throws like equip; null: there is none
    void add_context();                                   // throws like equip
    void admit(context& c, const backlog::item& w) noexcept;
    void admit_unannounced(context& c) noexcept;  // for the next work that waits for a place
    void admit_another() noexcept;                // does the same if there is a place and work waits for one
    void withdraw(context& c) noexcept;           // removes a standing context
    void give_place_up(context& c) noexcept;
    void recycle(context& c) noexcept;
    /// Returns the context that `carrier` names, or null if it does not run the work with that argument. REQUIRES: the
    /// lock.
    static context* runner_of(void* carrier, const void* argument) noexcept;
    /// Returns a context to interrupt because nothing can wake it. The caller becomes its visitor, and calls end_wait.
    context* stranded() noexcept;
    void announce(calls& whom) noexcept;
    void call_for(const context& c, calls& whom) noexcept;
    void put_where_it_belongs(worker& of, const left& before, calls& whom) noexcept;
    void look(worker& of, calls& whom) noexcept;      // before `take`
    context* take(worker& of, calls& whom) noexcept;  // returns the next context to run, or null
    context& warmer(context& c) noexcept;
    void wake_the_late(worker& of, calls& whom) noexcept;  // of its parked contexts
    void wake(context& c, calls& whom) noexcept;
    void make_active(context& c, calls& whom) noexcept;
    void lend(context& to, const context& from, calls& whom) noexcept;
    void take_back_loan(context& c, calls& whom) noexcept;
    void enter_parked(context& c, core::descriptor* awaited, std::optional<base::deadline> until) noexcept;
    void forget_parked(context& c) noexcept;

    // Called without the lock.
    void end_wait(context& c) noexcept;
    void end_visit(context& c) noexcept;

    void prepare_thread_locals();  // throws std::system_error

    /// Connects and disconnects the runtime and its one scheduler (seam.cpp).
    void open_seam();
    void close_seam() noexcept;
    /// Ends the workers, then closes the seam. REQUIRES: no work is left.
    void end_workers() noexcept;
    void connect(context& c) const noexcept;

    // The functions that the runtime calls (core::preemption). `self` is always the descriptor of the calling context.
    static void serve_tick(core::descriptor& self) noexcept;
    static void wait(core::descriptor& self, core::descriptor& other, core::word state) noexcept;
    static void sleep(core::descriptor& self, const detail::shared<std::uint32_t>& woken,
                      std::optional<base::deadline> until) noexcept;
    static void rest(core::descriptor& self, const detail::shared<std::uint32_t>& woken, base::deadline until) noexcept;
    static void wake_sleeper(core::descriptor& sleeper) noexcept;
    static bool outranks(core::descriptor& self, core::descriptor& other) noexcept;
    static void let_go(core::descriptor& d) noexcept;
    void wake_those_who_await(core::descriptor& d) noexcept;
    static void hold(core::descriptor& self, bool begins) noexcept;
    static context* context_of(const core::descriptor& d) noexcept;

    const options how_;
    const tick_source& source_;
    const bool separates_thread_locals_;
    code_map application_;
    std::vector<std::unique_ptr<context>> contexts_;
    std::vector<std::unique_ptr<worker>> workers_;

    base::lock lock_;
    ready_queue ready_;
    roster roster_;
    std::atomic<bool> spares_{false};  // stored under the lock; without it, a hint
    std::uint64_t seen_late_ = 0;      // work accepted before the previous tick_the_late has a lower number
    context* pooled_ = nullptr;
    context* warm_ = nullptr;  // pooled and used, the most recently used first
    backlog backlog_;
    std::vector<context*> parked_;    // contexts that wait for a transaction or a time, or are about to
    std::uint64_t parked_count_ = 0;  // includes those that only wait to be woken
    std::uint64_t outstanding_ = 0;
    unsigned draining_ = 0;  // number of threads that wait until no work is left
    std::uint64_t places_taken_ = 0;
    std::uint64_t turns_ = 0;
    // True if work was admitted for a worker that is about to look, so that no worker was called. That worker may
    // continue another context. Then it calls another worker (announce).
    bool unannounced_ = false;
    std::uint64_t asleep_ = 0;  // contexts with a `sleeper`, including those that cannot be interrupted
    bool ending_waits_ = false;
    core::descriptor* stranded_ = nullptr;  // the sleeper that is interrupted for end_waits, until `end_wait` returns
    bool stopping_ = false;
    bool ended_ = false;
    counts counts_;
    // number of times that no work was left while a thread waited for that
    std::atomic<std::uint32_t> drained_{0};
};

}  // namespace tutti::preempt
