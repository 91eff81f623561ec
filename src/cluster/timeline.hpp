// What the threads of a node wait for, and what it serves, recorded for an observer on request.
//
// Thread safety: every member.
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
    /// Later ones are left out, and counted.
    static constexpr std::size_t most_events = 100'000;

    /// Whoever finds that it does, and notes something later, may be too late: that is dropped. So it orders nothing.
    [[nodiscard]] bool records() const noexcept { return records_.load(std::memory_order_relaxed); }
    /// Its clock, in nanoseconds; 0 while nothing is recorded.
    [[nodiscard]] std::int64_t begin() const noexcept { return records() ? now() : 0; }
    [[nodiscard]] static std::int64_t now() noexcept { return base::real_now().time_since_epoch().count(); }

    /// Ends now. What began at 0 was not to be recorded, and is not.
    void note(timeline_event e) noexcept;

    /// From nothing. Throws std::bad_alloc.
    void start();
    /// Ends it, if it has not; the oldest `most` that were not taken, and how many were left out.
    struct part {
        std::vector<timeline_event> events;
        std::uint64_t left_out = 0;
        bool more = false;
    };
    [[nodiscard]] part take(std::size_t most);
    /// Ends it, and gives its memory back.
    void drop() noexcept;

private:
    std::atomic<bool> records_{false};
    std::mutex guard_;  // of what follows
    std::vector<timeline_event> events_;
    std::size_t taken_ = 0;
    std::uint64_t left_out_ = 0;
};

/// What a message asks for or tells.
[[nodiscard]] timeline_deed deed_of(wire::kind kind, std::string_view body) noexcept;
/// The thread that it is of, and the attempt, where it says so: no_node, and 0.
[[nodiscard]] wire::transaction_name attempt_of(wire::kind kind, std::string_view body) noexcept;
/// What an answer comes to.
[[nodiscard]] timeline_end end_of(wire::kind kind, std::string_view body) noexcept;

}  // namespace tutti::cluster
