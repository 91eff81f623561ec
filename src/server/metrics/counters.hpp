// What an I/O thread counts: turnarounds by procedure and priority, how calls ended, clients and bytes.
//
// Thread safety: that of observe/counter.hpp.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "observe/counter.hpp"
#include "server/calls/invocation.hpp"

namespace tutti::server {

using observe::counter;

/// Bucket i counts turnarounds of at most `bucket_limit(i)` microseconds, the last one all longer ones: 1, 2, 3, 4, 6,
/// 8, 12, 16 … two a doubling, up to 12 s.
inline constexpr std::size_t bucket_count = 48;
[[nodiscard]] std::uint64_t bucket_limit(std::size_t bucket) noexcept;

/// A histogram, and its sum over several I/O threads.
template <class Number>
struct turnarounds {
    std::array<Number, bucket_count> buckets{};
    Number microseconds{};
};
using turnaround_sum = turnarounds<std::uint64_t>;

/// The limit of the bucket that the share q of all is in; 0 if there are none.
[[nodiscard]] std::uint64_t percentile(const turnaround_sum& of, double q) noexcept;

class counters {
public:
    explicit counters(std::size_t procedures) : by_procedure_(procedures) {}

    /// `turnaround`: from its arrival to its answer; not looked at if it was refused without being run.
    void count_call(std::size_t procedure, int priority, ending how, std::chrono::nanoseconds turnaround);

    /// Adds what is counted for a procedure and priority to `sum`.
    void add_to(turnaround_sum& sum, std::size_t procedure, std::size_t priority) const noexcept;
    [[nodiscard]] std::uint64_t endings(std::size_t procedure, ending how) const noexcept {
        return by_procedure_[procedure].endings[static_cast<std::size_t>(how)].get();
    }

    counter clients;  ///< connected now
    counter clients_in_all;
    counter clients_refused;     ///< there were too many, or no memory for them
    counter commands;            ///< that are no call of a procedure: others, and calls of none or with wrong options
    counter logins_failed;       ///< the name or the password was not right
    counter logins_turned_away;  ///< too many waited to be looked at
    counter clients_evicted;     ///< closed because clients held too much memory
    counter clients_displaced;   ///< closed before they logged in, so that an operator may come
    counter requests_timed_out;  ///< ended their connection, because their rest did not come
    counter calls_beyond_share;  ///< calls that were refused because those of their principal held its share of memory
    counter commands_delayed;    ///< times that a command waited, because its principal had used its part of attention
    counter malformed;           ///< requests that ended their connection
    counter bytes_read;
    counter bytes_written;
    counter stand_ins;             ///< times that an idle worker took the I/O thread's place
    counter stand_ins_called_off;  ///< and a call lasted that it had left to run, so the thread took it back

private:
    struct of_procedure {
        std::array<std::atomic<turnarounds<counter>*>, priority_levels> by_priority{};
        std::array<counter, ending_count> endings;
        ~of_procedure() {
            for (auto& p : by_priority) delete p.load(std::memory_order_relaxed);
        }
    };
    std::vector<of_procedure> by_procedure_;
};

}  // namespace tutti::server
