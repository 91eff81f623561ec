/// @file
/// The log of a server, looked at and repaired while no server has it: what `tutti log` does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/detail/config.hpp"

namespace tutti::server {

/// What is in a log.
struct log_contents {
    std::uint64_t snapshot = 1;         ///< the first call that the snapshot does not hold; 1: there is none
    std::uint64_t snapshot_bytes = 0;   ///< of its parts
    std::uint64_t end = 1;              ///< the first call that the log does not hold, as far as it can be read
    std::uint64_t bytes = 0;            ///< of records that a start runs again
    std::uint64_t answers = 0;          ///< of calls with an ID
    std::vector<std::string> damage{};  ///< what is not whole, one line each; empty: all is
};

/// Reads all of the log, and changes nothing.
/// @throws std::runtime_error  where the file is not there, is no log, or a server has it
[[nodiscard]] TUTTI_EXPORT log_contents check_log(const std::string& file);

struct log_repair {
    log_contents now{};
    std::uint64_t lost_upto =
        0;                  ///< the last call that is known to have been in the log; less than `now.end`: none is lost
    std::string kept_as{};  ///< the files as they were: that name, and with -wal and -end; empty: nothing was done
};

/// Puts a log of all that is whole in the place of one that is damaged: its snapshot, and the calls up to the first
/// that cannot be read. The files as they were get new names beside it.
/// @throws std::runtime_error  as check_log, and where the snapshot cannot be read; nothing has changed
[[nodiscard]] TUTTI_EXPORT log_repair repair_log(const std::string& file);

}  // namespace tutti::server
