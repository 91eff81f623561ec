// Writes the server's messages to its operator, line by line, even if the reader of the lines is slow, stuck or gone.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tutti/detail/config.hpp"

namespace tutti::server {

/// Writes lines to a file descriptor on a thread of its own. So a thread that logs a line never waits for the
/// descriptor, even if a pipe has no reader, a terminal is stopped, or a disk hangs. Lines wait in memory, up to a
/// limit. The writer drops a line beyond the limit, and a line that the system refuses, for instance because the disk
/// is full. The writer counts the lost lines, and writes their number as soon as the descriptor accepts lines again.
///
/// Thread safety: any thread, but not a signal handler.
class TUTTI_EXPORT line_writer {
public:
    /// Makes the line that reports the number of lost lines. Runs on the writer's thread.
    using loss_line = std::function<std::string(std::uint64_t lines)>;

    /// `descriptor` must stay open for the life of the process. At most `capacity` bytes wait in memory. @throws
    /// std::bad_alloc
    line_writer(int descriptor, loss_line report_loss, std::size_t capacity = std::size_t{1} << 20);
    /// Waits until the queued lines are written, for at most one second.
    ~line_writer();
    line_writer(const line_writer&) = delete;
    line_writer& operator=(const line_writer&) = delete;

    /// Queues `line`, which ends in a newline. O(length); never waits for the descriptor.
    void write(std::string line) noexcept;
    /// Waits until all queued lines are written or counted as lost, for at most `time_limit`. Returns false on timeout.
    bool flush(std::chrono::milliseconds time_limit) const noexcept;
    /// Returns the number of lost lines.
    [[nodiscard]] std::uint64_t lost() const noexcept;

private:
    struct state;
    std::shared_ptr<state> state_;  // shared with the writer's thread, because a blocked write may outlive this object
};

}  // namespace tutti::server
