/// @file
/// Checks and repairs the log of a server while no server uses it, as `tutti log` does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/detail/config.hpp"

namespace tutti::server {

/// The contents of a log.
struct log_contents {
    std::uint64_t snapshot = 1;         ///< the first call after the snapshot; 1: there is no snapshot
    std::uint64_t snapshot_bytes = 0;   ///< size of the snapshot's files
    std::uint64_t end = 1;              ///< the first call after the readable part of the log
    std::uint64_t bytes = 0;            ///< size of the records that a start runs again
    std::uint64_t answers = 0;          ///< number of replies to calls with an ID
    std::vector<std::string> damage{};  ///< damaged parts, one line each; empty: the log is intact
};

/// Reads the whole log and changes nothing.
/// @throws std::runtime_error  if the file does not exist, is not a log, or a server uses it
[[nodiscard]] TUTTI_EXPORT log_contents check_log(const std::string& file);

struct log_repair {
    log_contents now{};
    std::uint64_t lost_upto = 0;  ///< last call known to have been in the log; less than `now.end`: no call is lost
    std::string kept_as{};        ///< name of the old files, also with -wal and -end; empty: nothing was done
};

/// Replaces a damaged log by its intact part: the snapshot, and the calls before the first unreadable one. The old
/// files are renamed, and stay in the folder of the new log.
/// @throws std::runtime_error  as check_log, and if the snapshot cannot be read; then nothing has changed
[[nodiscard]] TUTTI_EXPORT log_repair repair_log(const std::string& file);

}  // namespace tutti::server
