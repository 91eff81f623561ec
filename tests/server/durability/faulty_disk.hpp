// A disk that fails when it is told to: a file system of SQLite that stands before the real one. For the whole process,
// from its first use on.
#pragma once

#include <atomic>

namespace tutti::server {

class faulty_disk {
public:
    /// All at once as good as new.
    static void repair();

    static inline std::atomic<bool> is_full{false};        ///< writes fail for want of room
    static inline std::atomic<bool> is_untidy{false};      ///< the same, where SQLite moves its own log into the file
    static inline std::atomic<bool> loses{false};          ///< fsync fails
    static inline std::atomic<bool> holds_sync{false};     ///< fsync waits until this is false again
    static inline std::atomic<int> syncs{0};               ///< that have come back
    static inline std::atomic<int> held{0};                ///< that wait, or have waited
    static inline std::atomic<int> refused{0};             ///< writes that found no room
    static inline std::atomic<int> reads{0};               ///< that there have been
    static inline std::atomic<int> writes_until_full{-1};  ///< so many more writes succeed; -1: any number

    /// Before the first log is opened. Idempotent.
    static void install();
};

}  // namespace tutti::server
