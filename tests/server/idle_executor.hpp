// An executor that runs no jobs, for tests of its callers.
#pragma once

#include "server/calls/executor.hpp"

namespace tutti::server {

/// Refuses every job.
class idle_executor : public executor {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "idle"; }
    std::span<job*> submit(std::span<job*> jobs, unsigned) noexcept override { return jobs; }
    void interrupt(job&) noexcept override {}
    void interrupt_sleeper(job&) noexcept override {}
    void terminate_in_place(job&) noexcept override {}
    [[nodiscard]] std::uint64_t run_number_of(job&) noexcept override { return 0; }
    [[nodiscard]] const job* current() const noexcept override { return nullptr; }
    void forget_interruption() noexcept override {}
    void wake_worker() noexcept override {}
    void end_waits() noexcept override {}
    void drain() override {}
    [[nodiscard]] load current_load() const override { return {}; }
};

}  // namespace tutti::server
