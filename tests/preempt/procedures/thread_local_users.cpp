#include "preempt/procedures/thread_local_users.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace procedures {
namespace {

constexpr std::size_t filled_with = 1000;

thread_local std::vector<int> scratch;

// Larger than the smallest stack of a thread: if this object is loaded at the program's start, each thread has this
// array in its stack.
thread_local char ample[std::size_t{512} * 1024];

/// Out of line, so that the compiler does not cache the address.
[[gnu::noinline]] std::vector<int>& scratch_now() noexcept {
    asm volatile("");
    return scratch;
}

}  // namespace

void use_scratch(void* of_scratch_user) noexcept {
    auto& u = *static_cast<scratch_user*>(of_scratch_user);
    scratch_now().assign(filled_with, 7);
    ample[sizeof ample - 1] = 7;
    errno = ENOTTY;
    u.filled.store(true);
    while (!u.go.load()) asm volatile("");
    const std::vector<int>& now = scratch_now();
    const bool same = now.size() == filled_with && std::ranges::all_of(now, [](int x) { return x == 7; });
    u.intact.store(same && errno == ENOTTY && ample[sizeof ample - 1] == 7);
    u.done.store(true);
}

void empty_scratch(void* of_atomic_int) noexcept {
    scratch_now().clear();
    ample[sizeof ample - 1] = 0;
    errno = ENOENT;
    static_cast<std::atomic<int>*>(of_atomic_int)->fetch_add(1);
}

void change_processors(void* of_processor_changer) noexcept {
    auto& t = *static_cast<processor_changer*>(of_processor_changer);
    cpu_set_t before;
    ::sched_getaffinity(0, sizeof before, &before);
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
        if (!CPU_ISSET(processor, &before)) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        if (::sched_setaffinity(0, sizeof one, &one) != 0) continue;
        t.visited.fetch_add(1);
        if (::sched_getcpu() != processor) t.wrong.fetch_add(1);
    }
    ::sched_setaffinity(0, sizeof before, &before);
}

}  // namespace procedures
