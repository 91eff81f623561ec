// Abstract locks, white-box: the system calls of a release.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>

#include "tutti/open_nesting.hpp"

namespace tutti::core {
namespace {

#if !defined(TUTTI_SANITIZED)  // the sanitizers' runtimes make system calls of their own

/// From here on, the kernel ends this process at any futex call.
bool forbid_futexes() {
    std::array<sock_filter, 4> program{{
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_futex},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    }};
    const sock_fprog filter{.len = program.size(), .filter = program.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Catches a release that makes a wake-up call although no thread sleeps.
TEST(abstract_locks_test, release_without_system_call_if_no_thread_sleeps) {
    EXPECT_EXIT(
        {
            bool forbidden = false;
            atomically([&](tx& t) {
                for (std::uint64_t key = 0; key < 5000; ++key) acquire(t, {&forbidden, key});
                forbidden = forbid_futexes();
            });
            _exit(forbidden ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
}

#endif

}  // namespace
}  // namespace tutti::core
