#include "runner.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "api/configuration.hpp"
#include "core/lifecycle/registry.hpp"
#include "hardware/software_htm.hpp"
#include "pristine.hpp"
#include "tutti/policy.hpp"
#include "world.hpp"

/// The start of the program's image, defined by the linker.
extern "C" const char image_start __asm__("__executable_start");

namespace interleaving {
namespace {

const char* environment(const char* name) { return std::getenv(name); }

std::string replay_line(const schedule& decisions, std::string_view where) {
    return "replay: TUTTI_INTERLEAVE_REPLAY='" + to_string(decisions) + "' " + program_invocation_name +
           " --gtest_filter=" + std::string{where};
}

/// The current test's name, for the crash handler.
std::string_view where_now;

void last_words() {
    if (where_now.empty()) return;
    std::fprintf(stderr, "%s\n%s", replay_line(scheduler::decisions(), where_now).c_str(), here().log.trace().c_str());
    std::fflush(stderr);
    where_now = {};
}

void on_signal(int number) {
    std::signal(number, SIG_DFL);
    last_words();
    std::raise(number);
}

class crash_reporter {
public:
    explicit crash_reporter(std::string_view where) {
        where_now = where;
#if !defined(TUTTI_SANITIZED)  // the sanitizers print a better report
        std::signal(SIGSEGV, on_signal);
#endif
        std::signal(SIGABRT, on_signal);
    }
    ~crash_reporter() {
        where_now = {};
#if !defined(TUTTI_SANITIZED)
        std::signal(SIGSEGV, SIG_DFL);
#endif
        std::signal(SIGABRT, SIG_DFL);
    }
    crash_reporter(const crash_reporter&) = delete;
    crash_reporter& operator=(const crash_reporter&) = delete;
};

void print_switch(void*, int from, int to, const void* where) {
    std::fprintf(stderr, "%7u  %c -> %c  at %#tx\n", scheduler::point(), from < 0 ? '-' : 'A' + from, 'A' + to,
                 where != nullptr ? static_cast<const char*>(where) - &image_start : 0);
}

/// Runs one thread of the program, from its first transaction to its end.
void live(const program& what, int number) {
    try {
        actor self{number};
        what.threads[static_cast<std::size_t>(number)](self);
    } catch (const std::exception& e) {
        here().log.report_error(std::string{"an exception left the program: "} + e.what());
    }
    tutti::core::detach();
}

/// Reads every place at the end: the last transaction of every history.
void look_back(int number) {
    actor self{number};
    self.transact([](block& b) {
        for (const spot s : {x, y, z, p, q, r, w}) b.read(s);
        const object o = b.find();
        if (o != 0) b.read(o);
        here().remains = o;
    });
    tutti::core::detach();
}

/// Runs the executions of one program.
class laboratory {
public:
    laboratory(const program& what, clock_state clock, unsigned hardware_fails)
        : program_{what}, clock_{clock}, hardware_fails_{hardware_fails} {
        for (int i = 0; i < static_cast<int>(what.threads.size()); ++i) {
            threads_.emplace_back([this, i] { live(program_, i); });
        }
        end_.emplace_back([observer = static_cast<int>(what.threads.size())] { look_back(observer); });
    }

    trial run(strategy& how) {
        make_engine_pristine(clock_);
        tutti::hardware::software_htm::set_conditions({.one_in = hardware_fails_});
        next_world(journal_);
        trial t{scheduler_.run(threads_, how), std::nullopt};
        if (t.ran.end == ending::complete) {
            replay nothing_to_choose{{}};
            if (scheduler_.run(end_, nothing_to_choose).end == ending::complete) {
                t.failure = journal_.verdict();
            } else {
                t.failure = "after the program nothing can run any more: something is still held";
                t.ran.end = ending::deadlock;
            }
        } else {
            t.failure = describe(t.ran);
        }
        return t;
    }
    void show_switches() { scheduler_.observe(print_switch, nullptr); }
    [[nodiscard]] std::string trace() const { return journal_.trace(); }

private:
    static std::string describe(const execution& e) {
        std::string text = e.end == ending::deadlock ? "deadlock or lost wake-up: asleep forever"
                                                     : "no end after the maximum of steps of";
        for (int i = 0; i < scheduler::max_threads; ++i) {
            if ((e.unfinished & only(i)) != 0) text += std::string{" "} + static_cast<char>('A' + i);
        }
        return text;
    }

    const program& program_;
    clock_state clock_;
    unsigned hardware_fails_;
    scheduler scheduler_;
    journal journal_;
    std::vector<std::function<void()>> threads_;
    std::vector<std::function<void()>> end_;
};

bool wrecked = false;

}  // namespace

bool engine_is_wrecked() noexcept { return wrecked; }

limits affordable(std::uint64_t exhaustive, std::uint64_t random) {
    const char* const scale = environment("TUTTI_INTERLEAVE_SCALE");
    const char* const seed = environment("TUTTI_INTERLEAVE_SEED");
    double factor = scale != nullptr ? std::atof(scale) : 1;
#if defined(TUTTI_SANITIZED)
    factor /= 60;  // a sanitizer checks the memory accesses of an execution, and most executions access the same memory
#elif defined(TUTTI_CHECK)
    factor /= 4;
#endif
    limits l;
    l.exhaustive = static_cast<std::uint64_t>(static_cast<double>(exhaustive) * factor) + 1;
    l.random = static_cast<std::uint64_t>(static_cast<double>(random) * factor) + 1;
    l.seed = seed != nullptr ? std::strtoull(seed, nullptr, 0) : 1;
    return l;
}

result run_program(const program& what, const flavour& under, const limits& how_much, std::string_view where,
                   tutti::core::fault omitted_step) {
    const crash_reporter reporter{where};
    tutti::core::choose_algorithm_for_test(under.algorithm);
    tutti::use_policy(under.policy);
    tutti::core::injected_fault = omitted_step;
    laboratory lab{what, under.clock, under.hardware_fails};
    result found;
    if (const char* const only_this = environment("TUTTI_INTERLEAVE_REPLAY")) {
        if (environment("TUTTI_INTERLEAVE_POINTS") != nullptr) lab.show_switches();
        replay again{parse_schedule(only_this)};
        trial t = lab.run(again);
        std::fprintf(stderr, "%s", lab.trace().c_str());
        if (t.failure) found.explored.failed = std::move(t);
    } else {
        found.explored = explore(how_much, [&](strategy& how) { return lab.run(how); });
    }
    tutti::core::injected_fault = tutti::core::fault::none;
    if (found.explored.failed) {
        const trial& t = *found.explored.failed;
        wrecked = t.ran.end != ending::complete;
        found.failure = std::string{what.name} + " under " + std::string{under.name} + ": " + *t.failure + '\n' +
                        replay_line(t.ran.decisions, where) + '\n' + lab.trace();
    }
    return found;
}

std::string run_in_child(const program& what, const flavour& under, const limits& how_much,
                         tutti::core::fault omitted_step) {
    int ends[2];
    if (::pipe(ends) != 0) return "cannot make a pipe";
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        const std::string failure = run_program(what, under, how_much, "", omitted_step).failure;
        for (std::size_t sent = 0; sent < failure.size();) {
            const ssize_t n = ::write(ends[1], failure.data() + sent, failure.size() - sent);
            if (n <= 0) break;
            sent += static_cast<std::size_t>(n);
        }
        ::_exit(0);
    }
    ::close(ends[1]);
    std::string failure;
    char some[4096];
    for (ssize_t n; (n = ::read(ends[0], some, sizeof some)) > 0;) failure.append(some, static_cast<std::size_t>(n));
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) failure += "the child process crashed";
    return failure;
}

}  // namespace interleaving
