// Slow disks and a jumping wall clock for any program, even for one that is linked statically or makes system calls
// itself, as Go programs do.
//
// The process and its children hand some of their system calls to a thread here (seccomp_unotify(2)). That thread lets
// them continue late, or answers in place of the kernel. Programs usually read a clock from a page of the kernel
// (vdso(7)). The interceptor removes the address of that page from the program's start data, so the program has to make
// a system call.
//
// Thread safety: any thread may call the setters; one thread at a time starts a process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tutti::cluster::testing {

class system_call_interceptor {
public:
    system_call_interceptor();
    /// REQUIRES: the intercepted processes have ended; their calls would fail from now on.
    ~system_call_interceptor();
    system_call_interceptor(const system_call_interceptor&) = delete;
    system_call_interceptor& operator=(const system_call_interceptor&) = delete;

    /// Delays fsync(2) and similar calls by `by` from now on, one after another.
    void delay_disk(std::chrono::milliseconds by) noexcept { disk_.store(by.count()); }
    /// Sets the wall clock's offset from the system's clock from now on.
    void set_clock(std::chrono::seconds off) noexcept { clock_.store(off.count()); }
    /// Return the number of delayed calls, and the number of clock calls that were answered.
    [[nodiscard]] std::uint64_t delayed() const noexcept { return delayed_.load(); }
    [[nodiscard]] std::uint64_t clock_calls() const noexcept { return clock_calls_.load(); }

    /// The handshake that puts a process under the interceptor. The child calls `submit` last before it executes its
    /// program, and then the parent calls `adopt`. `submit` is safe between fork and exec, and does not return if it
    /// fails.
    class handover {
    public:
        handover();
        ~handover();
        handover(const handover&) = delete;
        handover& operator=(const handover&) = delete;
        void submit() const noexcept;

    private:
        friend class system_call_interceptor;
        int parent_ = -1, child_ = -1;
    };
    /// Throws std::runtime_error if the system does not allow the interception.
    void adopt(handover& by, pid_t child);

private:
    void answer_all();
    void answer(int listener);

    std::atomic<std::int64_t> disk_{0}, clock_{0};
    std::atomic<std::uint64_t> delayed_{0}, clock_calls_{0};
    std::atomic<bool> over_{false};
    std::mutex guard_;
    std::vector<int> listeners_;  // one for each process and its children
    std::thread thread_;
};

}  // namespace tutti::cluster::testing
