// Which transaction holds which abstract lock: a hash table of holdings that grows and shrinks with them.
//
// Open addressing, by linear probing: a slot has the hash beside the pointer, so that neither a search nor a change of
// size looks at the holdings of others, and with a million of them an operation misses the cache about once. A removal
// moves up those behind it (Knuth, The Art of Computer Programming, vol. 3, 6.4, algorithm R), so that it leaves
// nothing behind.
//
// The holdings of one lock form a list. Exclusive ones and claims come first, the latest of them at the front. The
// first holding has its slot under the hash of the name. Every other one has its slot under a hash of the name and the
// holder. So the slots of a lock with many sharers do not lie in one run. Whether a lock is held, and whether a given
// transaction holds it, takes the same time however many share it. A lock with one holder takes one slot.
//
// A table doubles when more than half of its slots are in use, and becomes half as large when fewer than an eighth are:
// a number of operations in proportion to its size lies between two changes, so each is O(1), amortised. A table of two
// has no memory of its own. What moves at once is one table's share, a thousandth of all holdings: abstract_locks.cpp
// has so many tables, each with a lock of its own. Where memory runs out, a table first fills up.
//
// Not thread-safe. The holdings belong to their holders.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::core {

class descriptor;

struct lock_name {
    const void* of;
    std::uint64_t key;
    bool operator==(const lock_name&) const = default;
};

/// Its upper bits are the better ones: those of a product depend on all bits of the factors.
[[nodiscard]] inline std::uint64_t hash_of(const lock_name& n) noexcept {
    return (reinterpret_cast<std::uintptr_t>(n.of) ^ n.key * 0x9E3779B97F4A7C15U) * 0xD6E8FEB86659FD93U;
}

/// One lock that one transaction holds, or claims: in a table and in the list of its holder.
struct abstract_holding {
    lock_name name;
    bool shared;
    descriptor* who;
    std::uint64_t age;
    abstract_holding* next_of_holder = nullptr;
    bool held = true;                    // false: it is a claim and no more
    bool claimed_alone = false;          // `who` waits to have the lock for itself: abstract_locks.hpp
    abstract_holding* next = nullptr;    // of the same lock; the table's
    abstract_holding* before = nullptr;  // the last one for the first; the table's

    /// Whether it stands before those that only share the lock.
    [[nodiscard]] bool comes_first() const noexcept { return !shared || claimed_alone; }
};

class holding_table {
public:
    /// The upper bits of a hash, which choose the table.
    static constexpr unsigned bits_of_table = 10;

    struct finding {
        abstract_holding* of;  // null: there is none
        std::size_t looks;     // the number of slots that the search looked at
    };

    constexpr holding_table() noexcept = default;
    holding_table(const holding_table&) = delete;
    holding_table& operator=(const holding_table&) = delete;

    /// Finds the first holding of the lock. `next` leads from it to the others, exclusive ones and claims first.
    [[nodiscard]] finding first(const lock_name& name, std::uint64_t hash) const noexcept;
    /// Finds a holding of the lock that belongs to `who`.
    [[nodiscard]] finding held_by(const descriptor& who, const lock_name& name, std::uint64_t hash) const noexcept;
    /// Makes room for one more. Throws std::bad_alloc.
    void make_room();
    /// REQUIRES: there is room for it.
    void insert(abstract_holding& h, std::uint64_t hash) noexcept;
    /// REQUIRES: it is in the table.
    void remove(abstract_holding& h, std::uint64_t hash) noexcept;
    /// In the child of a fork: empties the table, whatever another thread was in the middle of.
    void attempt_fail() noexcept;

    [[nodiscard]] bool is_empty() const noexcept { return held_ == 0; }
    [[nodiscard]] std::size_t slots() const noexcept { return std::size_t{1} << bits_; }

private:
    struct slot {
        std::uint64_t hash = 0;
        abstract_holding* of = nullptr;  // null: empty, as one always is
    };
    static constexpr unsigned fewest_bits = 2;

    [[nodiscard]] slot* begin() noexcept { return many_ != nullptr ? many_ : few_; }
    [[nodiscard]] const slot* begin() const noexcept { return many_ != nullptr ? many_ : few_; }
    [[nodiscard]] std::size_t home(std::uint64_t hash) const noexcept { return hash << bits_of_table >> (64 - bits_); }
    [[nodiscard]] std::size_t behind(std::size_t at) const noexcept { return (at + 1) & (slots() - 1); }
    /// The slot of `h`. REQUIRES: it has one, under that hash.
    [[nodiscard]] std::size_t place_of(const abstract_holding& h, std::uint64_t hash) const noexcept;
    void put(const slot& s) noexcept;
    void erase(std::size_t hole) noexcept;
    /// Does nothing where memory runs out.
    void resize(unsigned bits) noexcept;

    std::size_t held_ = 0;
    slot* many_ = nullptr;
    unsigned bits_ = fewest_bits;
    slot few_[std::size_t{1} << fewest_bits];  // in use while `many_` is null
};

}  // namespace tutti::core
