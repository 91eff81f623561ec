// Output of a process that is about to die, of a signal handler, or of a thread that answers signals.
//
// Async-signal-safe. glibc's poll and write are points at which a thread is cancelled, and wait for ever in one whose
// cancellation has begun. So the system's calls themselves are made.
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

/// Whether `descriptor` takes output, or does so within `patience_with_output`. Signals do not make it wait longer: a
/// worker is interrupted by many.
inline bool takes_output(int descriptor) noexcept {
    using clock = std::chrono::steady_clock;  // which reads a clock of the system, and that is async-signal-safe
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

/// Writes `text` as far as `descriptor` takes it, and gives up when that takes nothing for `patience_with_output`: a
/// process that dies must not stay alive because its standard error is a full pipe. Another process that fills the same
/// pipe at the same instant can still make it wait. False: something was not written. Keeps errno.
inline bool write_with_patience(int descriptor, std::string_view text) noexcept {
    constexpr std::size_t most = 4096;  // a pipe that is ready takes so many bytes at once
    const int error = errno;
    while (!text.empty() && takes_output(descriptor)) {
        const long some = ::syscall(SYS_write, descriptor, text.data(), std::min(text.size(), most));
        if (some > 0) text.remove_prefix(static_cast<std::size_t>(some));
        else if (errno != EINTR && errno != EAGAIN) break;
    }
    errno = error;
    return text.empty();
}

/// The same, to the standard error.
inline void say_last_words(std::string_view text) noexcept {
    static_cast<void>(write_with_patience(STDERR_FILENO, text));
}

}  // namespace tutti::base
