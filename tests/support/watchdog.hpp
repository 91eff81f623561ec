// Turns a hang into a report. If a test has made no progress within the limit, every thread prints its stack, and the
// program aborts.
//
// A test of many rounds reports each round with progress(). The limit then bounds one round, and not their sum: in an
// emulated guest on a busy machine, the sum takes longer than any fixed limit without a hang. For a test without such
// reports, the limit bounds the whole test.
//
// The limit does not affect a test's verdict. Without it, a lost wake-up or a deadlock would end in a timeout without a
// diagnosis.
#pragma once

#include <dirent.h>
#include <execinfo.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "support/effort.hpp"

namespace tutti::support {

/// Distinguishes a hanging test from a slow one by the number of rounds that the test has reported.
class stall_detector {
public:
    /// Returns true if `rounds` has not changed since the previous call, or since the start.
    bool is_stalled(std::uint64_t rounds) noexcept { return std::exchange(seen_, rounds) == rounds; }

private:
    std::uint64_t seen_ = 0;
};

class watchdog {
public:
    /// @param limit  for a release build and effort 1; sanitizer and checking builds get more
    explicit watchdog(std::string what, std::chrono::seconds limit = std::chrono::seconds{45})
        : what_{std::move(what)},
          limit_{limit * (slowdown > 1 ? 4 : 1) * static_cast<int>(std::max(1.0, effort()))},
          thread_{[this] { watch(); }} {}
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;
    ~watchdog() {
        {
            const std::lock_guard hold{guard_};
            done_ = true;
        }
        ended_.notify_all();
        thread_.join();
    }

    /// Reports the end of a round, and restarts the limit for the next round. Any thread may call it.
    void progress() const noexcept { rounds_.fetch_add(1, std::memory_order_relaxed); }

    /// Prints every thread of the process, with its name and stack, to standard error.
    static void dump_threads() {
        struct sigaction action = {};
        action.sa_handler = &print_stack;
        action.sa_flags = SA_RESTART;
        sigaction(SIGUSR2, &action, nullptr);
        DIR* tasks = opendir("/proc/self/task");
        if (tasks == nullptr) return;
        while (const dirent* entry = readdir(tasks)) {
            const long id = std::strtol(entry->d_name, nullptr, 10);
            if (id == 0) continue;
            answered().store(false);
            if (syscall(SYS_tgkill, getpid(), id, SIGUSR2) != 0) continue;
            for (int i = 0; i < 200 && !answered().load(); ++i) usleep(1000);
        }
        closedir(tasks);
    }

private:
    static std::atomic<bool>& answered() {
        static std::atomic<bool> flag{false};
        return flag;
    }
    static void print_stack(int) {
        void* frames[48];
        std::fprintf(stderr, "-- thread %ld\n", static_cast<long>(syscall(SYS_gettid)));
        backtrace_symbols_fd(frames, backtrace(frames, 48), STDERR_FILENO);
        answered().store(true);
    }

    void watch() {
        std::unique_lock hold{guard_};
        // The counter carries no data, so it needs no ordering. A round that ends during the wait is seen after the
        // wait.
        stall_detector detector;
        do {
            if (ended_.wait_for(hold, limit_, [this] { return done_; })) return;
        } while (!detector.is_stalled(rounds_.load(std::memory_order_relaxed)));
        std::fprintf(stderr, "watchdog: %s has made no progress for %lld s; where its threads are:\n", what_.c_str(),
                     static_cast<long long>(limit_.count()));
        dump_threads();
        std::abort();
    }

    std::string what_;
    std::chrono::seconds limit_;
    std::mutex guard_;
    std::condition_variable ended_;
    bool done_ = false;
    mutable std::atomic<std::uint64_t> rounds_{0};
    std::thread thread_;
};

}  // namespace tutti::support
