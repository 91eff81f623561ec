// What `top` and `cluster top` have in common: to look again and again, and show what has happened in between.
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
    double seconds = 1;  ///< between two looks
    int looks = 0;       ///< then it ends; 0: never
};

/// `look()` returns what is to be seen, and `table(before, now, seconds)` the text for two looks that far apart.
/// A terminal is cleared for each.
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
