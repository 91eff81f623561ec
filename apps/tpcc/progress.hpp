// The progress of a long step, on standard error: a bar on a terminal, otherwise a line for every quarter.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace tpcc {

/// Thread safety: not thread-safe.
class progress_bar {
public:
    /// @param what  the step, such as "loading 4 warehouses"
    explicit progress_bar(std::string what);
    void show(std::size_t done, std::size_t all);
    /// Ends the bar with the duration.
    void finish();

private:
    using steady = std::chrono::steady_clock;

    std::string what_;
    bool terminal_;
    steady::time_point begin_;
    steady::time_point drawn_{};
    std::size_t quarters_ = 0;
};

}  // namespace tpcc
