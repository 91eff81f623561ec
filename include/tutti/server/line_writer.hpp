// Lines for a reader that may be slow, stuck or gone: what a server tells its operator.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tutti/detail/config.hpp"

namespace tutti::server {

/// Writes lines to a file descriptor on a thread of its own. So whoever has a line never waits for the descriptor: not
/// for a pipe that nobody reads, a terminal that is stopped, or a disk that hangs. Lines wait in memory, up to a bound.
/// A line beyond the bound is lost, and so is a line that the system refuses, as with a full disk. Lost lines are
/// counted, and their number is written as soon as the descriptor takes lines again.
///
/// Thread safety: any thread. Not from a signal handler.
class TUTTI_EXPORT line_writer {
public:
    /// Makes the line that tells how many lines were lost. Called on the writer's thread.
    using loss_line = std::function<std::string(std::uint64_t lines)>;

    /// `descriptor` stays open for the process's life. At most `capacity` bytes wait. @throws std::bad_alloc
    line_writer(int descriptor, loss_line tell_of_loss, std::size_t capacity = std::size_t{1} << 20);
    /// Waits for what was written, for at most one second.
    ~line_writer();
    line_writer(const line_writer&) = delete;
    line_writer& operator=(const line_writer&) = delete;

    /// Queues `line`, which ends in a newline. O(length); never waits for the descriptor.
    void write(std::string line) noexcept;
    /// Waits until all that was queued is written or counted as lost, but no longer than `longest`. False: it is not.
    bool flush(std::chrono::milliseconds longest) const noexcept;
    /// Returns how many lines were lost.
    [[nodiscard]] std::uint64_t lost() const noexcept;

private:
    struct state;
    std::shared_ptr<state> state_;  // the thread has a share: a write that does not return outlives this object
};

}  // namespace tutti::server
