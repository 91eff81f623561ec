// An SQLite file system on top of the real one. It adds a checksum to every page of a database. The checksum covers the
// page's bytes and its number. Without this checksum, SQLite notices a damaged page only if it cannot interpret the
// page.
//
// If the database was created with reserve_checksums, SQLite does not use the last 8 bytes of each page. This file
// system fills in those bytes when SQLite writes a page to the database, and compares them when SQLite reads a page.
// Other reads and other files pass through unchanged. Frames of SQLite's WAL have checksums of their own
// (write_ahead_log.hpp).
#pragma once

#include <cstdint>
#include <optional>

struct sqlite3;

namespace tutti::server::journal {

/// Returns the name of the file system, for sqlite3_open_v2. The first call registers it on top of the default file
/// system. Thread-safe.
[[nodiscard]] const char* checked_pages() noexcept;

/// Reserves room for a checksum at the end of each page. Takes effect for a new database, or when VACUUM rewrites one.
void reserve_checksums(sqlite3* db) noexcept;

/// Returns true if the pages of the database have checksums. REQUIRES: the database has been read from.
[[nodiscard]] bool has_checksums(sqlite3* db) noexcept;

/// Returns the offset of the last page read whose checksum did not match. That read failed with SQLITE_IOERR_DATA.
[[nodiscard]] std::optional<std::uint64_t> damaged_page(sqlite3* db) noexcept;

/// Returns a sum over the checksums of all pages in the file, or 0 if the sum is unknown. The sum identifies the file:
/// another log, or an earlier state of this log, has another sum. The sum changes only when SQLite moves its WAL into
/// the file. The first call takes time in proportion to the size of the file.
[[nodiscard]] std::uint64_t sum_of_pages(sqlite3* db) noexcept;
/// Returns true if every page in the file matches its checksum. Reads the whole file.
[[nodiscard]] bool all_pages_are_intact(sqlite3* db);

/// Returns the salts of SQLite's WAL, which change when SQLite restarts the WAL. Returns 0 if SQLite has not started a
/// WAL.
[[nodiscard]] std::uint64_t wal_salts(sqlite3* db) noexcept;

}  // namespace tutti::server::journal
