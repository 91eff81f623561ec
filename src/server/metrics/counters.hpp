// The counts of an I/O thread: turnaround times by procedure and priority, how calls ended, clients and bytes.
//
// Thread safety: as in observe/counter.hpp.
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

/// Bucket i counts turnaround times of at most `bucket_limit(i)` microseconds; the last bucket counts all longer ones.
/// The limits are 1, 2, 3, 4, 6, 8, 12, 16 …, two for each doubling, up to 12 s.
inline constexpr std::size_t bucket_count = 48;
[[nodiscard]] std::uint64_t bucket_limit(std::size_t bucket) noexcept;

/// A histogram of one I/O thread, or the sum over several.
template <class Number>
struct turnaround_histogram {
    std::array<Number, bucket_count> buckets{};
    Number microseconds{};
};
using turnaround_sum = turnaround_histogram<std::uint64_t>;

/// Returns the limit of the bucket that contains the quantile q; 0 if the histogram is empty.
[[nodiscard]] std::uint64_t percentile(const turnaround_sum& of, double q) noexcept;

class counters {
public:
    explicit counters(std::size_t procedures) : by_procedure_(procedures) {}

    /// Counts a call. `turnaround`: the time from the call's arrival to its answer; ignored if the call was refused and
    /// has not run.
    void count_call(std::size_t procedure, int priority, call_outcome how, std::chrono::nanoseconds turnaround);

    /// Adds the counts of a procedure and priority to `sum`.
    void add_to(turnaround_sum& sum, std::size_t procedure, std::size_t priority) const noexcept;
    [[nodiscard]] std::uint64_t outcomes(std::size_t procedure, call_outcome how) const noexcept {
        return by_procedure_[procedure].outcomes[static_cast<std::size_t>(how)].get();
    }

    counter clients;  ///< connected now
    counter total_connections_received;
    counter rejected_connections;  ///< rejected because there were too many, or memory was exhausted
    /// commands other than calls, including CALLs with an unknown procedure or wrong options
    counter commands;
    counter logins_failed;       ///< failed because the name or the password was wrong
    counter logins_rejected;     ///< rejected because too many logins waited for a check
    counter clients_evicted;     ///< closed because clients held too much memory
    counter clients_displaced;   ///< closed before they logged in, so that an admin may connect
    counter requests_timed_out;  ///< incomplete requests whose connection was closed at the timeout
    /// calls refused because other calls of the same principal had used up the principal's share of memory
    counter calls_beyond_share;
    /// times that a command waited because its principal had used up its share of processor time
    counter commands_delayed;
    counter malformed;  ///< malformed requests, each of which ended its connection
    counter total_net_input_bytes;
    counter total_net_output_bytes;
    counter io_handoffs;  ///< times that an idle worker took over the I/O thread's connections
    /// of those hand-offs, the ones that the thread reclaimed because the worker's call took long
    counter io_handoffs_reclaimed;

private:
    struct procedure_counters {
        std::array<std::atomic<turnaround_histogram<counter>*>, priority_levels> by_priority{};
        std::array<counter, call_outcome_count> outcomes;
        ~procedure_counters() {
            for (auto& p : by_priority) delete p.load(std::memory_order_relaxed);
        }
    };
    std::vector<procedure_counters> by_procedure_;
};

}  // namespace tutti::server
