// Threads that the sched_ext program serves, as winners and losers of conflicts.
#pragma once

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "device/scheduler.hpp"
#include "kernel/sharing.hpp"

namespace scheduler_test {

using namespace kernel_test;

template <class T>
T read_once(T& field) {
    return std::atomic_ref<T>{field}.load();
}
template <class T>
void write_once(T& field, std::type_identity_t<T> value) {
    std::atomic_ref<T>{field}.store(value);
}

/// Returns this process's connection; the child of a fork makes its own at its first use.
inline tutti::device::scheduler& ours() {
    static tutti::device::scheduler connection;
    static pid_t whose = 0;
    if (whose != ::getpid()) {
        std::string problem;
        whose = ::getpid();
        connection = tutti::device::scheduler::connect(problem);
        EXPECT_NE(connection.shared, nullptr) << problem;
        if (connection.shared == nullptr) ::_exit(1);
    }
    return connection;
}

/// Gives the calling thread a seat during its lifetime.
class seated {
public:
    seated() : number_{tutti::device::take_seat(*ours().shared)} {
        EXPECT_LT(number_, static_cast<std::uint32_t>(TUTTI_THREADS));
        entry() = {};
    }
    ~seated() {
        if (!gone_) write_once(seat().tid, 0);
    }
    seated(const seated&) = delete;
    seated& operator=(const seated&) = delete;

    [[nodiscard]] std::uint32_t number() const { return number_; }
    [[nodiscard]] std::uint32_t tid() const { return tid_; }
    [[nodiscard]] tutti_transaction& entry() const { return ours().shared->transactions[number_]; }
    [[nodiscard]] tutti_seat& seat() const { return ours().shared->seats[number_]; }
    /// Ends the thread without releasing the seat.
    void abandon() const { gone_ = true; }

    void begin(std::uint64_t transaction) const { write_once(entry().running, transaction); }
    void end() const {
        std::atomic_ref{entry().running}.store(0, std::memory_order_release);
        tutti::device::leave_transaction(seat(), entry());
    }
    void wait_for(std::uint32_t winner, std::uint64_t transaction,
                  std::chrono::nanoseconds longest = std::chrono::seconds{1}) const {
        write_once(entry().awaits, winner);
        write_once(entry().awaited, transaction);
        const auto until = now().time_since_epoch() + longest;
        tutti::device::wait_in_seat(seat(), static_cast<std::uint64_t>(until.count()));
        write_once(entry().awaited, 0);
    }
    void ask_for_less(std::uint32_t winner, std::uint64_t transaction) const {
        write_once(entry().awaits, winner);
        write_once(entry().awaited, transaction);
        write_once(seat().asks, TUTTI_ASKS_FOR_LESS);
    }
    void ask_for_nothing() const {
        write_once(seat().asks, TUTTI_ASKS_NOTHING);
        write_once(entry().awaited, 0);
    }

private:
    std::uint32_t number_;
    std::uint32_t tid_ = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    mutable bool gone_ = false;
};

}  // namespace scheduler_test
