#include "preempt/procedures/migrating_call.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace procedures {
namespace {

thread_local int mine = 0;
thread_local void* held = nullptr;

/// Out of line, so that the compiler does not cache the address.
[[gnu::noinline]] int& mine_now() noexcept {
    asm volatile("");
    return mine;
}
[[gnu::noinline]] int& errno_now() noexcept {
    asm volatile("");
    return errno;
}

int number_of_thread() noexcept { return static_cast<int>(::syscall(SYS_gettid)); }

/// The alternate signal stacks of the two threads.
class signal_stacks {
public:
    /// Returns true if this thread's stack is the same as before, and not another thread's.
    bool right() noexcept {
        stack_t here{};
        int thread = 0;
        do {  // repeats until it stays on one thread
            thread = number_of_thread();
            ::sigaltstack(nullptr, &here);
        } while (number_of_thread() != thread);
        for (auto& [of, where] : known_) {
            if (of == 0) of = thread, where = here.ss_sp;
            if ((of == thread) != (where == here.ss_sp)) return false;
            if (of == thread) return true;
        }
        return false;
    }

private:
    struct entry {
        int thread = 0;
        const void* where = nullptr;
    };
    entry known_[2];
};

}  // namespace

void run_migrating(void* of_migrating_call) noexcept {
    auto& w = *static_cast<migrating_call*>(of_migrating_call);
    bool right = true;
    signal_stacks stacks;
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
            const int thread = number_of_thread();
            right = right && stacks.right();
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
