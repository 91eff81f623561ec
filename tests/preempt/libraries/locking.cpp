#include "preempt/libraries/locking.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

namespace libraries {

void stay(std::atomic<int>& inside, const std::atomic<int>& go, int n) noexcept {
    inside.store(n);
    while (go.load() < n) asm volatile("");
}

int stay_and_fork(std::atomic<int>& inside, const std::atomic<int>& go) noexcept {
    stay(inside, go, 1);
    const pid_t child = ::fork();
    if (child == 0) return -1;
    int status = -1;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return status;
}

double add(int a, int b, int c, int d, int e, int f, int g, double h, double i, double j, double k, double l, double m,
           double n, double o, double p) noexcept {
    return a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p;
}

void lock_once() noexcept {
    static constinit std::mutex lock;
    const std::lock_guard guard{lock};
}

}  // namespace libraries
