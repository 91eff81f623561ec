// The file of SQLite's own log (`-wal`), looked at before SQLite cuts it.
//
// SQLite reads that file as far as every frame is whole, and takes what follows for the rest of a write that a crash
// cut short. A damaged frame in the middle looks the same to it, and the transactions behind that frame would be lost
// in silence. Here the two are told apart: the checksum of a frame continues that of the frame before it, and every
// frame carries its own, so each frame can be checked alone from the one before it.
//
// The format: sqlite.org/fileformat2.html, section 4.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::server::journal {

struct write_ahead_log {
    std::uint64_t frames = 0;     ///< written since the file was last begun anew, whole or not, or cut by its end
    std::uint64_t complete = 0;   ///< of these, as far as whole transactions go without a gap: what SQLite reads
    std::uint64_t first_bad = 0;  ///< offset of what is not whole, where something is not
    /// Frames that are whole and belong to transactions later than the one that is not. A crash leaves none.
    std::uint64_t later = 0;
    bool header_is_bad = false;
    std::uint64_t turn = 0;  ///< the salts of the header, as they are in the file; 0: there is no whole header

    [[nodiscard]] bool is_torn() const noexcept { return complete < frames; }
    [[nodiscard]] bool is_damaged() const noexcept { return later != 0; }
};

/// A file that is not there, or is empty, has no frames. `page_bytes`: of the database, for a header that is damaged.
/// Takes time in proportion to the file, memory for a page. @throws std::system_error  if the file cannot be read
[[nodiscard]] write_ahead_log look_at_write_ahead_log(const std::string& file, std::uint32_t page_bytes);

/// Whether a log of the turn `later` may be the one of `turn`, begun anew some times. SQLite counts the turns of a log
/// in the first half of the salts. It draws the second half, and the first count, by chance.
[[nodiscard]] bool may_come_after(std::uint64_t turn, std::uint64_t later) noexcept;

}  // namespace tutti::server::journal
