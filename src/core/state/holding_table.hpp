// A hash table of the abstract locks that transactions hold ("holdings"). The table grows and shrinks with their
// number.
//
// The table uses open addressing with linear probing. A slot has the hash beside the pointer, so a search or a resize
// does not read the holdings of other locks. With a million holdings, an operation misses the cache about once. A
// removal closes its gap with entries from behind the gap (Knuth, The Art of Computer Programming, vol. 3, 6.4,
// algorithm R).
//
// The holdings of one lock form a list. Exclusive holdings and claims come first, the latest of them at the front. The
// slot of the first holding depends on the hash of the name. The slot of every other holding depends on a hash of the
// name and the holder. So the slots of a lock with many sharers are spread over the table. Finding out whether a lock
// is held, or whether a given transaction holds it, takes the same time for any number of sharers. A lock with one
// holder takes one slot.
//
// A table doubles when more than half of its slots are in use, and halves when fewer than an eighth are. The number of
// operations between two resizes is proportional to the size, so each operation is amortised O(1). A table of at most
// two holdings allocates no memory. abstract_locks.cpp has about a thousand tables, each with its own lock. So a resize
// moves only the holdings of one table, about a thousandth of all. If memory for a resize runs out, the table continues
// until it is full.
//
// Not thread-safe. The holders own the memory of their holdings.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::core {

class descriptor;

struct lock_name {
    const void* object;
    std::uint64_t key;
    bool operator==(const lock_name&) const = default;
};

/// Returns the hash of a name. Its upper bits are better distributed, because they depend on all bits of both factors.
[[nodiscard]] inline std::uint64_t hash_of(const lock_name& n) noexcept {
    return (reinterpret_cast<std::uintptr_t>(n.object) ^ n.key * 0x9E3779B97F4A7C15U) * 0xD6E8FEB86659FD93U;
}

/// One lock that one transaction holds or claims. The holding is in a table, and in the list of its holder.
struct abstract_holding {
    lock_name name;
    bool shared;
    descriptor* holder;
    std::uint64_t age;
    abstract_holding* next_of_holder = nullptr;
    bool held = true;                      // false: it is only a claim
    bool claimed_alone = false;            // `holder` waits to be the only holder of the lock: abstract_locks.hpp
    abstract_holding* next = nullptr;      // the next holding of the same lock; for the table only
    abstract_holding* previous = nullptr;  // the previous one; the first holding points to the last; for the table only

    /// Returns true if this holding comes before those that only share the lock.
    [[nodiscard]] bool precedes_sharers() const noexcept { return !shared || claimed_alone; }
};

class holding_table {
public:
    /// The upper bits of a hash, which choose the table.
    static constexpr unsigned bits_of_table = 10;

    struct search_result {
        abstract_holding* holding;  // null if no holding was found
        std::size_t probes;         // the number of slots that the search visited
    };

    constexpr holding_table() noexcept = default;
    holding_table(const holding_table&) = delete;
    holding_table& operator=(const holding_table&) = delete;

    /// Finds the first holding of the lock. Its `next` leads to the other holdings, with exclusive holdings and claims
    /// first.
    [[nodiscard]] search_result first(const lock_name& name, std::uint64_t hash) const noexcept;
    /// Finds the holding of the lock whose `holder` is `who`.
    [[nodiscard]] search_result held_by(const descriptor& who, const lock_name& name,
                                        std::uint64_t hash) const noexcept;
    /// Reserves memory for one more holding. Throws std::bad_alloc.
    void reserve_one();
    /// Adds `h`. REQUIRES: memory for it is reserved.
    void insert(abstract_holding& h, std::uint64_t hash) noexcept;
    /// Removes `h`. REQUIRES: it is in the table.
    void remove(abstract_holding& h, std::uint64_t hash) noexcept;
    /// Empties the table in the child of a fork, even if another thread was changing it during the fork.
    void reset_after_fork() noexcept;

    [[nodiscard]] bool is_empty() const noexcept { return held_ == 0; }
    [[nodiscard]] std::size_t slots() const noexcept { return std::size_t{1} << bits_; }

private:
    struct slot {
        std::uint64_t hash = 0;
        abstract_holding* holding = nullptr;  // null: the slot is empty; at least one slot always is
    };
    static constexpr unsigned min_bits = 2;

    [[nodiscard]] slot* begin() noexcept { return heap_slots_ != nullptr ? heap_slots_ : inline_slots_; }
    [[nodiscard]] const slot* begin() const noexcept { return heap_slots_ != nullptr ? heap_slots_ : inline_slots_; }
    [[nodiscard]] std::size_t home_slot(std::uint64_t hash) const noexcept {
        return hash << bits_of_table >> (64 - bits_);
    }
    [[nodiscard]] std::size_t next_slot(std::size_t at) const noexcept { return (at + 1) & (slots() - 1); }
    /// Returns the slot of `h`. REQUIRES: `h` has a slot under that hash.
    [[nodiscard]] std::size_t slot_of(const abstract_holding& h, std::uint64_t hash) const noexcept;
    void insert_slot(const slot& s) noexcept;
    void erase(std::size_t hole) noexcept;
    /// Leaves the table as it is if memory runs out.
    void resize(unsigned bits) noexcept;

    std::size_t held_ = 0;
    slot* heap_slots_ = nullptr;
    unsigned bits_ = min_bits;
    slot inline_slots_[std::size_t{1} << min_bits];  // in use while `heap_slots_` is null
};

}  // namespace tutti::core
