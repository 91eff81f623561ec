// The common part of `top` and `cluster top`, which observe repeatedly and show the changes between two observations.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>

namespace tutti::tools {

struct refresh_schedule {
    double interval = 1;  ///< between two observations
    int count = 0;        ///< number of observations; 0: endless
};

/// `observe()` returns an observation, and `table(before, now, interval)` returns the text for two observations. If the
/// output is a terminal, the terminal is cleared before each text.
template <class Look, class Table>
void refresh(const refresh_schedule& schedule, Look&& observe, Table&& table) {
    using clock = std::chrono::steady_clock;
    const bool terminal = ::isatty(STDOUT_FILENO) == 1;
    auto before = observe();
    auto last = clock::now();
    for (int i = 0; schedule.count == 0 || i < schedule.count; ++i) {
        std::this_thread::sleep_for(std::chrono::duration<double>{schedule.interval});
        auto now = observe();
        const auto at = clock::now();
        const std::string text = table(before, now, std::chrono::duration<double>(at - last).count());
        fmt::print("{}{}", terminal ? "\033[H\033[2J" : "", text);
        std::fflush(stdout);
        before = std::move(now);
        last = at;
    }
}

}  // namespace tutti::tools
