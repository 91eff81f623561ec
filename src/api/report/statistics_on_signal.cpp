// Prints statistics on request. A signal handler may only write to a pipe (signal-safety(7)). A thread of the library,
// with all signals blocked, reads the requests and serves them. This thread runs no transaction, so a process that is
// stuck in a livelock can print, too.
//
// `tutti stat` queues SIGQUIT with a number: the descriptor of a pipe's end in the `tutti stat` process. So the
// receiver knows the sending process, and where to write the answer. A SIGQUIT from a terminal carries no number, and
// its answer goes to standard error.
#include "api/report/statistics_on_signal.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>
#include <string>

#include "api/report/report.hpp"
#include "base/emergency_output.hpp"
#include "base/panic.hpp"
#include "tutti/statistics.hpp"

namespace tutti::api {
namespace {

/// A request. It passes through the pipe as a whole, because it is shorter than PIPE_BUF.
struct request {
    int signal;
    pid_t from;  ///< the process that queued the signal; 0: a terminal, or kill(2)
    int file;    ///< descriptor of process `from` for the answer
};

// The pipe between handler and thread. It is created before the handlers are installed.
int requests[2] = {-1, -1};
pid_t printing_process = 0;

void end_by_signal(int signal) noexcept {
    ::signal(signal, SIG_DFL);
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, signal);
    ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    ::raise(signal);
}

void record_request(int signal, siginfo_t* info, void*) noexcept {
    const int error = errno;
    // A forked child has no thread that could serve the request, so the signal ends the child.
    if (::getpid() != printing_process) {
        end_by_signal(signal);
        return;
    }
    const bool queued = info->si_code == SI_QUEUE && signal == SIGQUIT;
    const request r{signal, queued ? info->si_pid : 0, queued ? info->si_value.sival_int : -1};
    [[maybe_unused]] const ssize_t written = ::write(requests[1], &r, sizeof r);  // fails if too many requests wait
    errno = error;
}

/// Answers `tutti stat`. Sends no answer if the `tutti stat` process has ended, or if this process may not open files
/// of that process's user.
void answer(const request& r) {
    const std::string path = "/proc/" + std::to_string(r.from) + "/fd/" + std::to_string(r.file);
    const int to = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (to < 0) {
        return base::write_emergency_message("tutti: the report for process " + std::to_string(r.from) +
                                             " cannot be written: " + std::strerror(errno) + '\n');
    }
    struct stat what{};
    if (::fstat(to, &what) == 0 && S_ISFIFO(what.st_mode)) {
        // The write has a timeout, so a slow or stopped reader receives only a part of the report, and the next signal
        // can be served.
        static_cast<void>(base::write_with_timeout(to, report_text(true)));
    }
    ::close(to);
}

void* answer_requests(void*) {
    for (;;) {
        request r{};
        if (::read(requests[0], &r, sizeof r) != sizeof r) continue;
        try {
            if (r.from != 0) {
                answer(r);
                continue;
            }
            std::ostringstream text;
            text << "tutti: what atomic blocks have done so far\n";
            print_statistics(text);
            base::write_emergency_message(text.str());
            if (r.signal == SIGQUIT) continue;
            write_report();
        } catch (const std::exception& e) {
            base::write_emergency_message(std::string{"tutti: statistics cannot be printed: "} + e.what() + '\n');
        }
        if (r.signal != SIGQUIT) end_by_signal(r.signal);
    }
    return nullptr;
}

void start_thread() {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread{};
    const int failed = ::pthread_create(&thread, nullptr, answer_requests, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failed != 0) base::panic("TUTTI_STATISTICS=signal: cannot start a thread");
    ::pthread_setname_np(thread, "tutti-stat");
    ::pthread_detach(thread);
}

}  // namespace

void print_on_signals() {
    // A set-user-ID program has more rights than its user, so it must not open files for the user.
    if (::getauxval(AT_SECURE) != 0) return;
    if (::pipe2(requests, O_CLOEXEC) != 0) base::panic("TUTTI_STATISTICS=signal: cannot create a pipe");
    ::fcntl(requests[1], F_SETFL, O_NONBLOCK);
    printing_process = ::getpid();
    start_thread();
    struct sigaction action{};
    action.sa_sigaction = record_request;
    ::sigemptyset(&action.sa_mask);
    for (const int s : {SIGINT, SIGTERM, SIGQUIT}) {
        struct sigaction now{};
        ::sigaction(s, nullptr, &now);
        // A signal that the parent process has set to be ignored stays ignored, except SIGQUIT: shells set SIGQUIT to
        // be ignored for all background programs.
        const bool ignored = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN;
        const bool unset = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
        if (!unset && !(ignored && s == SIGQUIT)) continue;
        // SIGINT and SIGTERM are handled only once, so that a second Ctrl-C ends the process immediately if the
        // printing hangs.
        action.sa_flags = SA_SIGINFO | SA_RESTART | (s == SIGQUIT ? 0 : static_cast<int>(SA_RESETHAND));
        ::sigaction(s, &action, nullptr);
    }
}

}  // namespace tutti::api
