// The executor with preemption: a job of a higher priority interrupts a job of a lower priority. The interrupted job
// continues later where it was interrupted. Code of the shared objects that procedures were loaded from may be
// interrupted anywhere. Procedures of the program itself are preempted only where a transaction's critical regions end,
// because the server cannot know whether the program's other code may be interrupted.
#pragma once

#include "preempt/scheduler.hpp"
#include "server/calls/catalog.hpp"
#include "server/calls/executor.hpp"
#include "server/calls/idle_work.hpp"
#include "server/calls/timeline.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {

class preemptive_executor final : public executor {
public:
    /// The code of the shared objects that `procedures` come from may be preempted anywhere. No job is promoted beyond
    /// the highest priority of `procedures`.
    /// @throws std::invalid_argument  for invalid settings
    /// @throws std::logic_error  if the process already has such an executor
    preemptive_executor(unsigned workers, std::size_t capacity, const preemption_settings& how,
                        const catalog& procedures, timeline& recorder, idle_work* idle);

    [[nodiscard]] std::string_view name() const noexcept override { return "preemptive"; }
    std::span<job*> submit(std::span<job*> jobs, unsigned max_wakeups) noexcept override;
    void wake_worker() noexcept override { scheduler_.wake_worker(); }
    [[nodiscard]] bool has_skipped_workers() const noexcept override { return scheduler_.has_skipped_workers(); }
    void tick_overdue() noexcept override { scheduler_.tick_overdue(); }
    void interrupt(job& which) noexcept override { scheduler_.interrupt(which.executor_data, &which); }
    void interrupt_sleeper(job& which) noexcept override { scheduler_.interrupt_sleeper(which.executor_data, &which); }
    void terminate_in_place(job& which) noexcept override {
        scheduler_.terminate_in_place(which.executor_data, &which);
    }
    [[nodiscard]] std::uint64_t run_number_of(job& which) noexcept override {
        return scheduler_.run_number_of(which.executor_data, &which);
    }
    [[nodiscard]] const job* current() const noexcept override {
        return static_cast<const job*>(preempt::scheduler::argument_here());
    }
    void forget_interruption() noexcept override { preempt::scheduler::forget_interruption(); }
    void end_waits() noexcept override { scheduler_.end_waits(); }
    void drain() override { scheduler_.stop(); }
    [[nodiscard]] load current_load() const override;

private:
    const std::size_t capacity_;
    mutable preempt::scheduler scheduler_;
};

}  // namespace tutti::server
