// The life of a program: parsing its command line, running, and its exit status.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <concepts>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

#include <fmt/format.h>

namespace cli {

/// `shutdown_timed_out`: a server was asked to end, and had not finished its work when --shutdown-timeout had passed.
enum exit_status : int { success = 0, failed = 1, bad_usage = 2, shutdown_timed_out = 3 };

/// Says in one line why the command line is invalid, and what to do instead.
class command_line_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Text to print instead of a run: --help or --version.
struct help_text {
    std::string text;
};

/// Opens /dev/null for each closed standard descriptor. The system gives a new file or socket the lowest free number.
/// Without this function, a socket could get the number of a closed standard descriptor, and would then receive the
/// program's output. If a library has opened such a descriptor before main, the descriptor is left alone.
inline void reserve_standard_descriptors() noexcept {
    int held = ::open("/dev/null", O_RDWR);
    while (held >= STDIN_FILENO && held <= STDERR_FILENO) held = ::dup(held);
    if (held >= 0) ::close(held);
}

/// Writes `text` to the standard error. Gives up if the reader takes nothing for some seconds: a program must end even
/// if its standard error is a full pipe.
inline void print_final_message(std::string_view text) noexcept {
    constexpr int timeout_ms = 5000;    // milliseconds
    constexpr std::size_t most = 4096;  // a ready pipe takes this many bytes at once
    while (!text.empty()) {
        pollfd one{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
        const int ready = ::poll(&one, 1, timeout_ms);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0 || (one.revents & POLLOUT) == 0) return;
        const ssize_t some = ::write(STDERR_FILENO, text.data(), std::min(text.size(), most));
        if (some > 0) text.remove_prefix(static_cast<std::size_t>(some));
        else if (errno != EINTR && errno != EAGAIN) return;
    }
}

/// The body of a program's `main`. `parse()` returns a variant: help_text, or a command that can be run. `run(wanted)`
/// runs the command and returns the exit status. `spare` tells the user what to reduce if memory runs out. If output
/// cannot be printed, the program fails, too.
template <class Parse, class Run>
int run_program(std::string_view name, std::string_view spare, Parse&& parse, Run&& run) {
    const auto end = [name](exit_status status, std::string_view why) {
        // If a library has the same name as the program, the library's messages already begin with that name.
        if (why.starts_with(name) && why.substr(name.size()).starts_with(": ")) why.remove_prefix(name.size() + 2);
        print_final_message(fmt::format("{}: {}\n", name, why));
        return static_cast<int>(status);
    };
    reserve_standard_descriptors();
    try {
        const int status = std::visit(
            [&run]<class Wanted>(const Wanted& wanted) -> int {
                if constexpr (std::same_as<Wanted, help_text>) {
                    fmt::print("{}", wanted.text);
                    return success;
                } else {
                    return run(wanted);
                }
            },
            parse());
        if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
            return end(failed, fmt::format("standard output cannot be written: {}", std::strerror(errno)));
        return status;
    } catch (const command_line_error& e) {
        return end(bad_usage, e.what());
    } catch (const std::bad_alloc&) {
        return end(failed, fmt::format("out of memory; {}", spare));
    } catch (const std::exception& e) {
        return end(failed, e.what());
    }
}

}  // namespace cli
