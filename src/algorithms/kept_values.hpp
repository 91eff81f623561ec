// The values that writers keep for one announced snapshot (snapshots.hpp): a hash table from the address of a word to
// the value that the word had at the snapshot.
//
// A table has several levels, each eight times as large as the one before. A value goes to the first free one of 16
// cells of a level, or to the next level. A cell has two words:
//
//   key     address / 8 (44 bits) | tag (20 bits)
//   value
//
// The tag names the snapshot. A cell with an older tag is free, so a table need not be cleared between two snapshots.
// Tables stay mapped until the process ends, because a delayed writer of an earlier snapshot may still write to them
// (KEP3).
//
// Invariants
//   KEP1  Under one tag, cells are taken in the order of the search, and never given back. So a search ends at the
//       first free cell: if that cell is free now, it was free when the value would have been kept.
//   KEP2  Under one tag, a word has one cell. The caller holds the orec of the word, and the search finds a cell that
//       exists. Once a value has found no room, the caller keeps nothing more under that tag: otherwise a later value
//       of the same word might find room.
//   KEP3  Key and value change in one step. This makes a writer harmless that was delayed since an earlier snapshot. If
//       the writer finds a later tag in the cell, it gives up. If the cell changes meanwhile, its exchange fails. If it
//       takes a free cell, the cell stays free for the later snapshot.
//   KEP4  A tag is used again only after every transaction that may know the earlier use has ended (`recycle`).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "tutti/detail/cell.hpp"

namespace tutti::algorithms {

using detail::word;

class kept_values {
public:
    static constexpr unsigned tag_bits = 20;
    static constexpr std::uint32_t levels = 5;

    constexpr kept_values() noexcept = default;
    kept_values(const kept_values&) = delete;
    kept_values& operator=(const kept_values&) = delete;

    /// Keeps `value` for the word at `address`, unless a value is kept for it already. The search begins at level
    /// `first`. Returns false if there is no room. Returns true also if a later snapshot uses the table.
    bool keep(word tag, std::uint32_t first, const word* address, word value) noexcept;
    /// Stores the kept value of the word at `address` in `value`. Returns false if none is kept. REQUIRES: the snapshot
    /// of `tag` is announced.
    [[nodiscard]] bool find(word tag, std::uint32_t first, const word* address, word& value) const noexcept;

    /// The largest level that the present snapshot uses. Only a hint for the next one.
    [[nodiscard]] std::uint32_t largest_used() const noexcept { return largest_used_.load(std::memory_order_relaxed); }
    /// Prepares for a snapshot whose searches begin at level `first`. Returns false if there is no memory for that
    /// level.
    [[nodiscard]] bool start(std::uint32_t first) noexcept {
        largest_used_.store(first, std::memory_order_relaxed);
        return table(first) != nullptr;
    }

    /// Gives the pages of level `level` back to the system. The level stays mapped, and all its cells become free.
    /// Returns false, without effect, if the system refuses, as it does for locked pages.
    bool drop_level(std::uint32_t level) noexcept;
    /// Frees all cells, so that tags may be used again. REQUIRES: no transaction runs that has used an earlier tag.
    void recycle() noexcept;

private:
    struct alignas(16) cell {
        detail::shared<word> key;
        detail::shared<word> value;
    };

    [[nodiscard]] static constexpr std::size_t cells_of(std::uint32_t level) noexcept {
        return std::size_t{4096} << (3 * level);
    }
    [[nodiscard]] cell* table(std::uint32_t level) noexcept;

    std::array<std::atomic<cell*>, levels> tables_{};
    std::atomic<std::uint32_t> largest_used_{0};
};

/// The number of bytes that all tables may have together: TUTTI_SNAPSHOT_MEMORY in MiB, or 1/16 of the memory.
[[nodiscard]] std::size_t kept_values_limit() noexcept;
/// The number of bytes that all tables have.
[[nodiscard]] std::size_t kept_values_size() noexcept;

}  // namespace tutti::algorithms
