// External actors: a debugger that stops a ticking thread, and 32-bit callers.
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <csignal>

#include "kernel/device.hpp"
#include "support/effort.hpp"

namespace kernel_test {
namespace {

/// A program whose first thread ticks at every return to its code. It reports that, and runs until it receives a byte.
/// Its exit status is 0 if nothing was damaged.
[[noreturn]] void tick_until_stopped(int out, int in) {
    device d;
    tutti_tick_register how = tick_registration(TUTTI_MIN_PERIOD_NS);
    if (d.allow_grind() != 0 || d.call(TUTTI_TICK_REGISTER, &how) != 0) ::_exit(2);
    tutti_tick_entry& e = d.entry(how.number);
    handler_entry_of_thread = &e;
    write_once<__u64>(e.stack_end, ~__u64{0});
    write_once<__u32>(e.preemptable, 1);
    std::atomic<bool> stop{false};
    std::thread{[&] {
        while (!stop) write_once<__u32>(e.wanted, 1);
    }}.detach();
    std::thread{[&] {
        while (read_once(e.redirected) == 0) std::this_thread::yield();
        char byte = 0;
        stop = ::write(out, "x", 1) == 1 && ::read(in, &byte, 1) == 1;
    }}.detach();
    ::_exit(grind(&stop) == 0 && read_once(e.redirected) != 0 ? 0 : 1);
}

class traced_threads_test : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(::pipe(from_), 0);
        ASSERT_EQ(::pipe(to_), 0);
        child_ = ::fork();
        ASSERT_GE(child_, 0);
        if (child_ == 0) tick_until_stopped(from_[1], to_[0]);
        char byte = 0;
        ASSERT_EQ(::read(from_[0], &byte, 1), 1);
        ASSERT_EQ(::ptrace(PTRACE_SEIZE, child_, nullptr, nullptr), 0);
    }
    void TearDown() override {
        for (const int fd : {from_[0], from_[1], to_[0], to_[1]}) ::close(fd);
    }
    /// Stops the thread at an arbitrary point.
    void stop() const {
        ASSERT_EQ(::ptrace(PTRACE_INTERRUPT, child_, nullptr, nullptr), 0);
        await_stop();
    }
    void await_stop() const {
        int status = 0;
        ASSERT_EQ(::waitpid(child_, &status, __WALL), child_);
        ASSERT_TRUE(WIFSTOPPED(status)) << status;
    }
    [[nodiscard]] user_regs_struct registers() const {
        user_regs_struct all{};
        EXPECT_EQ(::ptrace(PTRACE_GETREGS, child_, nullptr, &all), 0);
        return all;
    }
    static bool is_in_grind(const user_regs_struct& r) {
        return r.rip >= reinterpret_cast<std::uintptr_t>(&grind) && r.rip < address(&grind_end);
    }
    /// Lets the program end by itself.
    [[nodiscard]] int end() const {
        EXPECT_EQ(::ptrace(PTRACE_DETACH, child_, nullptr, nullptr), 0);
        EXPECT_EQ(::write(to_[1], "x", 1), 1);
        int status = 0;
        EXPECT_EQ(::waitpid(child_, &status, 0), child_);
        return status;
    }

    int from_[2] = {-1, -1}, to_[2] = {-1, -1};
    pid_t child_ = 0;
};

// The debugger stops the thread in the middle of its code or of the handler, and restores the thread's state.
TEST_F(traced_threads_test, continue_unchanged) {
    for (int i = 0; i < 50; ++i) {
        ASSERT_NO_FATAL_FAILURE(stop());
        const user_regs_struct all = registers();
        ASSERT_EQ(::ptrace(PTRACE_SETREGS, child_, nullptr, &all), 0);
        ASSERT_EQ(::ptrace(PTRACE_CONT, child_, nullptr, nullptr), 0);
    }
    ASSERT_NO_FATAL_FAILURE(stop());
    EXPECT_EQ(end(), 0);
}

// Catches a module that redirects a thread during single-stepping: the debugger would end up in the handler.
TEST_F(traced_threads_test, are_not_redirected_while_stepped) {
    ASSERT_NO_FATAL_FAILURE(stop());
    // The first steps leave the handler if the thread was stopped there.
    user_regs_struct now = registers();
    for (std::size_t inside = 0; inside < tutti::support::rounds(200); inside += is_in_grind(now) ? 1 : 0) {
        const bool was_inside = is_in_grind(now);
        ASSERT_EQ(::ptrace(PTRACE_SINGLESTEP, child_, nullptr, nullptr), 0);
        ASSERT_NO_FATAL_FAILURE(await_stop());
        now = registers();
        ASSERT_TRUE(!was_inside || is_in_grind(now)) << "it went from the code to " << std::hex << now.rip;
    }
    // If the thread was stopped before the handler's pushfq, that instruction has saved the trap flag, and popfq has
    // made the flag the thread's own. Without the debugger, the thread would die of SIGTRAP.
    constexpr unsigned long long trap_flag = 0x100;
    now.eflags &= ~trap_flag;
    ASSERT_EQ(::ptrace(PTRACE_SETREGS, child_, nullptr, &now), 0);
    EXPECT_EQ(end(), 0);
}

TEST_F(traced_threads_test, may_be_killed_while_stopped) {
    ASSERT_NO_FATAL_FAILURE(stop());
    ASSERT_EQ(::kill(child_, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child_, &status, __WALL), child_);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
}

/// Calls ioctl(2) through the 32-bit interface. Returns 0, or the error.
int call_of_32_bits(int fd, unsigned long what, const void* argument) {
    long result = 54;  // its number in that interface
    asm volatile("int $0x80"
                 : "+a"(result)
                 : "b"(static_cast<long>(fd)), "c"(what), "d"(argument)
                 : "memory", "r8", "r9", "r10", "r11");
    return result < 0 ? static_cast<int>(-result) : 0;
}

// Catches a module that accepts a call whose structs and registers have a layout that it does not know.
TEST(compat_calls, are_refused) {
    const device d;
    void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    const int known = call_of_32_bits(d.fd(), 0x5421 /* FIONBIO, which every file takes */, page);
    if (known == ENOSYS) GTEST_SKIP() << "this kernel has no 32-bit system calls";
    EXPECT_EQ(known, 0);
    auto& how = *new (page) tutti_tick_register(tick_registration());
    for (const unsigned long what : std::initializer_list<unsigned long>{
             TUTTI_VERSION, TUTTI_ALLOW, TUTTI_TICK_REGISTER, TUTTI_TICK_UNREGISTER, TUTTI_KICK, TUTTI_TX_REGISTER,
             TUTTI_TX_UNREGISTER, TUTTI_AWAIT, TUTTI_DEFER, TUTTI_RESUME, TUTTI_WAKE_WAITERS}) {
        EXPECT_EQ(call_of_32_bits(d.fd(), what, &how), ENOTTY) << what;
    }
    EXPECT_EQ(d.call(TUTTI_TICK_UNREGISTER), ESRCH) << "it is registered nevertheless";
    ::munmap(page, 4096);
}

}  // namespace
}  // namespace kernel_test
