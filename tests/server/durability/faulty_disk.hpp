// A disk that fails on command: a file system of SQLite in front of the real one. It applies to the whole process from
// its first use on.
#pragma once

#include <atomic>

namespace tutti::server {

class faulty_disk {
public:
    /// Ends all faults.
    static void repair();

    static inline std::atomic<bool> is_full{false};  ///< writes fail for lack of space
    /// writes fail for lack of space when SQLite moves its own log into the file
    static inline std::atomic<bool> is_untidy{false};
    static inline std::atomic<bool> loses{false};          ///< fsync fails
    static inline std::atomic<bool> holds_sync{false};     ///< fsync waits until this is false again
    static inline std::atomic<int> syncs{0};               ///< number of calls that have returned
    static inline std::atomic<int> held{0};                ///< number of calls that wait or have waited
    static inline std::atomic<int> refused{0};             ///< number of writes that failed for lack of space
    static inline std::atomic<int> reads{0};               ///< number of reads
    static inline std::atomic<int> writes_until_full{-1};  ///< number of further writes that succeed; -1: any number

    /// Installs the file system. REQUIRES: no log has been opened yet. Idempotent.
    static void install();
};

}  // namespace tutti::server
