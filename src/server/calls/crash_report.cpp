#include "server/calls/crash_report.hpp"

#include <execinfo.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstring>
#include <new>
#include <string>

#include "base/emergency_output.hpp"
#include "server/calls/timed_call.hpp"

namespace tutti::server {
namespace {

std::atomic<const executor*> watched{nullptr};
std::atomic<bool> is_reported{false};

/// A line of text. Building the line needs neither allocation nor locks, because a signal handler builds it.
class log_line {
public:
    log_line& operator<<(std::string_view text) noexcept {
        const std::size_t some = std::min(text.size(), text_.size() - used_);
        std::memcpy(text_.data() + used_, text.data(), some);
        used_ += some;
        return *this;
    }
    log_line& operator<<(std::size_t number) noexcept {
        char digits[24];
        return *this << std::string_view{digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
    }
    [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), used_}; }

private:
    std::array<char, 512> text_;
    std::size_t used_ = 0;
};

void describe(log_line& to, const timed_call& c) noexcept {
    std::size_t bytes = 0;
    for (const std::string_view a : c.arguments) bytes += a.size();
    to << " in procedure '" << c.name << "', priority " << static_cast<std::size_t>(c.priority) << ", "
       << c.arguments.size() << " arguments of " << bytes << " bytes";
}

/// Reports where a call runs. The caller may be a thread that serves all clients. So this function does not itself
/// write the line, but calls settings::log_callback.
void report_location(log_line& begun, const timed_call& c, const settings& how) noexcept {
    describe(begun, c);
    begun << "; to see where: gdb -p " << static_cast<std::size_t>(::getpid())
          << " -batch -ex 'thread apply all backtrace'";
    try {
        how.log_callback(severity::warning, std::string{begun.text()});
    } catch (const std::bad_alloc&) {
        base::write_emergency_message("tutti: out of memory while reporting a call that blocks its worker\n");
    }
}

/// Writes the stack of the calling thread. Writes it to a file in memory first, because the C library would block if
/// the reader of the standard error is slow.
void write_frames() noexcept {
    std::array<void*, 64> frames{};
    const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
    const int file = ::memfd_create("tutti-frames", MFD_CLOEXEC);
    if (file < 0) return;
    ::backtrace_symbols_fd(frames.data(), count, file);
    std::array<char, 512> some{};
    off_t at = 0;
    for (ssize_t size = 0; (size = ::pread(file, some.data(), some.size(), at)) > 0; at += size) {
        if (!base::write_with_timeout(STDERR_FILENO, {some.data(), static_cast<std::size_t>(size)})) break;
    }
    ::close(file);
}

std::size_t milliseconds_of(std::chrono::nanoseconds time) noexcept {
    return static_cast<std::size_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

void report(int signal) noexcept {
    // If several threads crash at the same time, only the first thread reports. The process ends in any case.
    if (!is_reported.exchange(true)) {
        const executor* const of = watched.load(std::memory_order_acquire);
        const job* const j = of == nullptr ? nullptr : of->current();
        log_line first;
        first << "tutti: signal " << static_cast<std::size_t>(signal) << " (" << ::sigdescr_np(signal) << ")";
        if (j == nullptr) first << " outside of procedures";
        else describe(first, static_cast<const timed_call&>(*j));  // servers submit only timed calls
        first << "; it came from:\n";
        if (base::write_with_timeout(STDERR_FILENO, first.text())) write_frames();
    }
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    ::sigaction(signal, &usual, nullptr);
    ::raise(signal);  // the signal takes effect when this handler returns
}

}  // namespace

void catch_crashes() noexcept {
    void* nothing = nullptr;
    ::backtrace(&nothing, 1);  // loads the library that backtrace needs, because a handler must not load it
    struct sigaction how{};
    how.sa_handler = report;
    how.sa_flags = SA_ONSTACK;
    sigemptyset(&how.sa_mask);
    for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS})
        ::sigaction(signal, &how, nullptr);
}

void report_unstoppable_call(const timed_call& c, std::chrono::nanoseconds limit, const settings& how) noexcept {
    log_line text;
    text << "a call past its time limit of " << milliseconds_of(limit)
         << " ms cannot be interrupted, and blocks its worker:";
    report_location(text, c, how);
}

void report_stuck_call(const timed_call& c, std::chrono::nanoseconds time, const settings& how) noexcept {
    log_line text;
    text << "a call has blocked its worker for " << milliseconds_of(time) << " ms:";
    report_location(text, c, how);
}

crash_scope::crash_scope(const executor& of) noexcept { watched.store(&of, std::memory_order_release); }
crash_scope::~crash_scope() { watched.store(nullptr, std::memory_order_release); }

}  // namespace tutti::server
