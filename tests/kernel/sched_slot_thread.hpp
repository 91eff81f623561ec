// Threads that the sched_ext program serves, as winners and losers of conflicts.
#pragma once

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>

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

/// Returns this process's connection; the child of a fork makes its own at its first use. No thread may fork during a
/// first use.
inline tutti::device::scheduler_connection& own_connection() {
    static tutti::device::scheduler_connection connection;
    static std::mutex mutex;
    static std::atomic<pid_t> whose{0};
    if (whose != ::getpid()) {
        const std::lock_guard lock{mutex};
        if (whose == ::getpid()) return connection;
        std::string problem;
        connection = tutti::device::scheduler_connection::connect(problem);
        EXPECT_NE(connection.shared, nullptr) << problem;
        if (connection.shared == nullptr) ::_exit(1);
        whose = ::getpid();
    }
    return connection;
}

/// Gives the calling thread a slot during its lifetime.
class sched_slot_thread {
public:
    sched_slot_thread() : number_{tutti::device::acquire_sched_slot(*own_connection().shared)} {
        EXPECT_LT(number_, static_cast<std::uint32_t>(TUTTI_THREADS));
        entry() = {};
    }
    ~sched_slot_thread() {
        if (!gone_) write_once(slot().tid, 0);
    }
    sched_slot_thread(const sched_slot_thread&) = delete;
    sched_slot_thread& operator=(const sched_slot_thread&) = delete;

    [[nodiscard]] std::uint32_t number() const { return number_; }
    [[nodiscard]] std::uint32_t tid() const { return tid_; }
    [[nodiscard]] tutti_transaction& entry() const { return own_connection().shared->transactions[number_]; }
    [[nodiscard]] tutti_sched_slot& slot() const { return own_connection().shared->slots[number_]; }
    /// Makes the thread end without releasing the slot.
    void abandon() const { gone_ = true; }

    void begin(std::uint64_t transaction) const { write_once(entry().running, transaction); }
    void end() const {
        std::atomic_ref{entry().running}.store(0, std::memory_order_release);
        tutti::device::end_transaction(slot(), entry());
    }
    void wait_for(std::uint32_t winner, std::uint64_t transaction,
                  std::chrono::nanoseconds max_wait = std::chrono::seconds{1}) const {
        write_once(entry().awaits, winner);
        write_once(entry().awaited, transaction);
        const auto until = now().time_since_epoch() + max_wait;
        tutti::device::wait_in_sched_slot(slot(), static_cast<std::uint64_t>(until.count()));
        write_once(entry().awaited, 0);
    }
    void request_lower_weight(std::uint32_t winner, std::uint64_t transaction) const {
        write_once(entry().awaits, winner);
        write_once(entry().awaited, transaction);
        write_once(slot().request, TUTTI_REQUEST_LOWER_WEIGHT);
    }
    void clear_request() const {
        write_once(slot().request, TUTTI_REQUEST_NONE);
        write_once(entry().awaited, 0);
    }

private:
    std::uint32_t number_;
    std::uint32_t tid_ = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    mutable bool gone_ = false;
};

}  // namespace scheduler_test
