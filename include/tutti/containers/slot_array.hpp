/// @file
/// The slot storage of containers that grow.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "tutti/memory.hpp"

namespace tutti {

/// Slots numbered 0, 1, 2, …, made on demand in chunks. A slot never moves, and lives as long as the array.
///
/// Making slots is not part of any transaction. The slots stay if the block that needed them is rolled back, and making
/// slots never causes a conflict. This is sound if a fresh slot means the same as a missing slot; the container has to
/// ensure this. Transactions share only the variables within the slots. Growth copies nothing, but doubles the
/// directory by adding to it: Dechev, Pirkelbauer, Stroustrup, "Lock-Free Dynamically Resizable Arrays", OPODIS 2006.
///
/// Thread safety: you can call every member except the destructor from any thread.
///
/// @tparam Slot  constructible from its number, without throwing. The owner of the array must finally destroy
/// everything that a slot owns. If two threads make the same chunk, one thread discards its copy, possibly within a
/// transaction.
template <class Slot>
    requires(std::is_nothrow_constructible_v<Slot, std::size_t> && std::is_trivially_destructible_v<Slot>)
class slot_array {
public:
    static constexpr std::size_t chunk_size = 128;

    slot_array() = default;
    slot_array(const slot_array&) = delete;
    slot_array& operator=(const slot_array&) = delete;
    ~slot_array() {
        for (std::size_t r = 0; r < rows_.size(); ++r) {
            row* const of = rows_[r].load(std::memory_order_relaxed);
            if (of == nullptr) continue;
            for (std::size_t c = 0; c < row_length(r); ++c) {
                Slot* const chunk = of[c].load(std::memory_order_relaxed);
                if (chunk != nullptr) detail::dispose(chunk, [](void* p) { discard_chunk(static_cast<Slot*>(p)); });
            }
            delete[] of;
        }
    }

    /// Returns the slot of that number, or null if `find_or_create` has not made its chunk yet. O(1).
    [[nodiscard]] Slot* find(std::size_t number) const noexcept {
        const location at{number};
        const row* const of = rows_[at.row].load(std::memory_order_acquire);  // pairs with the release in `install`
        if (of == nullptr) return nullptr;
        Slot* const chunk = of[at.chunk].load(std::memory_order_acquire);  // pairs with the release in `install`, too
        return chunk == nullptr ? nullptr : chunk + at.slot;
    }

    /// Returns the slot of that number, and makes its chunk if necessary. O(1), except for the calls that make a chunk
    /// (one of every `chunk_size` calls) or extend the directory. Throws std::bad_alloc.
    [[nodiscard]] Slot& find_or_create(std::size_t number) {
        if (Slot* const there = find(number)) [[likely]]
            return *there;
        const location at{number};
        row* of = rows_[at.row].load(std::memory_order_acquire);
        if (of == nullptr) {
            row* const fresh = new row[row_length(at.row)]{};
            of = install(rows_[at.row], fresh);
            if (of != fresh) delete[] fresh;
        }
        Slot* const fresh = make_chunk(number - at.slot);
        Slot* const chunk = install(of[at.chunk], fresh);
        if (chunk != fresh) discard_chunk(fresh);
        return chunk[at.slot];
    }

    /// Calls f(Slot&) for every slot that has been made.
    template <std::invocable<Slot&> F>
    void for_each(F f) const {
        for (std::size_t r = 0; r < rows_.size(); ++r) {
            const row* const of = rows_[r].load(std::memory_order_acquire);
            for (std::size_t c = 0; of != nullptr && c < row_length(r); ++c) {
                Slot* const chunk = of[c].load(std::memory_order_acquire);
                for (std::size_t i = 0; chunk != nullptr && i < chunk_size; ++i) f(chunk[i]);
            }
        }
    }

private:
    /// A row of the directory. Row r has 2^r chunks.
    using row = std::atomic<Slot*>;
    static std::size_t row_length(std::size_t r) noexcept { return std::size_t{1} << r; }

    struct location {
        explicit location(std::size_t number) noexcept {
            const std::size_t from_one = number / chunk_size + 1;
            row = static_cast<unsigned>(std::bit_width(from_one)) - 1;  // the result is int or size_t, depending on the
                                                                        // library's version
            chunk = from_one - row_length(row);
            slot = number % chunk_size;
        }
        std::size_t row, chunk, slot;
    };

    /// Stores `fresh` if `at` is null, and returns the pointer that `at` has afterwards. Release: a thread that loads
    /// the pointer sees the constructed object.
    template <class P>
    static P install(std::atomic<P>& at, P fresh) noexcept {
        P there = nullptr;
        const bool first =
            at.compare_exchange_strong(there, fresh, std::memory_order_acq_rel, std::memory_order_acquire);
        return first ? fresh : there;
    }

    static Slot* make_chunk(std::size_t first) {
        Slot* const chunk = std::allocator<Slot>{}.allocate(chunk_size);
        for (std::size_t i = 0; i < chunk_size; ++i) std::construct_at(chunk + i, first + i);
        return chunk;
    }
    static void discard_chunk(Slot* chunk) noexcept { std::allocator<Slot>{}.deallocate(chunk, chunk_size); }

    std::array<std::atomic<row*>, 48> rows_{};
};

}  // namespace tutti
