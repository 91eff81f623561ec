// The interface between the server and the component that runs its procedures: a thread pool, or preemptible contexts.
//
// The states of a job, as its owner sees them:
//
//   mine -> submit -> the executor's -> run() begins -> the end of run() returns it -> mine
//     ^                    |
//     +----- reject() -----+  a submit() has returned the job: there was no room, or a more urgent job replaced it
//
// EXE1  A submitted job either runs exactly once, or is returned by a submit(), possibly by the submit() of another
//       job. A run may end in on_termination(). If an executor needs a thread for a run and the system provides none,
//       the executor calls reject() instead of run().
// EXE2  The executor no longer touches a job once its run() has ended, or once a submit() has returned the job.
// EXE3  Jobs begin in the order of their priority, then of their deadline (no deadline is last), then of their
//       submission.
// EXE4  If the queue is full, a new job replaces the queued job that would begin last, if that job has a lower
//       priority. Otherwise the new job itself is refused. So a job never replaces another job of the same priority. A
//       removed job would also have been refused if the jobs that remain in the queue had been submitted earlier.
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

    /// Does the work of the job. The last step of run() may destroy the job.
    virtual void run() noexcept = 0;
    /// Runs instead of the rest of run(), if run() was abandoned because its stack overflowed. The objects that run()
    /// has used may be half changed, and must not be used again. As in run(), the last step may destroy the job.
    virtual void on_termination() noexcept = 0;
    /// Called by the thread whose submit() returned the job. An executor that lacks a thread calls this instead of
    /// run(). As in run(), the last step may destroy the job. Must not block, because any thread may call this, even
    /// one that runs another job.
    virtual void reject() noexcept = 0;

    /// Marks the job as interrupted by the shutdown. The executor calls this before it interrupts the job's transaction
    /// (executor::end_waits).
    void interrupt_at_shutdown() noexcept { is_interrupted_at_shutdown_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] bool is_interrupted_at_shutdown() const noexcept {
        return is_interrupted_at_shutdown_.load(std::memory_order_relaxed);
    }
    /// Marks the job as abandoned. The job's owner calls this when the job's answer is no longer needed.
    void abandon() noexcept { abandoned_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] const std::atomic<bool>& abandon_flag() const noexcept { return abandoned_; }

    int priority = 0;
    instant due = no_deadline;
    // if all workers run short jobs, a worker is expected to be free before an interruption pays off
    bool is_short = false;
    // the job waits for short jobs that run, if any; the job's submitter calls executor::tick_overdue
    bool waits_for_short = false;
    void* executor_data = nullptr;  // for the executor: the context that runs the job, or has run it
    unsigned interruptions = 0;     // for the executor: number of times that more urgent jobs have preempted the job
    const char* name = "";          // name of its procedure, for tools; lives as long as the executor

protected:
    ~job() = default;
    /// Resets the marks, so that the job can run again.
    void reset_marks() noexcept {
        is_interrupted_at_shutdown_.store(false, std::memory_order_relaxed);
        abandoned_.store(false, std::memory_order_relaxed);
    }

private:
    std::atomic<bool> is_interrupted_at_shutdown_{false};
    std::atomic<bool> abandoned_{false};
};

/// The load of an executor. Each number is the current value.
struct load {
    std::array<std::size_t, priority_levels> queued{};  ///< accepted jobs that have not begun, by priority
    std::size_t running = 0;
    std::size_t capacity = 0;  ///< maximum number of waiting and parked jobs
    /// Accepted jobs that were replaced by more urgent jobs since the start, by the priority of the replaced job.
    std::array<std::uint64_t, priority_levels> shed{};

    // Only an executor that preempts sets the following numbers:
    std::size_t preempted = 0;  ///< jobs that have begun, and are ready to continue
    std::size_t parked = 0;     ///< jobs that have begun, and wait for another transaction or in `retry`
    std::uint64_t preemptions = 0, priority_boosts = 0, parkings = 0;  ///< since the start
    std::uint64_t ticks_by_signal = 0,
                  ticks_by_kernel = 0;        ///< ticks delivered by signals, and by the kernel module
    std::uint64_t ticks_deferred = 0;         ///< ticks of both kinds, at a place where switching is not allowed
    std::uint64_t priority_inheritances = 0;  ///< times that a job inherited a waiter's priority

    /// Returns true if there is no room for a new job, unless it replaces a less urgent one. Jobs that wait in `retry`
    /// occupy room, too.
    [[nodiscard]] bool is_full() const noexcept {
        return std::accumulate(queued.begin(), queued.end(), parked) >= capacity;
    }
};

class executor {
public:
    executor() = default;
    executor(const executor&) = delete;
    executor& operator=(const executor&) = delete;
    virtual ~executor() = default;

    [[nodiscard]] virtual std::string_view name() const noexcept = 0;

    static constexpr unsigned no_limit = ~0U;
    /// Accepts as many jobs as there is room for (EXE4). Returns the jobs that will not run; the caller must call
    /// reject() for them. The result overwrites the first elements of `jobs`, and may contain jobs that other threads
    /// submitted. The executor wakes at most `max_wakeups` sleeping workers. These workers and those that are awake run
    /// the jobs one after the other, unless `wake_worker` wakes more. Any thread may call this.
    [[nodiscard]] virtual std::span<job*> submit(std::span<job*> jobs, unsigned max_wakeups = no_limit) noexcept = 0;

    /// Wakes as many workers as there are jobs that have not begun. If there is no such job, wakes an idle worker,
    /// which returns to its idle_work. Any thread may call this.
    virtual void wake_worker() noexcept = 0;

    /// Returns true if jobs with `waits_for_short` may be waiting for the end of other jobs.
    [[nodiscard]] virtual bool has_skipped_workers() const noexcept { return false; }
    /// Interrupts the least urgent job in favour of a job that has waited since before the previous call. Any thread
    /// may call this.
    virtual void tick_overdue() noexcept {}

    /// If the job `which` runs a transaction, aborts the transaction at its next access. Throws tutti::interrupted from
    /// the transaction instead of running it again. The caller may have to repeat the call, because a transaction that
    /// begins during the call is not affected. Any thread may call this. REQUIRES: run() of `which` has not returned
    /// the job, or its owner has not used the job again since.
    virtual void interrupt(job& which) noexcept = 0;

    /// Interrupts the transaction of `which` like `interrupt`, but only if the transaction sleeps in `retry`. REQUIRES:
    /// as for interrupt.
    virtual void interrupt_sleeper(job& which) noexcept = 0;

    /// Terminates `which` in the middle of its run, as soon as that is possible. The run then ends by on_termination().
    /// The call has no effect if termination never becomes possible. Any thread may call this. REQUIRES: as for
    /// interrupt.
    virtual void terminate_in_place(job& which) noexcept = 0;

    /// Returns the unique number of the current run of `which` on a worker. Returns 0 if the job has not begun, waits
    /// in `retry` or for a transaction, or was interrupted by another job. Any thread may call this. REQUIRES: as for
    /// interrupt.
    [[nodiscard]] virtual std::uint64_t run_number_of(job& which) noexcept = 0;

    /// Returns the job that the calling thread runs, or null. May be called from a signal handler.
    [[nodiscard]] virtual const job* current() const noexcept = 0;

    /// Ends the interruption of the job that the calling thread runs. From here on, the job's transactions run again
    /// after an abort, like all other transactions. REQUIRES: no interrupt() of the job is in progress, and none will
    /// follow.
    virtual void forget_interruption() noexcept = 0;

    /// From now on, interrupts transactions that sleep in `retry` without a limit, if no other accepted job can
    /// continue. In this situation, no thread is left to wake them. Called once, by one thread.
    virtual void end_waits() noexcept = 0;

    /// Waits until every accepted job has ended. Rejects all jobs after that. Called once, by one thread, after
    /// end_waits.
    virtual void drain() = 0;

    [[nodiscard]] virtual load current_load() const = 0;
};

}  // namespace tutti::server
