// Output of a process that is about to die, of a signal handler, or of a thread that handles signals.
//
// Async-signal-safe. glibc's poll and write are cancellation points, and wait forever in a thread whose cancellation
// has begun. So this file makes the system calls itself.
#pragma once

#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string_view>

namespace tutti::base {

constexpr std::chrono::milliseconds patience_with_output{1000};

/// Returns true if `descriptor` accepts output, now or within `patience_with_output`. Signals do not prolong the wait,
/// because a worker may be interrupted by many.
inline bool takes_output(int descriptor) noexcept {
    using clock = std::chrono::steady_clock;  // reads a clock of the system, which is async-signal-safe
    const auto until = clock::now() + patience_with_output;
    for (auto left = patience_with_output; left.count() >= 0;
         left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now())) {
        pollfd one{.fd = descriptor, .events = POLLOUT, .revents = 0};
        const auto milliseconds = static_cast<long>(left.count());
        timespec patience{.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1'000'000};
        const long ready = ::syscall(SYS_ppoll, &one, 1, &patience, nullptr, 0);
        if (ready > 0) return (one.revents & POLLOUT) != 0;
        if (ready == 0 || errno != EINTR) return false;
    }
    return false;
}

/// Writes `text` as long as `descriptor` accepts output, and gives up when it accepts none for `patience_with_output`.
/// A process that dies must not stay alive because its standard error is a full pipe. Another process that fills the
/// same pipe at the same instant can still make it wait. Returns false if a part was not written. Keeps errno.
inline bool write_with_patience(int descriptor, std::string_view text) noexcept {
    constexpr std::size_t most = 4096;  // a pipe that is ready takes this many bytes at once
    const int error = errno;
    while (!text.empty() && takes_output(descriptor)) {
        const long some = ::syscall(SYS_write, descriptor, text.data(), std::min(text.size(), most));
        if (some > 0) text.remove_prefix(static_cast<std::size_t>(some));
        else if (errno != EINTR && errno != EAGAIN) break;
    }
    errno = error;
    return text.empty();
}

/// Writes `text` to the standard error in the same way.
inline void say_last_words(std::string_view text) noexcept {
    static_cast<void>(write_with_patience(STDERR_FILENO, text));
}

}  // namespace tutti::base
