// What a receiver counts: turnarounds by procedure and priority, how calls ended, clients and bytes.
//
// Thread safety: one writer; others read each number as it stands. Counters are atomics that their writer loads and
// stores relaxed.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "server/invocation.hpp"

namespace tutti::server {

class tally {
public:
    void add(std::uint64_t n = 1) noexcept { value_.store(get() + n, std::memory_order_relaxed); }
    void drop() noexcept { value_.store(get() - 1, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

/// Bucket i counts turnarounds of at most `bucket_limit(i)` microseconds, the last one all longer ones: 1, 2, 3, 4, 6,
/// 8, 12, 16 … two a doubling, up to 12 s.
inline constexpr std::size_t bucket_count = 48;
[[nodiscard]] std::uint64_t bucket_limit(std::size_t bucket) noexcept;

/// A histogram, and its sum over several receivers.
template <class Number>
struct turnarounds {
    std::array<Number, bucket_count> buckets{};
    Number microseconds{};
};
using turnaround_sum = turnarounds<std::uint64_t>;

[[nodiscard]] std::uint64_t count_of(const turnaround_sum& of) noexcept;
/// The limit of the bucket that the share q of all is in; 0 if there are none.
[[nodiscard]] std::uint64_t percentile(const turnaround_sum& of, double q) noexcept;

class figures {
public:
    explicit figures(std::size_t procedures) : by_procedure_(procedures) {}

    /// `turnaround`: from its arrival to its answer; not looked at if it was refused without being run.
    void count_call(std::size_t procedure, int priority, ending how, std::chrono::nanoseconds turnaround);

    /// Adds what is counted for a procedure and priority to `sum`.
    void add_to(turnaround_sum& sum, std::size_t procedure, std::size_t priority) const noexcept;
    [[nodiscard]] std::uint64_t endings(std::size_t procedure, ending how) const noexcept {
        return by_procedure_[procedure].endings[static_cast<std::size_t>(how)].get();
    }

    tally clients;  ///< connected now
    tally clients_in_all;
    tally clients_refused;  ///< there were too many, or no memory for them
    tally commands;         ///< that are no call of a procedure: others, and calls of none or with wrong options
    tally malformed;        ///< requests that ended their connection
    tally bytes_read;
    tally bytes_written;

private:
    struct of_procedure {
        std::array<std::atomic<turnarounds<tally>*>, priority_levels> by_priority{};
        std::array<tally, ending_count> endings;
        ~of_procedure() {
            for (auto& p : by_priority) delete p.load(std::memory_order_relaxed);
        }
    };
    std::vector<of_procedure> by_procedure_;
};

}  // namespace tutti::server
