// How far a long step is, on standard error: a bar on a terminal, else a line for every quarter.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace tpcc {

/// Thread safety: none.
class progress_bar {
public:
    /// @param what  what is being done, such as "loading 4 warehouses"
    explicit progress_bar(std::string what);
    void show(std::size_t done, std::size_t all);
    /// Ends the bar with how long it took.
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
