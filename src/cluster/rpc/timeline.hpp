// At an observer's request, records what the threads of a node wait for, and which requests the node serves.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <atomic>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "tutti/cluster/timeline.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

class timeline {
public:
    /// The largest number of events. Later events are left out and counted.
    static constexpr std::size_t max_events = 100'000;

    /// Returns true while the timeline records. The load is relaxed, because no order is needed: an event that arrives
    /// after the end of the recording is dropped.
    [[nodiscard]] bool is_recording() const noexcept { return is_recording_.load(std::memory_order_relaxed); }
    /// Returns the time of the timeline's clock in nanoseconds, or 0 while the timeline does not record.
    [[nodiscard]] std::int64_t begin() const noexcept { return is_recording() ? now() : 0; }
    [[nodiscard]] static std::int64_t now() noexcept { return base::real_now().time_since_epoch().count(); }

    /// Records an event that ends now. Ignores events that began at 0.
    void record(timeline_event e) noexcept;

    /// Starts an empty recording. Throws std::bad_alloc.
    void start();
    /// The oldest events that were not taken yet, the number of events that were left out, and whether more events
    /// follow.
    struct timeline_chunk {
        std::vector<timeline_event> events;
        std::uint64_t left_out = 0;
        bool more = false;
    };
    [[nodiscard]] timeline_chunk take_events(std::size_t max_count);
    /// Ends the recording, and frees its memory.
    void drop() noexcept;

private:
    std::atomic<bool> is_recording_{false};
    std::mutex guard_;  // guards the following members
    std::vector<timeline_event> events_;
    std::size_t taken_ = 0;
    std::uint64_t left_out_ = 0;
};

/// Returns the operation that a message requests or reports.
[[nodiscard]] timeline_operation operation_of(wire::message_type kind, std::string_view body) noexcept;
/// Returns the thread and the attempt that a message belongs to. Returns no_node and 0 if the message does not name
/// them.
[[nodiscard]] wire::transaction_name attempt_of(wire::message_type kind, std::string_view body) noexcept;
/// Returns the result that an answer reports.
[[nodiscard]] timeline_outcome outcome_of(wire::message_type kind, std::string_view body) noexcept;

}  // namespace tutti::cluster
