// The common part of `top` and `cluster top`: they observe repeatedly and show the changes in between.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>

namespace tutti::tools {

struct pace {
    double seconds = 1;  ///< between two observations
    int looks = 0;       ///< number of observations; 0: endless
};

/// `look()` returns an observation, and `table(before, now, seconds)` the text for two observations. A terminal is
/// cleared before each text.
template <class Look, class Table>
void refresh(const pace& how, Look&& look, Table&& table) {
    using clock = std::chrono::steady_clock;
    const bool terminal = ::isatty(STDOUT_FILENO) == 1;
    auto before = look();
    auto last = clock::now();
    for (int i = 0; how.looks == 0 || i < how.looks; ++i) {
        std::this_thread::sleep_for(std::chrono::duration<double>{how.seconds});
        auto now = look();
        const auto at = clock::now();
        const std::string text = table(before, now, std::chrono::duration<double>(at - last).count());
        fmt::print("{}{}", terminal ? "\033[H\033[2J" : "", text);
        std::fflush(stdout);
        before = std::move(now);
        last = at;
    }
}

}  // namespace tutti::tools
