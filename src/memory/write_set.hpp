// The write set of a transaction. It has one entry for each word that the transaction wrote. An entry is found through
// the locked orec, or by address.
#pragma once

#include <cstdint>

#include "memory/log.hpp"
#include "memory/orec.hpp"

namespace tutti::memory {

inline constexpr std::uint32_t no_entry = ~std::uint32_t{0};

/// One word (eight aligned bytes) that the transaction wrote.
struct write_entry {
    word* address;       ///< the aligned word
    memory::orec* orec;  ///< the word's orec; null for memory that no other context sees: logged only for a roll-back
    word value;          ///< in write-back, the new value; in write-through, the old value
    word version;        ///< the orec before this entry locked it; no_version if another entry locked it
    std::uint32_t next;  ///< the next entry under the same orec; the chain starts at the entry that locked the orec
    std::uint8_t bytes;  ///< which bytes of the word were written, bit 0 the lowest address
    bool marked;         ///< the writer's own read mark was in the orec when the orec was locked
};

/// The former content of a parent's entry, which a nested block has changed.
struct overwritten_entry {
    std::uint32_t entry;
    std::uint8_t bytes;
    word value;
};

/// Finds entries by address, for algorithms whose orecs do not lead to the entries. Expected O(1). A 64-bit filter
/// answers most searches for absent addresses. Up to eight entries are searched in place; for more entries, there is a
/// hash table.
///
/// The table equals the result of inserting entries 0, 1, … in order into an empty table of its size (linear probing).
/// An insertion fills one empty slot and moves nothing. So clearing the slot of the newest entry restores the table
/// before that insertion: no remaining entry has probed past that slot. Growing preserves this property, because it
/// fills a larger table in the order of the entries.
class write_index {
public:
    /// Returns the number of the entry for `address`, or no_entry.
    [[nodiscard]] std::uint32_t find(const log<write_entry>& entries, const word* address) const noexcept;
    /// Adds the last entry, number entries.size() - 1. If the function throws std::bad_alloc, the index is unchanged.
    /// REQUIRES: the address of that entry is not in the index.
    void add(const log<write_entry>& entries);
    /// Makes room so that adding `more` entries after those of `entries` cannot fail. If the function throws
    /// std::bad_alloc, the index is unchanged. Makes no room if nothing is indexed and the `more` entries will be
    /// searched in place.
    void reserve(const log<write_entry>& entries, std::size_t more);
    /// Removes entries number `kept` and later, before they are dropped from the log. Removing entries costs as much as
    /// adding them.
    void drop(const log<write_entry>& entries, std::size_t kept) noexcept;
    void clear() noexcept;
    [[nodiscard]] log<std::uint32_t>& memory() noexcept { return slots_; }

private:
    static word filter_bit(const word* address) noexcept;
    void insert(const word* address, std::uint32_t entry) noexcept;
    void grow(const log<write_entry>& entries);

    word filter_ = 0;           // the bits of all entries, and perhaps of some dropped entries
    log<std::uint32_t> slots_;  // entry + 1, or 0; a power of two of them; empty while searched in place
};

}  // namespace tutti::memory
