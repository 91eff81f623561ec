// How far the log is known to be on the disk, kept in a small file beside it (`-end`). A log that ends earlier has lost
// something, however whole it looks.
//
// The store writes the file after each fsync of the log, so the file never says too much. The file itself is synced
// once a second. After a crash of the process it is exact. After a crash of the machine it may say less than was
// durable. Two slots are written in turn, so a write that a crash cut short leaves the other slot whole.
//
// The position of the next call does not say whether a transaction without calls is there, such as that of a promotion.
// So the file also has the number of frames of SQLite's own log that were on the disk. That number holds for one turn
// of SQLite's own log, and as long as SQLite has not moved that log into the file: the number is 0 afterwards.
//
// The file also says which log it belongs to: by a sum of the pages in the log's file (checked_pages.hpp) and by the
// turn of SQLite's own log (write_ahead_log.hpp). So a file that comes from another server, or from an earlier time, is
// noticed beside two that do not. While SQLite moves its own log into the file, the sum is unknown.
//
// Thread safety: one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace tutti::server::journal {

/// What the file says. 0: unknown.
struct known_log {
    std::uint64_t end = 1;     ///< the position of the first call that may be missing
    std::uint64_t pages = 0;   ///< sum_of_pages
    std::uint64_t turn = 0;    ///< of SQLite's own log
    std::uint64_t frames = 0;  ///< of SQLite's own log in that turn; 0: none that the log needs

    friend bool operator==(const known_log&, const known_log&) = default;
};

class durable_end {
public:
    explicit durable_end(std::string file);
    ~durable_end();
    durable_end(const durable_end&) = delete;
    durable_end& operator=(const durable_end&) = delete;

    /// None: the file is not there, or is new. @throws store_error  if it cannot be read, or is damaged
    [[nodiscard]] std::optional<known_log> read();
    /// All of that is on the disk. An error is left for later: an old number only finds less.
    void note(const known_log& now) noexcept;
    [[nodiscard]] std::uint64_t end() const noexcept { return last_.end; }
    /// The pages of the log's file are about to change: on the disk when this returns. @throws store_error
    void forget_pages();
    /// From now on less than that: on the disk when this returns. @throws store_error
    void lower(std::uint64_t end);

private:
    void open();
    [[nodiscard]] bool write(const known_log& now) noexcept;
    [[noreturn]] void fail(const std::string& doing) const;

    const std::string file_;
    int descriptor_ = -1;
    std::uint64_t writes_ = 0;
    known_log last_{.end = 0};
    std::chrono::steady_clock::time_point synced_{};
};

}  // namespace tutti::server::journal
