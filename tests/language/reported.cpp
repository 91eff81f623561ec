// A program with a known report. Each block is alone on a line that report.sh finds by the word after "line:". The
// program counts its own actions, and the report must have the same counts.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <tutti/tutti.hpp>

#include "another_context.hpp"

extern "C" {
[[gnu::transaction_pure]] void _ITM_abortTransaction(int why);
}

namespace {

// clang-format off

long first = 0;
long second = 0;

void another() {
    __transaction_atomic { ++first; }  // line: another
}

void only_one() {
    for (int i = 0; i != 5; ++i) {
        __transaction_atomic { ++first; }  // line: only-one
    }
}

void plain() {
    for (int i = 0; i != 300; ++i) {
        __transaction_atomic { ++first; }  // line: plain
    }
}

void cancelled() {
    for (int i = 0; i != 10; ++i) {
        __transaction_atomic {  // line: cancelled
            ++first;
            if (i < 7) __transaction_cancel;
        }
    }
}

/// Called through a pointer, so that only the running program knows that it has no clone.
void without_clone() { ++second; }
void (*volatile some_function)() = without_clone;

void calls_without_clone() {
    void (*const function)() = some_function;
    for (int i = 0; i != 20; ++i) {
        __transaction_relaxed {  // line: no-clone
            ++first;
            function();  // line: call
        }
    }
}

void unsafe_now_and_then() {
    for (int i = 0; i != 40; ++i) {
        __transaction_relaxed {  // line: unsafe
            ++first;
            if (first % 4 == 0) std::perror(nullptr);  // line: perror
        }
    }
}

void* memory = nullptr;

/// The compiler switches before the allocation, because every path from there reaches the later call.
void allocates_before_unsafe() {
    for (int i = 0; i != 12; ++i) {
        __transaction_relaxed {  // line: allocates-first
            ++first;
            if (first % 4 == 0) {
                memory = std::malloc(16);
                std::free(memory);
                ::alarm(0);  // line: alarm
            }
        }
    }
}

/// The unsafe operation is an access, so the report blames no call, not even the allocation.
volatile long device = 0;
void allocates_before_volatile() {
    for (int i = 0; i != 12; ++i) {
        __transaction_relaxed {  // line: volatile
            ++first;
            if (first % 4 == 0) {
                memory = std::malloc(16);
                std::free(memory);
                device = 1;
            }
        }
    }
}

[[gnu::noinline]] void every_way_unsafe() {
    __transaction_relaxed {  // line: inside-library
        ++first;
        asm volatile("" ::: "memory");
    }
}

/// Runs right after a block that has become irrevocable itself. The blocks of this function do not belong to that
/// block.
void inside_library() {
    for (int i = 0; i != 3; ++i) tutti::atomically([](tutti::tx&) { every_way_unsafe(); });
}

[[gnu::noinline]] void every_way_unsafe_too() {
    __transaction_relaxed {  // line: again-inside-library
        ++first;
        asm volatile("" ::: "memory");
    }
}

/// The block wants to become irrevocable while another transaction is irrevocable. The other transaction ends when it
/// has restarted the library's block.
void again_inside_library() {
    std::atomic<bool> occupied{false};
    std::atomic<bool> restarted{false};
    std::thread other{[&] {
        tutti::atomically({.mode = tutti::mode::irrevocable}, [&](tutti::tx&) {
            occupied = true;
            occupied.notify_one();
            restarted.wait(false);
        });
    }};
    occupied.wait(false);
    tutti::atomically([&](tutti::tx& t) {
        t.on_abort([&] {
            restarted = true;
            restarted.notify_one();
        });
        every_way_unsafe_too();
    });
    other.join();
}

/// Returns true if the system reports that the thread sleeps. In this program, only a block that runs alone makes it
/// sleep.
bool sleeps(pid_t thread) {
    char name[64];
    std::snprintf(name, sizeof name, "/proc/self/task/%d/stat", thread);
    std::FILE* const file = std::fopen(name, "r");
    if (file == nullptr) return false;
    char line[256];
    const bool known = std::fgets(line, sizeof line, file) != nullptr;
    std::fclose(file);
    const char* const behind_name = known ? std::strrchr(line, ')') : nullptr;
    return behind_name != nullptr && behind_name[2] == 'S';
}

[[gnu::noinline, gnu::transaction_unsafe]] void keep_another_waiting(const std::atomic<pid_t>& other,
                                                                     std::atomic<bool>& go) {
    go = true;
    while (other == 0 || !sleeps(other)) std::this_thread::yield();
}

void alone_while_another_waits() {
    std::atomic<bool> go{false};
    std::atomic<pid_t> number{0};
    std::thread other{[&] {
        while (!go) std::this_thread::yield();
        number = ::gettid();
        __transaction_atomic { ++first; }  // line: stood-aside
    }};
    __transaction_relaxed {  // line: alone
        keep_another_waiting(number, go);
    }
    other.join();
}

int restarts_left = 0;
[[gnu::transaction_pure]] void restart_some_times() {
    if (restarts_left == 0) return;
    --restarts_left;
    _ITM_abortTransaction(4);
}

void restarted() {
    restarts_left = 6;
    __transaction_atomic {  // line: restarted
        ++first;
        restart_some_times();
    }
}

long shared_one = 0;
long shared_two = 0;

/// Lets the other thread begin, and returns once that thread has written. The other thread waits only after its commit.
[[gnu::transaction_pure]] void let_the_other_write(std::atomic<bool>& go) {
    if (go) return;
    go = true;
    go.notify_one();
    while (__atomic_load_n(&shared_two, __ATOMIC_ACQUIRE) == 0) std::this_thread::yield();
}

void overtaken() {
    std::atomic<bool> go{false};
    std::thread other{[&] {
        go.wait(false);
        __transaction_atomic { ++shared_one; ++shared_two; }  // line: overtaker
    }};
    long sum = 0;
    __transaction_atomic {  // line: overtaken
        sum = shared_one;
        let_the_other_write(go);
        sum += shared_two;
    }
    other.join();
    if (sum != 2) std::abort();
}

/// A child that ends by itself reports only its own actions.
void forks() {
    for (int i = 0; i != 2; ++i) {
        if (i == 1 && ::fork() != 0) {
            ::wait(nullptr);
            return;
        }
        __transaction_atomic { ++first; }  // line: forks
    }
}

// clang-format on

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], "nothing") == 0) return 0;
    if (argc > 1 && std::strcmp(argv[1], "forks") == 0) {
        forks();
        return 0;
    }
    if (argc > 3 && std::strcmp(argv[1], "moves") == 0) {
        plain();
        return std::rename(argv[2], argv[3]) == 0 ? 0 : 1;
    }
    if (argc > 1 && std::strcmp(argv[1], "stays") == 0) {
        alone_while_another_waits();
        std::puts("ready");
        std::fflush(stdout);
        for (;;) ::pause();
    }
    only_one();
    const another_context there{another};
    plain();
    cancelled();
    calls_without_clone();
    inside_library();
    again_inside_library();
    unsafe_now_and_then();
    allocates_before_unsafe();
    allocates_before_volatile();
    restarted();
    overtaken();
    alone_while_another_waits();
    return 0;
}
