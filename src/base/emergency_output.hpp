// Output of a process that is about to die, of a signal handler, or of a thread that handles signals.
//
// The functions are async-signal-safe. glibc's poll and write are cancellation points, and wait forever in a thread
// whose cancellation has begun, so this file makes the system calls itself.
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

constexpr std::chrono::milliseconds output_timeout{1000};

/// Returns true if `descriptor` accepts output, now or within `output_timeout`. Signals do not prolong the wait,
/// because many signals may interrupt a worker.
inline bool accepts_output(int descriptor) noexcept {
    using clock = std::chrono::steady_clock;  // reads the system's clock by an async-signal-safe call
    const auto until = clock::now() + output_timeout;
    for (auto remaining = output_timeout; remaining.count() >= 0;
         remaining = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now())) {
        pollfd one{.fd = descriptor, .events = POLLOUT, .revents = 0};
        const auto milliseconds = static_cast<long>(remaining.count());
        timespec timeout{.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1'000'000};
        const long ready = ::syscall(SYS_ppoll, &one, 1, &timeout, nullptr, 0);
        if (ready > 0) return (one.revents & POLLOUT) != 0;
        if (ready == 0 || errno != EINTR) return false;
    }
    return false;
}

/// Writes `text` as long as `descriptor` accepts output, and gives up when `descriptor` accepts no output for
/// `output_timeout`. A process that dies must not stay alive because its standard error is a full pipe. The write can
/// still block if another process fills the same pipe at the same instant. Returns false if a part was not written.
/// Keeps errno.
inline bool write_with_timeout(int descriptor, std::string_view text) noexcept {
    constexpr std::size_t max_write = 4096;  // a pipe that is ready takes this many bytes in one write
    const int error = errno;
    while (!text.empty() && accepts_output(descriptor)) {
        const long some = ::syscall(SYS_write, descriptor, text.data(), std::min(text.size(), max_write));
        if (some > 0) text.remove_prefix(static_cast<std::size_t>(some));
        else if (errno != EINTR && errno != EAGAIN) break;
    }
    errno = error;
    return text.empty();
}

/// Writes `text` to the standard error in the same way.
inline void write_emergency_message(std::string_view text) noexcept {
    static_cast<void>(write_with_timeout(STDERR_FILENO, text));
}

}  // namespace tutti::base
