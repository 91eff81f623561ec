// What makes the data again when a server starts with a log.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

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

}  // namespace tutti::server
