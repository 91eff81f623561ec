// The executor without preemption. Each worker is a thread that finishes its job before it takes the next job from the
// queue.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "server/calls/executor.hpp"
#include "server/calls/idle_work.hpp"
#include "server/calls/job_queue.hpp"
#include "server/calls/timeline.hpp"

namespace tutti::server {

class thread_pool final : public executor {
public:
    /// `capacity`: maximum number of queued jobs. REQUIRES: `workers` and `capacity` are at least 1. @throws
    /// std::system_error, std::bad_alloc
    thread_pool(unsigned workers, std::size_t capacity, timeline& recorder, idle_work* idle = nullptr);
    /// Calls drain() unless it was called before.
    ~thread_pool() override;

    [[nodiscard]] std::string_view name() const noexcept override { return "threads"; }
    std::span<job*> submit(std::span<job*> jobs, unsigned max_wakeups = no_limit) noexcept override;
    void wake_worker() noexcept override;
    void interrupt(job& which) noexcept override;
    void interrupt_sleeper(job& which) noexcept override;
    /// Does nothing, because a thread cannot be terminated.
    void terminate_in_place(job&) noexcept override {}
    [[nodiscard]] std::uint64_t run_number_of(job& which) noexcept override;
    [[nodiscard]] const job* current() const noexcept override;
    void forget_interruption() noexcept override;
    void end_waits() noexcept override;
    void drain() override;
    [[nodiscard]] load current_load() const override;

private:
    class worker;
    using lock_type = std::unique_lock<std::mutex>;
    void work(worker& self, unsigned number);
    void wait_for_work(lock_type& lock);
    void wake(lock_type& lock, std::size_t workers) noexcept;
    [[nodiscard]] bool all_are_interrupted() const noexcept;
    void interrupt_sleepers(lock_type& lock) noexcept;

    timeline& timeline_;
    idle_work* const idle_work_;
    mutable std::mutex mutex_;  // guards the members up to workers_
    std::condition_variable arrived_;
    std::condition_variable ended_;
    job_queue queue_;
    std::size_t idle_ = 0;          // workers that sleep because there is nothing to run
    std::size_t in_idle_work_ = 0;  // workers in idle_work_
    std::size_t running_ = 0;
    std::size_t asleep_ = 0;  // of running_, the jobs that sleep in `retry` without a time limit, and are not woken yet
    std::uint64_t begun_ = 0;
    bool ending_waits_ = false;
    bool draining_ = false;
    std::atomic<std::uint32_t> wakeup_word_{0};  // watched by the workers in idle_work_; changed under mutex_
    std::vector<std::unique_ptr<worker>> workers_;
    std::vector<std::jthread> threads_;
};

}  // namespace tutti::server
