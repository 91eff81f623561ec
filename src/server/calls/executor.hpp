// The one seam between the server and what runs its procedures: a pool of threads, or contexts that are preempted.
//
// Life of a job, seen by its owner:
//
//   mine -> submit -> the executor's -> run() begins -> what run() does last gives it back -> mine
//     ^                    |
//     +--- turn_away() ----+  it found no room, or gave way, as some submit() said
//
// E1  A submitted job is run exactly once, or comes out of one submit(), which may be another's. A run may end in
//     cut_off(). Where the system gives an executor no thread that it needs for a run, turn_away() is called in its
//     place.
// E2  The executor touches a job no more once its run() has given it back, or a submit() has returned it.
// E3  Jobs begin in the order of their priority, then of their deadline (none is the latest), then of their submission.
// E4  Where as many stand as may, one that comes takes the place of the one that would begin last of all, if that has a
//     lower priority; else it finds no room itself. Within a priority none gives way: what is given up in favour of
//     another is what would have been refused, had the other come first.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>

#include "tutti/server/procedure.hpp"

namespace tutti::server {

using instant = std::chrono::steady_clock::time_point;
inline constexpr instant no_deadline = instant::max();

inline constexpr std::size_t priority_levels = highest_priority + 1;

class job {
public:
    job() = default;
    job(const job&) = delete;
    job& operator=(const job&) = delete;

    /// The work. The last thing that it does may be to have itself destroyed.
    virtual void run() noexcept = 0;
    /// In place of what is left of run(), in the middle of which it was given up, because its stack did not suffice:
    /// what run() was working on may be half done, and is not to be used again. Ends as run() does.
    virtual void cut_off() noexcept = 0;
    /// By whose submit() it came out of, or in place of run() by an executor that lacks a thread. Ends as run() does.
    /// On any thread, which may run another job; must not block.
    virtual void turn_away() noexcept = 0;

    /// By the executor, before it interrupts the job's transaction for this (executor::end_waits).
    void strand() noexcept { stranded_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] bool stranded() const noexcept { return stranded_.load(std::memory_order_relaxed); }
    /// By its owner, when its answer is no longer wanted.
    void abandon() noexcept { abandoned_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] const std::atomic<bool>& abandoned() const noexcept { return abandoned_; }

    int priority = 0;
    instant due = no_deadline;
    bool brief = false;          // with as many workers, one is expected to be free sooner than an interruption pays
    bool patient = false;        // waits for such work, if any runs; its submitter calls executor::tick_the_late
    void* carrier = nullptr;     // the executor's: what runs it, or ran it before
    unsigned interruptions = 0;  // the executor's: how often it gave way to what is more urgent
    const char* name = "";       // of what it runs, for tools that watch; stays as long as the executor

protected:
    ~job() = default;
    /// For another run.
    void reset_marks() noexcept {
        stranded_.store(false, std::memory_order_relaxed);
        abandoned_.store(false, std::memory_order_relaxed);
    }

private:
    friend class ranked_queue;
    std::atomic<bool> stranded_{false};
    std::atomic<bool> abandoned_{false};
    std::uint64_t order_ = 0;
    job* next_ = nullptr;
    job* previous_ = nullptr;
};

/// How busy an executor is; each number as it stands.
struct load {
    std::array<std::size_t, priority_levels> waiting{};  ///< accepted and not begun, by priority
    std::size_t running = 0;
    std::size_t capacity = 0;  ///< the bound of all that stand
    /// Since the start: what had been accepted and gave way to what is more urgent, by its priority.
    std::array<std::uint64_t, priority_levels> shed{};

    // Of an executor that preempts.
    std::size_t preempted = 0;  ///< begun, and ready to go on
    std::size_t parked = 0;     ///< begun, and waiting for another transaction or in `retry`
    std::uint64_t preemptions = 0, promotions = 0, parkings = 0;  ///< since the start
    std::uint64_t signals = 0, redirections = 0;  ///< ticks that came as a signal, and from the kernel module
    std::uint64_t postponed = 0;                  ///< of both, where none may switch
    std::uint64_t loans = 0;                      ///< of a waiter's priority

    /// Whether what comes now finds no room, unless less urgent jobs stand: those that wait in `retry` take some, too.
    [[nodiscard]] bool full() const noexcept {
        return std::accumulate(waiting.begin(), waiting.end(), parked) >= capacity;
    }
};

class executor {
public:
    executor() = default;
    executor(const executor&) = delete;
    executor& operator=(const executor&) = delete;
    virtual ~executor() = default;

    [[nodiscard]] virtual std::string_view name() const noexcept = 0;

    static constexpr unsigned all_it_takes = ~0U;
    /// Takes all of them in, but for those for which there is no room (E4). Returns the jobs that will not run, which
    /// the caller tells so by turn_away(): in the place of as many of `jobs`, some of these, and some that others
    /// submitted. At most `most_calls` workers that sleep are told of the rest; these, and those that are awake, run
    /// them one after the other, or until `rouse`. Any thread.
    [[nodiscard]] virtual std::span<job*> submit(std::span<job*> jobs, unsigned most_calls = all_it_takes) noexcept = 0;

    /// Tells workers of jobs that have not begun, as many as there are; where there are none, an idle worker comes for
    /// its idle_work. Any thread.
    virtual void rouse() noexcept = 0;

    /// Whether patient jobs may wait for the end of others.
    [[nodiscard]] virtual bool spares() const noexcept { return false; }
    /// Interrupts the least urgent job for what has waited since before the last such call. Any thread.
    virtual void tick_the_late() noexcept {}

    /// Has the transaction that `which` runs, if it runs, aborted at its next access, and thrown tutti::interrupted
    /// where it would have been run again. May have to be repeated: a transaction that begins just then is not
    /// affected. Any thread. REQUIRES: run() of `which` has not given it back,
    /// or its owner has not used it again since.
    virtual void interrupt(job& which) noexcept = 0;

    /// The same if that transaction sleeps in `retry`, else nothing. REQUIRES: as interrupt.
    virtual void interrupt_sleeper(job& which) noexcept = 0;

    /// Gives up `which` where it stands, as soon as it stands where that can be done: it ends by cut_off(). May never
    /// do anything. Any thread. REQUIRES: as interrupt.
    virtual void end_where_it_stands(job& which) noexcept = 0;

    /// The turn on a worker that `which` has just now, by a number that no other turn has; 0: it has none, because it
    /// has not begun, waits in `retry` or for a transaction, or has been interrupted by another job. Any thread.
    /// REQUIRES: as interrupt.
    [[nodiscard]] virtual std::uint64_t turn_of(job& which) noexcept = 0;

    /// What the calling thread runs, or null. From a signal handler, too.
    [[nodiscard]] virtual const job* current() const noexcept = 0;

    /// The job that the calling thread runs is interrupted no more: what its transactions do from here on is run again
    /// like any other. REQUIRES: no interrupt() of it is under way, nor comes any more.
    virtual void forget_interruption() noexcept = 0;

    /// From now on a transaction that sleeps in `retry` without a limit is interrupted when nothing else that was
    /// accepted can go on: no thread is left to wake it. Called once, by one thread.
    virtual void end_waits() noexcept = 0;

    /// Waits until every accepted job has ended; then refuses all. Called once, by one thread, after end_waits.
    virtual void drain() = 0;

    [[nodiscard]] virtual load current_load() const = 0;
};

}  // namespace tutti::server
