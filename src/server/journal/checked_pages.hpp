// A file system of SQLite that stands before the real one and has every page of a database carry a checksum of its
// bytes and its number: SQLite itself notices a damaged page only where it cannot make sense of it.
//
// A page ends with 8 bytes that SQLite leaves alone, if the database was made so (reserve_checksums). They are filled
// in where a page is written into the database and compared where one is read; other reads and files pass through.
// Frames of SQLite's own log have checksums of their own (write_ahead_log.hpp).
#pragma once

#include <cstdint>
#include <optional>

struct sqlite3;

namespace tutti::server::journal {

/// For sqlite3_open_v2. In front of what is the usual file system at the first call. Thread-safe.
[[nodiscard]] const char* checked_pages() noexcept;

/// Has the pages of a new database, or of one that is written anew by VACUUM, end with room for a checksum.
void reserve_checksums(sqlite3* db) noexcept;

/// Whether pages of the database have checksums. REQUIRES: it has been read from.
[[nodiscard]] bool has_checksums(sqlite3* db) noexcept;

/// The offset of the page that was read last and did not have its checksum. The read failed with SQLITE_IOERR_DATA.
[[nodiscard]] std::optional<std::uint64_t> damaged_page(sqlite3* db) noexcept;

/// A sum of the checksums of all pages in the file, which tells the file from another log's and from an earlier state
/// of itself. It changes only where SQLite moves its own log into the file. 0: unknown. The first call takes time in
/// proportion to the file.
[[nodiscard]] std::uint64_t sum_of_pages(sqlite3* db) noexcept;
/// Whether each page in the file has its checksum. Reads the file.
[[nodiscard]] bool all_pages_are_whole(sqlite3* db);

/// The salts of SQLite's own log, which change when that is begun anew. 0: it has not been begun.
[[nodiscard]] std::uint64_t turn_of_own_log(sqlite3* db) noexcept;

}  // namespace tutti::server::journal
