// What a transaction wrote: one entry a word, found through the orec that it locked or by address.
#pragma once

#include <cstdint>

#include "memory/log.hpp"
#include "memory/orec.hpp"

namespace tutti::memory {

inline constexpr std::uint32_t no_entry = ~std::uint32_t{0};

/// One word (eight aligned bytes) that the transaction wrote.
struct write_entry {
    word* address;       ///< the aligned word
    memory::orec* orec;  ///< its orec; null for memory that no other context sees, logged to be put back only
    word value;          ///< write-back: the new value. Write-through: what was there before
    word version;        ///< the orec before this entry locked it; no_version if it did not
    std::uint32_t next;  ///< the next entry under the same orec, in a chain that starts at the locking one
    std::uint8_t bytes;  ///< which bytes of the word were written, bit 0 the lowest address
    bool marked;         ///< the orec carried the writer's own read mark when it was locked
};

/// A nested block changed an entry of its parent: what it was.
struct overwritten_entry {
    std::uint32_t entry;
    std::uint8_t bytes;
    word value;
};

/// Finds entries by address, for algorithms whose orecs do not lead to them. Expected O(1).
/// A 64-bit filter answers most misses; up to eight entries are searched in place; beyond that a hash table grows.
///
/// The table is what inserting entries 0, 1, … one after the other into an empty one of its size makes of it (linear
/// probing). An insertion fills one empty slot and moves nothing, so emptying the slot of the newest entry gives the
/// table as it was before that one came: nothing that is left has probed past it. Growing keeps this, because it starts
/// over with a larger table in the order of the entries.
class write_index {
public:
    /// The entry of `address`, or no_entry.
    [[nodiscard]] std::uint32_t find(const log<write_entry>& entries, const word* address) const noexcept;
    /// REQUIRES: `address` is that of the last entry, number entries.size() - 1, and is not in the index.
    /// Throws std::bad_alloc, and then is unchanged.
    void add(const log<write_entry>& entries);
    /// Makes room so that adding `more` entries after those of `entries` cannot fail. Throws std::bad_alloc, and then
    /// the index is unchanged. Makes no room while nothing is indexed and `more` entries are searched in place anyway.
    void reserve(const log<write_entry>& entries, std::size_t more);
    /// Before entries number `kept` and later are dropped from the end. Costs what adding them did.
    void drop(const log<write_entry>& entries, std::size_t kept) noexcept;
    void clear() noexcept;
    [[nodiscard]] log<std::uint32_t>& memory() noexcept { return slots_; }

private:
    static word filter_bit(const word* address) noexcept;
    void insert(const word* address, std::uint32_t entry) noexcept;
    void grow(const log<write_entry>& entries);

    word filter_ = 0;           // of every entry the bit, and perhaps of some that were dropped
    log<std::uint32_t> slots_;  // entry + 1, or 0; a power of two of them; empty while searched in place
};

}  // namespace tutti::memory
