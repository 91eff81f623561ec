// The device as tests use it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "kernel/handler.hpp"

namespace kernel_test {

inline std::uint64_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }
inline std::uint64_t address(void (*f)() noexcept) { return reinterpret_cast<std::uintptr_t>(f); }

/// Maps a page of the device.
template <class Entry>
Entry* map_page(int fd, long offset) {
    void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    if (page == MAP_FAILED) std::abort();
    return static_cast<Entry*>(page);
}

/// An open device with its pages.
class device {
public:
    explicit device(int more_flags = O_CLOEXEC) : fd_{::open(TUTTI_DEVICE, O_RDWR | more_flags)} {
        if (fd_ < 0) {
            std::perror(TUTTI_DEVICE);
            std::abort();
        }
        entries_ = map_page<tutti_tick_entry>(fd_, TUTTI_TICKS_PAGE);
        transactions_ = map_page<tutti_transaction>(fd_, TUTTI_TRANSACTIONS_PAGE);
    }
    ~device() {
        ::munmap(entries_, 4096);
        ::munmap(transactions_, 4096);
        ::close(fd_);
    }
    device(const device&) = delete;
    device& operator=(const device&) = delete;

    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] tutti_tick_entry& entry(unsigned number) const { return entries_[number]; }
    [[nodiscard]] tutti_transaction& transaction(unsigned number) const { return transactions_[number]; }

    /// Returns 0, or the error.
    int call(unsigned long what, const void* argument = nullptr) const {
        return ::ioctl(fd_, what, argument) == 0 ? 0 : errno;
    }
    /// Makes a call with a number as its argument. Returns 0, or the error.
    int call_with(unsigned long what, unsigned long number) const {
        return ::ioctl(fd_, what, number) == 0 ? 0 : errno;
    }
    int kick(unsigned long number) const { return call_with(TUTTI_KICK, number); }
    int allow_grind() const {
        const tutti_range code{reinterpret_cast<std::uintptr_t>(&grind), address(&grind_end)};
        return call(TUTTI_ALLOW, &code);
    }

private:
    int fd_;
    tutti_tick_entry* entries_;
    tutti_transaction* transactions_;
};

inline tutti_tick_register tick_registration(std::uint64_t period_ns = 0) {
    tutti_tick_register how{};
    how.handler = address(&handler_entry);
    how.handler_end = address(&handler_end);
    how.period_ns = period_ns;
    how.pause_ns = 20'000;
    how.max_pause_ns = 200'000;
    return how;
}

template <class T>
T read_once(T& where) {
    return std::atomic_ref<T>{where}.load();
}
template <class T>
void write_once(T& where, T value) {
    std::atomic_ref<T>{where}.store(value);
}

/// Waits until a counter of the module grows. Each check may cause the tick to be served immediately.
inline void wait_for_more(__u64& count, __u64 before) {
    while (read_once(count) <= before) std::this_thread::yield();
}

/// A thread that has registered for ticks, and computes until `stop`, or until the end of the scope.
class ticking_thread {
public:
    explicit ticking_thread(device& of, const tutti_tick_register& how = tick_registration()) : of_{of}, how_{how} {
        thread_ = std::thread{[this] { run(); }};
        while (!ready_) std::this_thread::yield();
    }
    ~ticking_thread() { stop(); }
    ticking_thread(const ticking_thread&) = delete;
    ticking_thread& operator=(const ticking_thread&) = delete;

    void stop() {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
    }
    [[nodiscard]] unsigned number() const { return how_.number; }
    [[nodiscard]] tutti_tick_entry& entry() const { return of_.entry(how_.number); }
    int kick() const { return of_.kick(how_.number); }

    std::uint64_t damage = 0, handled = 0;  // valid once the thread has stopped
    std::atomic<std::uint8_t> pending{0};

private:
    void run() {
        EXPECT_EQ(of_.call(TUTTI_TICK_REGISTER, &how_), 0);
        tutti_tick_entry& e = entry();
        handler_entry_of_thread = &e;
        write_once<__u64>(e.stack_end, ~__u64{0});
        write_once<__u64>(e.pending_at, address(&pending));
        write_once<__u32>(e.preemptable, 1);
        ready_ = true;
        damage = grind(&stop_);
        write_once<__u32>(e.preemptable, 0);
        handled = ::handled;
        EXPECT_EQ(of_.call(TUTTI_TICK_UNREGISTER), 0);
    }

    device& of_;
    tutti_tick_register how_;
    std::atomic<bool> ready_{false}, stop_{false};
    std::thread thread_;
};

}  // namespace kernel_test
