// Inspects the file of SQLite's WAL (`-wal`) before SQLite truncates it.
//
// SQLite reads the WAL up to the first frame that is not intact, and treats the rest as a write that a crash
// interrupted. A damaged frame in the middle looks the same to SQLite, so SQLite would silently drop the transactions
// after that frame. The functions here distinguish the two cases. The checksum of a frame continues the checksum of the
// previous frame, and every frame contains its own checksum. So each frame can be checked with only the previous frame.
//
// sqlite.org/fileformat2.html, section 4, describes the format.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::server::journal {

struct write_ahead_log {
    /// frames written since SQLite last restarted the file, intact or not, including one that the file's end cuts off
    std::uint64_t frames = 0;
    /// the part of these frames that SQLite reads: the frames of complete transactions before the first gap
    std::uint64_t complete = 0;
    std::uint64_t first_bad = 0;  ///< offset of the first frame that is not intact, if there is one
    /// Number of intact frames that belong to transactions later than the damaged one. A crash never leaves such
    /// frames.
    std::uint64_t later = 0;
    bool header_is_bad = false;
    /// the salts of the header, as they are in the file; 0: the header is not intact
    std::uint64_t salts = 0;

    [[nodiscard]] bool is_torn() const noexcept { return complete < frames; }
    [[nodiscard]] bool is_damaged() const noexcept { return later != 0; }
};

/// Inspects a file. A file that is absent or empty has no frames. `page_bytes` is the page size of the database, used
/// if the header is damaged. Takes time in proportion to the file, and memory for one page. @throws std::system_error
/// if the file cannot be read
[[nodiscard]] write_ahead_log read_write_ahead_log(const std::string& file, std::uint32_t page_bytes);

/// Returns true if a WAL with the salts `later` may be the WAL with the salts `salts`, restarted zero or more times.
/// SQLite increments the first half of the salts at each restart. The second half, and the first value of the first
/// half, are random.
[[nodiscard]] bool may_come_after(std::uint64_t salts, std::uint64_t later) noexcept;

}  // namespace tutti::server::journal
