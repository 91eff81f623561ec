// Records how much of the log is known to be on the disk, in a small file (`-end`) in the log's folder. A log that ends
// before the recorded end has lost data, even if the log looks intact.
//
// The store writes the file after each fsync of the log, so the file never claims too much. The store syncs the `-end`
// file only once a second. After a crash of the process, the file is exact. After a crash of the machine, the file may
// claim less than was durable. Writes alternate between two slots, so a write that a crash interrupts leaves the other
// slot intact.
//
// A transaction without calls, such as a promotion, does not change the position of the next call. To show whether such
// a transaction is present, the file also contains the number of frames of SQLite's WAL that were on the disk. That
// number is valid for one generation of SQLite's WAL, until SQLite moves the WAL into the database. Afterwards the
// number is 0.
//
// The file also identifies its log: by a sum of the pages in the database (checked_pages.hpp), and by the salts of
// SQLite's WAL (write_ahead_log.hpp). So the store notices if the file comes from another server or from an earlier
// time. While SQLite moves its WAL into the database, the sum is unknown.
//
// Thread safety: one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace tutti::server::journal {

/// The contents of the file. 0: unknown.
struct durable_log_state {
    std::uint64_t end = 1;         ///< the position of the first call that may be missing
    std::uint64_t pages = 0;       ///< sum_of_pages
    std::uint64_t wal_salts = 0;   ///< generation of SQLite's WAL
    std::uint64_t wal_frames = 0;  ///< frames of SQLite's WAL in that generation; 0: no frame is needed

    friend bool operator==(const durable_log_state&, const durable_log_state&) = default;
};

class durable_end {
public:
    explicit durable_end(std::string file);
    ~durable_end();
    durable_end(const durable_end&) = delete;
    durable_end& operator=(const durable_end&) = delete;

    /// Reads the file. Returns nothing if the file does not exist or is new. @throws log_store_error  if the file
    /// cannot be read, or is damaged
    [[nodiscard]] std::optional<durable_log_state> read();
    /// Records that everything in `now` is on the disk. Ignores errors, because an outdated `-end` file can only hide
    /// some losses from the store.
    void record(const durable_log_state& now) noexcept;
    [[nodiscard]] std::uint64_t end() const noexcept { return last_.end; }
    /// Records that the pages of the log's file are about to change. The record is on the disk on return.
    /// @throws log_store_error
    void forget_pages();
    /// Lowers the recorded end to `end`. The record is on the disk on return. @throws log_store_error
    void lower(std::uint64_t end);

private:
    void open();
    [[nodiscard]] bool write(const durable_log_state& now) noexcept;
    [[noreturn]] void fail(const std::string& doing) const;

    const std::string file_;
    int descriptor_ = -1;
    std::uint64_t writes_ = 0;
    durable_log_state last_{.end = 0};
    std::chrono::steady_clock::time_point synced_{};
};

}  // namespace tutti::server::journal
