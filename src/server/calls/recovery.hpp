// What makes the data again when a server starts with a log, and what shortens that: snapshots.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "server/calls/catalog.hpp"
#include "server/journal/journal.hpp"

namespace tutti::server {

struct recovered {
    std::uint64_t pieces = 0;  ///< of a snapshot
    std::uint64_t calls = 0;   ///< that were run again
};

/// Loads the snapshot and runs the calls of the log again, one after the other, on this thread.
/// @throws journal::store_error  when the file cannot be read
/// @throws std::runtime_error    when something does not come out as it did: a procedure is missing, fails, waits, or
///                               answers otherwise
recovered recover(journal::journal& from, const catalog& procedures, std::chrono::milliseconds longest);

/// Runs calls of a log again, one after the other, on the thread that made it, which may make only one at a time.
class replay {
public:
    replay(const catalog& procedures, std::chrono::milliseconds longest);
    ~replay();
    replay(const replay&) = delete;
    replay& operator=(const replay&) = delete;

    /// All of a group but those before `first`. Returns how many. @throws std::runtime_error  as recover
    std::uint64_t run(std::string_view group, std::uint64_t first);

private:
    class patience;
    const catalog& procedures_;
    const std::unique_ptr<patience> waiting_;
};

/// The data as they are, in which nothing may be written meanwhile, as a snapshot up to `position`.
[[nodiscard]] journal::snapshot dump_at(std::uint64_t position, const catalog& procedures);

/// Takes snapshots on a thread of its own whenever the log has grown enough, and one at the end.
class snapshots {
public:
    /// `tell` gets what went wrong. @throws std::system_error
    snapshots(journal::journal& of, const catalog& procedures, std::function<void(const std::string&)> tell);
    ~snapshots();
    snapshots(const snapshots&) = delete;
    snapshots& operator=(const snapshots&) = delete;

    /// The last one, if there is something new. REQUIRES: no call runs any more. Idempotent.
    void finish() noexcept;

private:
    void work();
    /// False: none was kept, which has been told.
    bool take() noexcept;

    journal::journal& of_;
    const catalog& procedures_;
    const std::function<void(const std::string&)> tell_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool ending_ = false;
    std::thread thread_;
};

}  // namespace tutti::server
