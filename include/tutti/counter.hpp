/// @file
/// A number to which many transactions add.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <new>

#include "tutti/atomically.hpp"

namespace tutti {

namespace detail {

/// Returns the number of the context that runs `t`. The number is small and unique among running contexts.
[[nodiscard]] TUTTI_EXPORT std::uint32_t context_number(const tx& t) noexcept;
/// The upper bound of these numbers (exclusive).
inline constexpr std::size_t max_contexts = std::size_t{1} << 20;

}  // namespace detail

/// A counter whose additions commute. Any number of transactions can add to the counter without a conflict with each
/// other. A read returns the sum of all additions that precede the reading transaction in the serial order, and of its
/// own additions. So a read conflicts with additions of other transactions.
///
/// Every context adds to a cell of its own on a cache line of its own. The cells of the first sixteen contexts take 1
/// KiB. Each doubling of the number of contexts takes another block, which is made when one of the new contexts first
/// adds. `add` is one read and one write. For a context beyond the sixteenth, `add` is two reads and one write, however
/// many contexts there are. `get` reads every existing cell. Sums wrap around.
///
/// Striping: Dice, Lev, Moir, "Scalable Statistics Counters", SPAA 2013. Here the cells are variables, which makes a
/// read consistent.
class counter {
public:
    explicit counter(std::int64_t initial = 0) {
        if (initial != 0) first_[0].value.store(static_cast<std::uint64_t>(initial));
    }
    counter(const counter&) = delete;
    counter& operator=(const counter&) = delete;
    ~counter() {
        for (const var<cell*>& block : further_) ::operator delete(block.load(), std::align_val_t{alignof(cell)});
    }

    void add(tx& t, std::int64_t n) {
        var<std::uint64_t>& mine = cell_of(t, detail::context_number(t));
        mine.set(t, mine.get(t) + static_cast<std::uint64_t>(n));
    }
    [[nodiscard]] std::int64_t get(tx& t) const {
        std::uint64_t sum = 0;
        for (const cell& c : first_) sum += c.value.get(t);
        for (std::uint32_t left = made_.get(t); left != 0; left &= left - 1) {
            const auto k = static_cast<std::size_t>(std::countr_zero(left));
            const cell* const block = further_[k].get(t);
            for (std::size_t i = 0; i < cells_in(k); ++i) sum += block[i].value.get(t);
        }
        return static_cast<std::int64_t>(sum);
    }

    /// These functions run as transactions of their own, or as part of the running transaction.
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
    static_assert(std::is_trivially_destructible_v<cell>);
    static constexpr std::size_t cells_at_first = 16;
    static constexpr std::size_t blocks = 16;
    static_assert(cells_at_first << blocks == detail::max_contexts);

    /// Returns the number of cells in block k. This number is also the number of the first context in block k.
    static constexpr std::size_t cells_in(std::size_t k) noexcept { return cells_at_first << k; }

    var<std::uint64_t>& cell_of(tx& t, std::size_t number) {
        if (number < cells_at_first) return first_[number].value;
        const std::size_t k = static_cast<unsigned>(std::bit_width(number / cells_at_first)) - 1;
        cell* block = further_[k].get(t);
        if (block == nullptr) block = make_block(t, k);
        return block[number - cells_in(k)].value;
    }
    /// Makes block k. If the transaction rolls back, the memory of the block is freed. The cells need no destruction.
    TUTTI_COLD cell* make_block(tx& t, std::size_t k) {
        detail::reserve(t, 2, 0);
        void* const memory = detail::allocate(t, cells_in(k) * sizeof(cell), alignof(cell));
        cell* const block = static_cast<cell*>(memory);
        std::uninitialized_value_construct_n(block, cells_in(k));
        further_[k].set(t, block);
        made_.set(t, made_.get(t) | std::uint32_t{1} << k);
        return block;
    }

    cell first_[cells_at_first];
    var<std::uint32_t> made_{0};  // bit k: there is a block k
    var<cell*> further_[blocks];
};

}  // namespace tutti
