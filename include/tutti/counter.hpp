/// @file
/// A number that everybody bumps.
#pragma once

#include <cstdint>

#include "tutti/atomically.hpp"

namespace tutti {

namespace detail {

/// The number of the context that runs `t`: small, and no other running context's.
[[nodiscard]] TUTTI_EXPORT std::uint32_t context_number(const tx& t) noexcept;

}  // namespace detail

/// A counter whose increments commute: transactions that add to it never conflict with each other over it, however many
/// and however often. A transaction that reads it sees the sum of all additions that come before it in the serial order
/// (its own included), and so does conflict with additions of others, like any reader with writers.
///
/// Every context adds to a cell of its own on a cache line of its own, 1 KiB for the first sixteen contexts and as much
/// for each further sixteen. `add` is one read and one write; `get` reads every cell. Sums wrap around.
///
/// Striping: Dice, Lev, Moir, "Scalable Statistics Counters", SPAA 2013; the cells are variables, which is what makes a
/// read consistent.
class counter {
public:
    explicit counter(std::int64_t initial = 0) : first_{initial} {}
    counter(const counter&) = delete;
    counter& operator=(const counter&) = delete;
    ~counter() {
        for (block* b = first_.next.load(); b != nullptr;) delete std::exchange(b, b->next.load());
    }

    void add(tx& t, std::int64_t n) {
        var<std::uint64_t>& mine = cell_of(t, detail::context_number(t));
        mine.set(t, mine.get(t) + static_cast<std::uint64_t>(n));
    }
    [[nodiscard]] std::int64_t get(tx& t) const {
        std::uint64_t sum = 0;
        for (const block* b = &first_; b != nullptr; b = b->next.get(t)) {
            for (const cell& c : b->cells) sum += c.value.get(t);
        }
        return static_cast<std::int64_t>(sum);
    }

    /// As transactions of their own, or as part of the running one.
    void add(std::int64_t n) {
        atomically({.name = "counter::add", .nesting = nesting::flat}, [&](tx& t) { add(t, n); });
    }
    [[nodiscard]] std::int64_t load() const {
        return atomically({.name = "counter::load", .read_only = true, .nesting = nesting::flat},
                          [this](tx& t) { return get(t); });
    }

private:
    struct alignas(64) cell {
        var<std::uint64_t> value{0};
    };
    static constexpr std::uint32_t cells_per_block = 16;
    struct block {
        explicit block(std::int64_t initial = 0) {
            if (initial != 0) cells[0].value.store(static_cast<std::uint64_t>(initial));
        }
        cell cells[cells_per_block];
        var<block*> next{nullptr};
    };

    var<std::uint64_t>& cell_of(tx& t, std::uint32_t number) {
        block* b = &first_;
        for (; number >= cells_per_block; number -= cells_per_block) {
            block* next = b->next.get(t);
            if (next == nullptr) {
                next = create<block>(t);
                b->next.set(t, next);
            }
            b = next;
        }
        return b->cells[number].value;
    }

    block first_;
};

}  // namespace tutti
