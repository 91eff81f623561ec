// A program of the library with known figures: observed <what>
//
//   counts    Runs two named blocks, one of which the other overtakes five times, and an unnamed one. Then ends.
//   forks     A child executes one block, and both end.
//   waits     One thread sleeps in retry forever, another loses to a third forever. Prints "ready", and never ends.
//   handles   As `waits`, but handles SIGTERM itself: prints "handled", and exits with 3.
//   orphan    A forked child prints its number; neither process ends.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>
#include <tutti/tutti.hpp>

namespace {

tutti::var<long> seen{0};
tutti::var<long> own{0};

void overtake() {
    tutti::atomically({.name = "overtaker"}, [](tutti::tx& t) { seen.set(t, seen.get(t) + 1); });
}

void be_overtaken(int times) {
    int runs = 0;
    tutti::atomically({.name = "overtaken"}, [&](tutti::tx& t) {
        (void)seen.get(t);
        if (times < 0 || ++runs <= times) std::jthread{overtake}.join();
        own.set(t, seen.get(t));
    });
}

[[noreturn]] void end_on(int) {
    static constexpr char text[] = "handled\n";
    [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, text, sizeof text - 1);
    ::_exit(3);
}

[[noreturn]] void wait_for_ever() {
    std::thread{[] {
        tutti::atomically({.name = "sleeper"}, [](tutti::tx& t) {
            if (seen.get(t) >= 0) tutti::retry(t);
        });
    }}.detach();
    std::puts("ready");
    std::fflush(stdout);
    for (;;) be_overtaken(50);
}

}  // namespace

int main(int argc, char** argv) {
    const char* const what = argc == 2 ? argv[1] : "";
    if (std::strcmp(what, "counts") == 0) {
        be_overtaken(5);
        for (int i = 0; i < 40; ++i) tutti::atomically([](tutti::tx& t) { own.set(t, own.get(t) + 1); });
        return 0;
    }
    if (std::strcmp(what, "forks") == 0) {
        const pid_t child = ::fork();
        overtake();
        if (child == 0) return 0;
        return ::waitpid(child, nullptr, 0) == child ? 0 : 1;
    }
    if (std::strcmp(what, "handles") == 0) std::signal(SIGTERM, end_on);
    if (std::strcmp(what, "orphan") == 0) {
        const pid_t child = ::fork();
        if (child != 0) {
            std::printf("%d\n", child);
            std::fflush(stdout);
        }
        for (;;) ::pause();
    }
    if (std::strcmp(what, "waits") == 0 || std::strcmp(what, "handles") == 0) wait_for_ever();
    std::fputs("observed counts|forks|waits|handles|orphan\n", stderr);
    return 2;
}
