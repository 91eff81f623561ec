// This command sends the process a queued SIGQUIT. The signal carries the number of this command's end of a pipe, which
// the process opens through /proc (src/api/report/statistics_on_signal.cpp). SIGQUIT's default action would end a
// process without a handler, so this command first checks whether the process has a handler.
#include "stat.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "report.hpp"
#include "report_file.hpp"

namespace tutti::tools {
namespace {

constexpr int step_ms = 100;
constexpr int reply_timeout_ms = 10000;

std::string contents(const std::string& file) {
    std::ifstream from{file, std::ios::binary};
    std::ostringstream all;
    all << from.rdbuf();
    return all.str();
}

/// Returns true if the environment at the process's start requests that it listen for the signal.
bool was_asked_to_listen(int process) {
    const std::string all = contents(fmt::format("/proc/{}/environ", process));
    for (std::size_t at = 0; at < all.size();) {
        const std::string_view entry = all.c_str() + at;
        at += entry.size() + 1;
        if (!entry.starts_with("TUTTI_STATISTICS=")) continue;
        return (',' + std::string{entry.substr(entry.find('=') + 1)} + ',').find(",signal,") != std::string::npos;
    }
    return false;
}

/// Returns true if the process catches SIGQUIT.
bool listens(int process) {
    std::istringstream status{contents(fmt::format("/proc/{}/status", process))};
    for (std::string line; std::getline(status, line);) {
        if (!line.starts_with("SigCgt:")) continue;
        return (std::stoull(line.substr(line.find(':') + 1), nullptr, 16) >> (SIGQUIT - 1) & 1) != 0;
    }
    return false;
}

/// A pipe, both of whose ends this process owns.
struct channel {
    int ends[2] = {-1, -1};
    channel() {
        if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error{fmt::format("no pipe: {}", std::strerror(errno))};
    }
    channel(const channel&) = delete;
    channel& operator=(const channel&) = delete;
    ~channel() {
        for (const int end : ends) ::close(end);
    }
};

/// Reads the answer, which is one line. This process keeps its own writing end open, so the end of the answer is not
/// the end of the stream but the end of the line.
std::string read_line(int from, int process) {
    std::string text;
    for (int waited = 0; !text.ends_with('\n');) {
        pollfd ready{.fd = from, .events = POLLIN, .revents = 0};
        if (::poll(&ready, 1, step_ms) > 0) {
            char part[65536];
            const ssize_t length = ::read(from, part, sizeof part);
            if (length > 0) text.append(part, static_cast<std::size_t>(length));
            waited = 0;
            continue;
        }
        if (::kill(process, 0) != 0) throw std::runtime_error{fmt::format("process {} has ended", process)};
        if ((waited += step_ms) >= reply_timeout_ms)
            throw std::runtime_error{
                fmt::format("process {} has not answered for {} s: it is stopped, or gets no processor", process,
                            reply_timeout_ms / 1000)};
    }
    return text;
}

}  // namespace

void stat(const stat_options& options) {
    const int process = options.process;
    if (::kill(process, 0) != 0) throw std::runtime_error{fmt::format("process {}: {}", process, std::strerror(errno))};
    if (!was_asked_to_listen(process) || !listens(process))
        throw std::runtime_error{fmt::format(
            "process {} does not listen: start it with TUTTI_STATISTICS=signal; a core file or a process that already "
            "runs is shown by 'tutti transactions' of gdb",
            process)};
    const channel answer;
    sigval number{};
    number.sival_int = answer.ends[1];
    if (::sigqueue(process, SIGQUIT, number) != 0)
        throw std::runtime_error{fmt::format("process {}: {}", process, std::strerror(errno))};
    std::istringstream text{read_line(answer.ends[0], process)};
    show(parse_report(text, fmt::format("what process {} says", process)), options.html);
}

}  // namespace tutti::tools
