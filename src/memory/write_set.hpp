// The write set of a transaction: one entry for each word that it wrote, found through the locked orec or by address.
#pragma once

#include <cstdint>

#include "memory/log.hpp"
#include "memory/orec.hpp"

namespace tutti::memory {

inline constexpr std::uint32_t no_entry = ~std::uint32_t{0};

/// One word (eight aligned bytes) that the transaction wrote.
struct write_entry {
    word* address;       ///< the aligned word
    memory::orec* orec;  ///< its orec; null for memory that no other context sees, which is logged only to be restored
    word value;          ///< write-back: the new value. Write-through: the old value
    word version;        ///< the orec before this entry locked it; no_version if another entry did
    std::uint32_t next;  ///< the next entry under the same orec, in a chain that starts at the locking one
    std::uint8_t bytes;  ///< which bytes of the word were written, bit 0 the lowest address
    bool marked;         ///< the orec carried the writer's own read mark when it was locked
};

/// The former content of a parent's entry that a nested block has changed.
struct overwritten_entry {
    std::uint32_t entry;
    std::uint8_t bytes;
    word value;
};

/// Finds entries by address, for algorithms whose orecs do not lead to them. Expected O(1).
/// A 64-bit filter answers most misses; up to eight entries are searched in place; beyond that a hash table grows.
///
/// The table equals the result of inserting entries 0, 1, … in order into an empty table of its size (linear probing).
/// An insertion fills one empty slot and moves nothing. So clearing the slot of the newest entry restores the table
/// before that insertion: no remaining entry has probed past that slot. Growing keeps this property, because it fills a
/// larger table in the order of the entries.
class write_index {
public:
    /// Returns the number of the entry for `address`, or no_entry.
    [[nodiscard]] std::uint32_t find(const log<write_entry>& entries, const word* address) const noexcept;
    /// Adds the last entry, number entries.size() - 1. Throws std::bad_alloc, and then is unchanged. REQUIRES: the
    /// address of that entry is not in the index.
    void add(const log<write_entry>& entries);
    /// Makes room so that adding `more` entries after those of `entries` cannot fail. Throws std::bad_alloc, and then
    /// the index is unchanged. Makes no room while nothing is indexed and `more` entries are searched in place anyway.
    void reserve(const log<write_entry>& entries, std::size_t more);
    /// Removes entries number `kept` and later, before they are dropped from the log. Costs as much as adding them did.
    void drop(const log<write_entry>& entries, std::size_t kept) noexcept;
    void clear() noexcept;
    [[nodiscard]] log<std::uint32_t>& memory() noexcept { return slots_; }

private:
    static word filter_bit(const word* address) noexcept;
    void insert(const word* address, std::uint32_t entry) noexcept;
    void grow(const log<write_entry>& entries);

    word filter_ = 0;           // the bits of all entries, and perhaps of some that were dropped
    log<std::uint32_t> slots_;  // entry + 1, or 0; a power of two of them; empty while searched in place
};

}  // namespace tutti::memory
