// Programs in child processes: a crash, std::terminate, a sanitizer's report or a hang becomes a failure.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <functional>

#include "generator.hpp"
#include "trial.hpp"

#include <tutti/algorithm.hpp>
#include <tutti/policy.hpp>

namespace crossings {
namespace {

/// The data that a child reports to its parent.
struct report {
    std::atomic<std::uint64_t> progress;  ///< the number of programs begun
    std::atomic<std::uint64_t> seed;
    char text[20'000];
};

constexpr int status_of_wrong_outcome = 3;

class shared_report {
public:
    shared_report()
        : at_{static_cast<report*>(
              mmap(nullptr, sizeof(report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))} {
        if (at_ == MAP_FAILED) std::abort();
    }
    shared_report(const shared_report&) = delete;
    shared_report& operator=(const shared_report&) = delete;
    ~shared_report() { munmap(at_, sizeof(report)); }
    report* operator->() const { return at_; }
    report& operator*() const { return *at_; }

private:
    report* at_;
};

void tell(report& r, const std::string& text) { std::snprintf(r.text, sizeof r.text, "%s", text.c_str()); }

/// The standard error of a child, which contains the reason for its end.
class memory_file {
public:
    memory_file() : at_{memfd_create("crossings", MFD_CLOEXEC)} {}
    memory_file(const memory_file&) = delete;
    memory_file& operator=(const memory_file&) = delete;
    ~memory_file() { close(at_); }
    [[nodiscard]] int number() const { return at_; }
    [[nodiscard]] std::string text() const {
        std::string out(4000, '\0');
        const ssize_t n = pread(at_, out.data(), out.size(), 0);
        out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
        return out;
    }

private:
    int at_;
};

/// Prepares the child: the parent has not used the library.
void begin_child(const engine& e, int errors) {
    dup2(errors, STDERR_FILENO);
    tutti::use_algorithm(e.algorithm);
    tutti::use_policy(e.policy);
}

std::string first_words(const std::string& text) {
    std::string out;
    for (const char c : text.substr(0, text.find('\n'))) {
        if (c == ':' || c == ';') break;
        if (std::isdigit(static_cast<unsigned char>(c)) == 0) out += c;
    }
    return out;
}

struct ending {
    std::string kind, what;
};

/// Returns how the child ended, or nothing if it succeeded.
std::optional<ending> ended(int status, const report& r, const std::string& errors, bool hung) {
    if (hung) return ending{"hang", "it makes no progress\n" + errors};
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::nullopt;
    if (WIFEXITED(status) && WEXITSTATUS(status) == status_of_wrong_outcome) return ending{first_words(r.text), r.text};
    if (WIFEXITED(status)) {
        // A sanitizer's report: records the kind of error, but not its place.
        const std::size_t at = errors.find("ERROR: ");
        std::string kind = "exit";
        if (at != std::string::npos) {
            const std::size_t from = errors.find(": ", at + 7);
            kind = "sanitizer: " + errors.substr(from + 2, errors.find(' ', from + 2) - from - 2);
        }
        return ending{kind, "it ended with status " + std::to_string(WEXITSTATUS(status)) + "\n" + errors};
    }
    const int signal = WTERMSIG(status);
    return ending{std::string{"signal "} + std::to_string(signal),
                  std::string{"it was ended by "} + strsignal(signal) + "\n" + errors};
}

/// Runs the shell command in TUTTI_CROSSINGS_AT_HANG, for example a debugger, with the child's number in PID.
void look_at_hang(pid_t child) {
    const char* const command = std::getenv("TUTTI_CROSSINGS_AT_HANG");
    if (command == nullptr) return;
    setenv("PID", std::to_string(child).c_str(), 1);
    std::fflush(nullptr);
    static_cast<void>(!std::system(command));
}

/// Waits for the child's end. Returns true if the child made no progress and had to be killed.
bool wait_for(pid_t child, const report& r, double seconds_to_hang, int& status) {
    using clock = std::chrono::steady_clock;
    const timespec a_moment{.tv_sec = 0, .tv_nsec = 200'000'000};
    sigset_t of_children;
    sigemptyset(&of_children);
    sigaddset(&of_children, SIGCHLD);
    auto last_change = clock::now();
    std::uint64_t last = r.progress.load();
    for (;;) {
        if (waitpid(child, &status, WNOHANG) == child) return false;
        sigtimedwait(&of_children, nullptr, &a_moment);
        if (const std::uint64_t now = r.progress.load(); now != last) {
            last = now;
            last_change = clock::now();
        } else if (clock::now() - last_change > std::chrono::duration<double>(seconds_to_hang)) {
            look_at_hang(child);
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return true;
        }
    }
}

std::optional<failure_of_child> in_a_child(const engine& e, double seconds_to_hang, shared_report& shared,
                                           const std::function<void(report&)>& work) {
    const memory_file errors;
    std::fflush(nullptr);
    sigset_t of_children;
    sigemptyset(&of_children);
    sigaddset(&of_children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &of_children, nullptr);
    const pid_t child = fork();
    if (child < 0) {
        std::perror("fork");
        std::exit(2);
    }
    if (child == 0) {
        sigprocmask(SIG_UNBLOCK, &of_children, nullptr);
        begin_child(e, errors.number());
        work(*shared);
        _exit(0);
    }
    int status = 0;
    const bool hung = wait_for(child, *shared, seconds_to_hang, status);
    const auto how = ended(status, *shared, errors.text(), hung);
    if (!how) return std::nullopt;
    return failure_of_child{shared->seed.load(), how->kind, how->what};
}

bool is_left_out(const program& p, const stretch& s) {
    if (s.known.empty() && s.wanted.empty()) return false;
    const std::set<std::string> has = ingredients(p);
    const auto has_all = [&](const std::set<std::string>& of) {
        return std::includes(has.begin(), has.end(), of.begin(), of.end());
    };
    return !has_all(s.wanted) || std::any_of(s.known.begin(), s.known.end(), has_all);
}

}  // namespace

std::optional<failure_of_child> try_seeds(const stretch& s, const engine& e, double seconds_to_hang, double seconds,
                                          std::uint64_t& done) {
    shared_report shared;
    const auto failed = in_a_child(e, seconds_to_hang, shared, [&](report& r) {
        const std::clock_t begun = std::clock();
        for (std::uint64_t seed = s.first; seed < s.last; ++seed) {
            if (static_cast<double>(std::clock() - begun) > seconds * CLOCKS_PER_SEC) return;
            const program p = generate(seed, s.many_threads);
            if (is_left_out(p, s)) continue;
            r.seed = seed;
            ++r.progress;
            if (const auto wrong = judge(p, e)) {
                tell(r, *wrong);
                _exit(status_of_wrong_outcome);
            }
        }
    });
    done = shared->progress.load() - (failed ? 1 : 0);
    return failed;
}

std::optional<failure_of_child> try_program(const program& p, const engine& e, double seconds_to_hang, int times) {
    shared_report shared;
    return in_a_child(e, seconds_to_hang, shared, [&](report& r) {
        for (int i = 0; i < times; ++i) {
            ++r.progress;
            if (const auto wrong = judge(p, e)) {
                tell(r, *wrong);
                _exit(status_of_wrong_outcome);
            }
        }
    });
}

}  // namespace crossings
