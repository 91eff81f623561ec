#include "tpcc/progress.hpp"

#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

namespace tpcc {
namespace {

constexpr std::size_t width = 40;
constexpr std::chrono::milliseconds redraw_interval{50};
// In a log, short steps get no line.
constexpr std::chrono::seconds quiet_time{2};

}  // namespace

progress_bar::progress_bar(std::string what)
    : what_{std::move(what)}, terminal_{isatty(STDERR_FILENO) == 1}, begin_{steady::now()} {}

void progress_bar::show(std::size_t done, std::size_t all) {
    const steady::time_point now = steady::now();
    if (!terminal_) {
        const std::size_t quarters = done * 4 / all;
        if (quarters > quarters_ && quarters < 4 && now - begin_ > quiet_time) {
            fmt::print(stderr, "{}: {} %\n", what_, quarters * 25);
            quarters_ = quarters;
        }
        return;
    }
    if (now - drawn_ < redraw_interval && done < all) return;
    drawn_ = now;
    fmt::print(stderr, "\r{} [{:-<{}}] {:3} %", what_, std::string(done * width / all, '#'), width, done * 100 / all);
    std::fflush(stderr);
}

void progress_bar::finish() {
    // Carriage return and "erase to the end of the line".
    const char* const over = terminal_ ? "\r\x1b[K" : "";
    const double seconds = std::chrono::duration<double>(steady::now() - begin_).count();
    fmt::print(stderr, "{}{}: done in {:.1f} s\n", over, what_, seconds);
}

}  // namespace tpcc
