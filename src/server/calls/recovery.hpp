// Restores the data when a server starts with a log.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/calls/catalog.hpp"
#include "server/journal/journal.hpp"

namespace tutti::server {

struct recovery_result {
    std::uint64_t snapshot_pieces = 0;  ///< pieces of the snapshot
    std::uint64_t calls = 0;            ///< calls that were run again
};

/// Loads the snapshot and runs the calls of the log again, one after the other, on this thread.
/// @throws journal::log_store_error  if the file cannot be read
/// @throws std::runtime_error  if a call does not have the same result again: its procedure is missing, fails, waits,
/// or answers differently
recovery_result recover(journal::journal& from, const catalog& procedures, std::chrono::milliseconds time_limit);

/// Runs calls of a log again, one after the other, on the thread that created the object. A thread may have only one
/// such object at a time.
class replay {
public:
    replay(const catalog& procedures, std::chrono::milliseconds time_limit);
    ~replay();
    replay(const replay&) = delete;
    replay& operator=(const replay&) = delete;

    /// Runs those calls of a group whose position is `first` or later. Returns the number of these calls. @throws
    /// std::runtime_error  as recover
    std::uint64_t run(std::string_view group, std::uint64_t first);

private:
    class replay_watchdog;
    const catalog& procedures_;
    const std::unique_ptr<replay_watchdog> watchdog_;
};

}  // namespace tutti::server
