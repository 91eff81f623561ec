// The kernel's own extension of a time slice (rseq, Linux 7), which policy `deadline` uses without the module and the
// scheduler. The policy requests it only near a deadline. The kernel grants it, and a yield returns it.
//
// glibc before 2.41 registers an area for which the kernel grants nothing. This program therefore registers its own
// area, and publishes its place instead of the C library. GLIBC_TUNABLES=glibc.pthread.rseq=0 keeps the C library from
// registering one.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "kernel/sharing.hpp"
#include "tutti/tutti.hpp"

extern "C" {
// Replace the C library's variables, for the library under test.
extern std::ptrdiff_t __rseq_offset;
extern unsigned __rseq_size;
std::ptrdiff_t __rseq_offset = 0;
unsigned __rseq_size = 33;
}

namespace {

using tutti::options;
using tutti::policy;

constexpr unsigned signature = 0x53053053;
alignas(64) thread_local unsigned char area[64];

void register_area() {
    __rseq_offset = static_cast<char*>(static_cast<void*>(area)) - static_cast<char*>(__builtin_thread_pointer());
    ASSERT_EQ(::syscall(SYS_rseq, area, sizeof area, 0, signature), 0) << std::strerror(errno);
}

/// Returns the kernel's counter `of`, which counts for all threads since the start of the kernel.
std::uint64_t kernel_count(const std::string& of) {
    std::ifstream stats{"/sys/kernel/debug/rseq/stats"};
    std::string name;
    for (std::uint64_t value = 0; stats >> name >> value;) {
        if (name == of + ":") return value;
    }
    ADD_FAILURE() << "the kernel does not count " << of;
    return 0;
}

/// Runs blocks, nearly all the time, beside a thread that never yields the processor.
void run_beside_another(const options& how) {
    std::atomic<bool> stop{false};
    std::thread other{[&] {
        kernel_test::pin_to(0);
        while (!stop) asm volatile("");
    }};
    std::thread{[&] {
        kernel_test::pin_to(0);
        register_area();
        tutti::var<long> x{0};
        while (kernel_test::turns_ended() < 200) {
            tutti::atomically(how, [&](tutti::tx& t) {
                x.set(t, x.get(t) + 1);
                for (int i = 0; i < 2000; ++i) asm volatile("");
            });
        }
    }}.join();
    stop = true;
    other.join();
}

class slice_extension_test : public testing::Test {
    void SetUp() override {
        if (std::getenv("TUTTI_TEST_SLICES") == nullptr) GTEST_SKIP() << "this machine's kernel may extend nothing";
    }
};

TEST_F(slice_extension_test, is_granted_near_a_deadline_and_returned) {
    const std::uint64_t granted = kernel_count("sgrant"), yielded = kernel_count("syield");
    run_beside_another({.policy = policy::deadline, .deadline = std::chrono::milliseconds{10}});
    EXPECT_GT(kernel_count("sgrant"), granted + 20);
    EXPECT_GT(kernel_count("syield"), yielded + 5);
}

TEST_F(slice_extension_test, is_not_requested_without_a_near_deadline) {
    const std::uint64_t granted = kernel_count("sgrant");
    run_beside_another({.policy = policy::deadline});
    run_beside_another({.policy = policy::deadline, .deadline = std::chrono::hours{1}});
    EXPECT_EQ(kernel_count("sgrant"), granted);
}

}  // namespace
