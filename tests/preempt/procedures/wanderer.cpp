#include "preempt/procedures/wanderer.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace procedures {
namespace {

thread_local int mine = 0;
thread_local void* held = nullptr;

/// Out of line, so that the address is not remembered.
[[gnu::noinline]] int& mine_now() noexcept {
    asm volatile("");
    return mine;
}
[[gnu::noinline]] int& errno_now() noexcept {
    asm volatile("");
    return errno;
}

}  // namespace

void wander(void* of_wanderer) noexcept {
    auto& w = *static_cast<wanderer*>(of_wanderer);
    bool right = true;
    int* const my_errno = &errno;
    mine = w.seed;
    held = std::malloc(100);
    const void* const expected = held;
    try {
        throw w.seed;
    } catch (int) {
        while (!w.stop.load(std::memory_order_relaxed)) {
            errno = w.seed;
            for (int i = 0; i < 1000; ++i) asm volatile("");
            right = right && errno_now() == w.seed && *my_errno == w.seed && my_errno == &errno_now();
            right = right && mine_now() == w.seed && &mine_now() == &mine && held == expected;
            const auto thread = static_cast<int>(::syscall(SYS_gettid));
            const int before = w.thread.exchange(thread);
            if (before != 0 && before != thread) w.moves.fetch_add(1);
            w.turns.fetch_add(1, std::memory_order_relaxed);
        }
        try {
            throw;
        } catch (int same) {
            right = right && same == w.seed;
        }
    }
    std::free(held);
    w.right.store(right);
}

}  // namespace procedures
