// The scheduler: what a server, or a program that embeds one, uses of this layer.
//
//   scheduler s{{.workers = 2}};
//   s.application().add_object_of(procedure);
//   if (!s.submit({procedure, &parameters, 3})) …   // refused: too much waits already
//   s.stop();
//
// One scheduler at a time in a process: ticks are signals, and the runtime has one seam for it.
//
// Everything below `lock_` is changed under it. It is never held while a procedure or an observer runs, and a worker
// that holds it is not in application code, so no tick finds it held on its own thread. It is taken inside locks of the
// runtime (an eviction, a bucket of sleepers), and none of those inside it but those of making a descriptor.
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
    /// Starts the workers. Throws std::invalid_argument for options that make no sense, std::logic_error if the process
    /// has a scheduler, std::bad_alloc, std::system_error.
    TUTTI_EXPORT explicit scheduler(const options& how);
    /// stop()
    TUTTI_EXPORT ~scheduler();
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    /// What may be preempted: nothing until something is added.
    [[nodiscard]] code_map& application() noexcept { return application_; }

    /// Hands in work, from any thread, procedures included. False if there is no room, nor memory, or the scheduler
    /// stops: then it will not run. REQUIRES: !options::sheds
    [[nodiscard]] bool submit(work w) noexcept { return submit({&w, 1}).empty(); }
    /// The same for several at once: no worker is interrupted for one of them that gives way to the next. Returns what
    /// will not run, in the place of as many of `several`: of these, and, with options::sheds, of what was handed in
    /// before; that is of a lower level than what took its place, and would have begun last of all. At most
    /// `most_calls` workers that sleep are told of the rest; these, and those that are awake, find more when they are
    /// done, and `rouse` tells others. A worker that hands in from its pastime is the first.
    [[nodiscard]] TUTTI_EXPORT std::span<work> submit(std::span<work> several,
                                                            unsigned most_calls = most_workers) noexcept;
    /// Tells workers of what has not begun, as many as there is of it; where that is nothing, an idle one comes and
    /// looks for its pastime.
    TUTTI_EXPORT void rouse() noexcept;
    /// Whether workers have been spared for what was patient.
    [[nodiscard]] bool spares() const noexcept { return spares_.load(std::memory_order_relaxed); }
    /// Interrupts the least urgent for what has waited since before the last such call, and is more urgent: no work was
    /// brief enough. From any thread.
    TUTTI_EXPORT void tick_the_late() noexcept;
    /// Returns when everything accepted so far, and what it handed in, has run.
    void drain() noexcept;
    /// Interrupts the transaction of the work that was handed in with that carrier and that argument, if it has begun
    /// (core/lifecycle/interrupt.hpp), until that work ends. From any thread but in a transaction.
    TUTTI_EXPORT void interrupt(void* const& carrier, const void* argument) noexcept;
    /// The same, but only if its transaction sleeps in retry.
    TUTTI_EXPORT void interrupt_sleeper(void* const& carrier, const void* argument) noexcept;
    /// Gives up what runs the work with `argument` where it stands, as one whose stack does not suffice (overrun.hpp).
    /// Where it stands now that may not be possible: then its worker looks again while it runs, as often as
    /// tick_timing says for library code. It ends by work::cut_off, or as ever.
    TUTTI_EXPORT void end_where_it_stands(void* const& carrier, const void* argument) noexcept;
    /// The turn on a worker that the work with `argument` has just now; 0: none. No other turn has that number.
    [[nodiscard]] TUTTI_EXPORT std::uint64_t turn_of(void* const& carrier, const void* argument) noexcept;
    /// The interruption of the work that the caller runs, whatever it was for. REQUIRES: the caller is a context;
    /// no thread interrupts that work any more.
    TUTTI_EXPORT static void forget_interruption() noexcept;
    /// From now on work that sleeps in retry is interrupted, after work::strand, when everything else that was accepted
    /// has ended or sleeps in the same way: nothing is left that could wake it. One at a time, because it may wake
    /// others on its way out. What sleeps with a limit ends by itself. From any thread.
    TUTTI_EXPORT void end_waits() noexcept;
    /// Accepts nothing from now on but what procedures hand in, ends waits, drains, and ends the workers. Idempotent;
    /// from one thread.
    TUTTI_EXPORT void stop() noexcept;

    [[nodiscard]] TUTTI_EXPORT counts statistics() noexcept;

    /// Whether the process has one.
    [[nodiscard]] TUTTI_EXPORT static bool exists() noexcept;

    /// work::argument of what the calling thread runs, or null. From a signal handler, too.
    [[nodiscard]] TUTTI_EXPORT static const void* argument_here() noexcept;
    /// The context that the caller runs on, or null.
    [[nodiscard]] static context* current() noexcept;

    // --- for its workers, each on its own thread

    [[nodiscard]] const options& how() const noexcept { return how_; }
    [[nodiscard]] const tick_source& ticks() const noexcept { return source_; }
    /// Returns true if each context has thread-local storage of its own.
    [[nodiscard]] bool separates_thread_locals() const noexcept { return separates_thread_locals_; }

    struct turn {
        context* next = nullptr;
        bool over = false;   // there will be nothing more
        bool again = false;  // there is nothing, but what the worker has just done may have made something ready
    };
    /// What the worker runs next, which `before` has left.
    [[nodiscard]] turn take_turn(worker& of, const left& before) noexcept;
    /// The same for one that knows what it runs next.
    void settle(worker& of, const left& before) noexcept;
    /// What is ready above the context that it runs, which then gives way; null: nothing.
    [[nodiscard]] context* next_above(worker& of, context& running) noexcept;
    /// A signal that came to a thread that is no worker goes to the handler that was there before.
    static void pass_on(int number, siginfo_t* about, void* interrupted) noexcept;

private:
    /// What was admitted at once, by level; those levels that have some.
    struct arrivals {
        std::array<unsigned, most_levels> at{};
        std::uint64_t levels = 0;
    };
    void deliver(const calls& whom) noexcept;
    [[nodiscard]] unsigned idler() const noexcept;

    // REQUIRES: the lock is held.
    /// What will not run, if that is anything: `w`, or what gave way to it. `now` counts what was admitted.
    std::optional<work> accept(const work& w, arrivals& now) noexcept;
    /// Whether what has not begun gives way to that level.
    [[nodiscard]] bool gives_way_to(unsigned level) const noexcept;
    /// The last of it. REQUIRES: gives_way_to(level)
    work shed_for(unsigned level) noexcept;
    void take_in(const backlog::item& w, arrivals& now);  // the same as equip
    void equip(context& c);                               // throws std::bad_alloc, std::length_error
    context* context_for(unsigned level);                 // the same; null: there is none
    context* free_context();                              // the same
    void add_context();                                   // the same
    void admit(context& c, const backlog::item& w) noexcept;
    void admit_unannounced(context& c) noexcept;  // the next that waits for a place
    void admit_another() noexcept;                // the same, if there is a place and something waits
    void withdraw(context& c) noexcept;           // what stands
    void give_place_up(context& c) noexcept;
    void recycle(context& c) noexcept;
    /// Null if what `carrier` notes does not run the work with that argument, or not any more. REQUIRES: the lock.
    static context* runner_of(void* carrier, const void* argument) noexcept;
    /// One that is to be interrupted now because nothing can wake it; its visitor is the caller, who calls end_wait.
    context* stranded() noexcept;
    void announce(calls& whom) noexcept;
    void call_for(const context& c, calls& whom) noexcept;
    void put_where_it_belongs(worker& of, const left& before, calls& whom) noexcept;
    void look(worker& of, calls& whom) noexcept;      // before `take`
    context* take(worker& of, calls& whom) noexcept;  // what it is to run next, if anything is
    context& warmer(context& c) noexcept;
    void wake_the_late(worker& of, calls& whom) noexcept;  // of its parked contexts
    void wake(context& c, calls& whom) noexcept;
    void make_active(context& c, calls& whom) noexcept;
    void lend(context& to, const context& from, calls& whom) noexcept;
    void take_back_loan(context& c, calls& whom) noexcept;
    void enter_parked(context& c, core::descriptor* awaited, std::optional<base::deadline> until) noexcept;
    void forget_parked(context& c) noexcept;

    // Without the lock.
    void end_wait(context& c) noexcept;
    void end_visit(context& c) noexcept;

    void prepare_thread_locals();  // throws std::system_error

    /// Between the runtime and its one scheduler, and back (seam.cpp).
    void open_seam();
    void close_seam() noexcept;
    /// REQUIRES: nothing is left to do. Closes the seam.
    void end_workers() noexcept;
    void connect(context& c) const noexcept;

    // What the runtime calls (core::preemption). `self` is always what the calling context runs.
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
    std::atomic<bool> spares_{false};  // stored under the lock; a hint without it
    std::uint64_t seen_late_ = 0;      // all that was accepted before the last tick_the_late has a lower number
    context* pooled_ = nullptr;
    context* warm_ = nullptr;  // pooled, and used: the one that was used last is the first
    backlog backlog_;
    std::vector<context*> parked_;    // contexts that wait for a transaction or a time, or are about to
    std::uint64_t parked_count_ = 0;  // with those that wait for nothing but to be woken
    std::uint64_t outstanding_ = 0;
    unsigned draining_ = 0;  // threads that wait until nothing is
    std::uint64_t places_taken_ = 0;
    std::uint64_t turns_ = 0;
    // Something was admitted for a worker that is about to look, so no worker was called. That worker may find
    // something else to go on with, and then tells another one (announce).
    bool unannounced_ = false;
    std::uint64_t asleep_ = 0;  // with a `sleeper`; those too that nothing can interrupt
    bool ending_waits_ = false;
    core::descriptor* stranded_ = nullptr;  // the sleeper that is interrupted for that, until the end of `end_wait`
    bool stopping_ = false;
    bool ended_ = false;
    counts counts_;
    std::atomic<std::uint32_t> drained_{0};  // how often nothing was left while a thread waited for that
};

}  // namespace tutti::preempt
