/// @file
/// A growing array for transactions.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include "tutti/containers/calls.hpp"
#include "tutti/containers/slot_array.hpp"
#include "tutti/memory.hpp"
#include "tutti/var.hpp"

namespace tutti {

/// An array that transactions can read, change, and lengthen or shorten at its end.
///
/// **Conflicts.** `get` and `set` conflict only over the same index. `push_back` and `pop_back` conflict with every
/// operation that reads or changes the length. These operations are `push_back` and `pop_back` themselves, `size`,
/// `empty`, `back`, `for_each`, and also `at`, which checks the length. Growth conflicts with nothing, and moves
/// nothing.
///
/// **Exceptions.** An operation that throws, because a copy throws or memory runs out, has no effect. This also holds
/// if the block catches the exception and commits.
///
/// **Memory.** An element takes 16 bytes if T is trivially copyable and has at most eight bytes. Any other element
/// takes 16 bytes and a node of its own. Slots come in chunks of 128, which the vector keeps until its destruction.
///
/// @tparam T  any copyable type
template <class T>
class vector {
    static_assert(detail::require_copyable<T>());

    static constexpr bool in_slot = std::is_trivially_copyable_v<T> && sizeof(T) <= 8;

public:
    using value_type = T;
    /// The type that a read of an element returns: a copy of a small element, otherwise a reference. A reference is
    /// valid until the outermost block ends. A reference to an element that this transaction has stored ends earlier.
    /// Such a reference is valid until the transaction replaces or removes the element, or rolls back the nested block
    /// that stored the element.
    using reading = std::conditional_t<in_slot, T, const T&>;

    vector() = default;
    vector(const vector&) = delete;
    vector& operator=(const vector&) = delete;
    /// REQUIRES: no transaction can reach the vector.
    ~vector() {
        if constexpr (!in_slot) slots_.for_each([](const slot& s) { delete s.value.load(); });
    }

    /// Returns the element at that index. O(1). REQUIRES: index < size.
    [[nodiscard]] reading get(tx& t, std::size_t index) const { return slots_.find(index)->get(t); }
    /// Returns the element at that index. O(1).
    /// @throws std::out_of_range  if there is no such index
    [[nodiscard]] reading at(tx& t, std::size_t index) const {
        if (index >= size(t)) throw std::out_of_range{"tutti::vector::at: there is no such index"};
        return get(t, index);
    }
    /// Replaces an element. O(1). REQUIRES: index < size.
    void set(tx& t, std::size_t index, const T& value) { slots_.find(index)->set(t, value); }

    /// Appends an element. O(1), except for one call in 128, which makes the slots.
    void push_back(tx& t, const T& value) {
        const std::size_t end = size_.get(t);
        slot& last = slots_.find_or_create(end);
        detail::unlinked<1> made{t};
        const auto fresh = slot::make(made, value);
        last.replace(t, fresh, made, 2);
        size_.set(t, end + 1);
    }
    /// Removes and returns the last element, or returns nullopt. O(1).
    std::optional<T> pop_back(tx& t) {
        std::optional<T> value;  // the only return value, so that returning it needs no copy
        const std::size_t end = size_.get(t);
        if (end == 0) return value;
        slot& last = *slots_.find(end - 1);
        value.emplace(last.get(t));
        detail::reserve(t, 2, 1);
        last.clear(t);
        size_.set(t, end - 1);
        return value;
    }
    /// Returns a copy of the last element, or nullopt. O(1).
    [[nodiscard]] std::optional<T> back(tx& t) const {
        const std::size_t end = size_.get(t);
        return end != 0 ? std::optional<T>{get(t, end - 1)} : std::nullopt;
    }
    /// Removes all elements. O(n).
    void clear(tx& t) {
        const std::size_t end = size_.get(t);
        detail::reserve(t, in_slot ? 1 : end + 1, in_slot ? 0 : end);
        for (std::size_t i = end; i-- != 0;) slots_.find(i)->clear(t);
        size_.set(t, 0);
    }

    [[nodiscard]] std::size_t size(tx& t) const { return size_.get(t); }
    [[nodiscard]] bool empty(tx& t) const { return size_.get(t) == 0; }

    /// Calls f(const T&) for every element, in the order of indices. O(n).
    template <std::invocable<const T&> F>
    void for_each(tx& t, F f) const {
        for_each(t, 0, size_.get(t), f);
    }
    /// Calls f(const T&) for the elements from `first` up to, but not including, `last`. REQUIRES: last <= size.
    template <std::invocable<const T&> F>
    void for_each(tx& t, std::size_t first, std::size_t last, F f) const {
        for (std::size_t i = first; i < last; ++i) f(get(t, i));
    }

    // ---- Each of these operations is a transaction of its own, or part of the transaction that this thread runs.

    /// Returns a copy of the element at that index.
    /// @throws std::out_of_range  if there is no such index
    [[nodiscard]] T at(std::size_t index, std::source_location at = std::source_location::current()) const {
        return detail::read_at_once([&](tx& t) { return T{this->at(t, index)}; }, at);
    }
    /// Replaces the element at that index.
    /// @throws std::out_of_range  if there is no such index
    void set(std::size_t index, const T& value, std::source_location at = std::source_location::current()) {
        atomically(
            [&](tx& t) {
                if (index >= size(t)) throw std::out_of_range{"tutti::vector::set: there is no such index"};
                set(t, index, value);
            },
            at);
    }
    void push_back(const T& value, std::source_location at = std::source_location::current()) {
        atomically([&](tx& t) { push_back(t, value); }, at);
    }
    std::optional<T> pop_back(std::source_location at = std::source_location::current()) {
        return atomically([&](tx& t) { return pop_back(t); }, at);
    }
    [[nodiscard]] std::optional<T> back(std::source_location at = std::source_location::current()) const {
        return detail::read_at_once([&](tx& t) { return back(t); }, at);
    }
    [[nodiscard]] std::size_t size(std::source_location at = std::source_location::current()) const {
        return detail::read_at_once([&](tx& t) { return size(t); }, at);
    }
    void clear(std::source_location at = std::source_location::current()) {
        atomically([&](tx& t) { clear(t); }, at);
    }

private:
    /// A slot stores a small value as bytes, so that T needs no default constructor. For a value of any other type, a
    /// slot stores a pointer to the value, or null.
    struct slot {
        using bytes = std::array<std::byte, sizeof(T)>;
        using stored = std::conditional_t<in_slot, bytes, const T*>;

        explicit slot(std::size_t) noexcept {}
        [[nodiscard]] reading get(tx& t) const {
            if constexpr (in_slot) return std::bit_cast<T>(value.get(t));
            else return *value.get(t);
        }
        /// Returns the value to store for `v`: its bytes, or a pointer to a copy.
        static stored make(detail::unlinked<1>& made, const T& v) {
            if constexpr (in_slot) return std::bit_cast<bytes>(v);
            else return made.template make<T>(v);
        }
        /// Replaces the value. Reserves log space for `writes` writes, and makes one of them. Has no effect if it
        /// throws.
        void replace(tx& t, const stored& fresh, detail::unlinked<1>& made, std::size_t writes) {
            if constexpr (in_slot) {
                if (writes != 1) detail::reserve(t, writes, 0);
                value.set(t, fresh);
            } else {
                const T* const old = value.get(t);
                detail::reserve(t, writes, 1);
                value.set(t, fresh);
                made.keep();
                detail::destroy_value<T>(t, old);
            }
        }
        void set(tx& t, const T& v) {
            detail::unlinked<1> made{t};
            const stored fresh = make(made, v);
            replace(t, fresh, made, 1);
        }
        /// REQUIRES: log space for one write and one retirement is reserved.
        void clear(tx& t) {
            if constexpr (!in_slot) {
                const T* const old = value.get(t);
                value.set(t, nullptr);
                detail::destroy_value<T>(t, old);
            }
        }

        var<stored> value{stored{}};
    };

    slot_array<slot> slots_;
    alignas(64) var<std::size_t> size_{0};  // not in the cache line of the directory, which readers of elements use
};

}  // namespace tutti
