/// @file
/// A sorted map for transactions in which a key may have several values.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "tutti/containers/calls.hpp"
#include "tutti/containers/element_tree.hpp"

namespace tutti {

template <class T, class Compare>
class priority_queue;

/// A map in the order of its keys, in which a key may have several values. Equal keys are approximately in the order of
/// their insertion.
///
/// **Conflicts.** As in `ordered_map`, an insertion or erasure conflicts with uses of up to 15 neighbouring keys.
///
/// **Order of equal keys.** Each insertion draws a number outside all transactions, so that insertions do not conflict
/// over a counter. If two blocks insert an equal key at the same time, the element of the block that commits first may
/// come second.
///
/// **Exceptions.** An operation that throws, because a copy or the comparison throws or memory runs out, has no effect.
/// This also holds if the block catches the exception and commits.
///
/// @tparam Key      any copyable type; a key is constant once it is in the map
/// @tparam T        any copyable type
/// @tparam Compare  a strict weak order of keys
template <class Key, class T, class Compare = std::less<Key>>
class ordered_multimap {
    static_assert(detail::require_copyable_key<Key>());
    static_assert(detail::require_copyable<T>());

public:
    using key_type = Key;
    using mapped_type = T;
    using value_type = std::pair<Key, T>;  ///< a returned element: a copy of key and value

    ordered_multimap() = default;
    explicit ordered_multimap(Compare less) : tree_{order{std::move(less)}} {}
    // The destructor REQUIRES: no transaction can reach the map.

    /// Inserts an element. Unless stated otherwise, this and all following operations are O(log n).
    void insert(tx& t, const Key& key, const T& value) {
        const place at{key, drawn_.fetch_add(1, std::memory_order_relaxed)};
        tree_.put(t, at, [&](auto& made) { return made.template make<element>(at, value); });
    }
    /// Returns the value of the first element with that key, or nullopt.
    [[nodiscard]] std::optional<T> find(tx& t, const Key& key) const {
        std::optional<T> found;
        visit_equal(t, key, [&](element& e) {
            found.emplace(e.value.get(t));
            return false;
        });
        return found;
    }
    [[nodiscard]] bool contains(tx& t, const Key& key) const { return count_up_to(t, key, 1) != 0; }
    /// Returns the number of elements with that key. O(log n + their number).
    [[nodiscard]] std::size_t count(tx& t, const Key& key) const { return count_up_to(t, key, ~std::size_t{0}); }

    /// Removes all elements with that key, and returns their number. O(log n) for each.
    std::size_t erase(tx& t, const Key& key) {
        const std::size_t count = this->count(t, key);
        const auto erase_all = [&](tx& inner) {
            for (std::size_t left = count; left != 0; --left) remove(inner, *first_of(inner, key), [](element&) {});
        };
        if (count > 1) detail::run_nested<false>(t, detail::no_options, erase_all);  // removes all elements or none
        else erase_all(t);
        return count;
    }
    /// Removes the first element with that key and returns its value, or nullopt.
    std::optional<T> extract(tx& t, const Key& key) {
        std::optional<T> value;
        const element* const first = first_of(t, key);
        if (first != nullptr) remove(t, *first, [&](element& e) { value.emplace(e.value.get(t)); });
        return value;
    }
    /// Removes and returns the element with the lowest key, or returns nullopt.
    std::optional<value_type> pop_front(tx& t) { return pop(t, tree_.first(t)); }
    /// Removes and returns the element with the highest key, or returns nullopt.
    std::optional<value_type> pop_back(tx& t) { return pop(t, tree_.last(t)); }
    /// Removes all elements. O(n).
    void clear(tx& t) { tree_.clear(t); }

    /// Returns the element with the lowest key, or nullopt.
    [[nodiscard]] std::optional<value_type> front(tx& t) const { return copy_of(t, tree_.first(t)); }
    /// Returns the element with the highest key, or nullopt.
    [[nodiscard]] std::optional<value_type> back(tx& t) const { return copy_of(t, tree_.last(t)); }

    /// Calls f(const T&) for every value of the key. O(log n + number of values).
    template <std::invocable<const T&> F>
    void for_each_of(tx& t, const Key& key, F f) const {
        visit_equal(t, key, [&](element& e) {
            f(e.value.get(t));
            return true;
        });
    }
    /// Calls f(const Key&, const T&) for every element in order. O(n).
    template <std::invocable<const Key&, const T&> F>
    void for_each(tx& t, F f) const {
        tree_.scan(t, {}, [&](element& e) {
            f(e.key.first, e.value.get(t));
            return true;
        });
    }

    /// Counts the elements. Conflicts with every insertion and erasure. O(n / 10).
    [[nodiscard]] std::size_t size(tx& t) const { return tree_.size(t); }
    /// O(1).
    [[nodiscard]] bool empty(tx& t) const { return tree_.empty(t); }

    // ---- Each of these operations is a transaction of its own, or part of the transaction that this thread runs.

    void insert(const Key& key, const T& value, std::source_location at = std::source_location::current()) {
        atomically([&](tx& t) { insert(t, key, value); }, at);
    }
    [[nodiscard]] std::optional<T> extract(const Key& key, std::source_location at = std::source_location::current()) {
        return atomically([&](tx& t) { return extract(t, key); }, at);
    }
    [[nodiscard]] std::size_t size(std::source_location at = std::source_location::current()) const {
        return detail::read_at_once([&](tx& t) { return size(t); }, at);
    }

private:
    using place = std::pair<Key, std::uint64_t>;  // a key and the number of its insertion

    struct order {
        bool operator()(const place& a, const place& b) const {
            if (less(a.first, b.first)) return true;
            return !less(b.first, a.first) && a.second < b.second;
        }
        [[no_unique_address]] Compare less{};
    };
    struct element {
        element(const place& k, const T& v) : key{k}, value{v} {}
        const place key;
        var<T> value;
    };

    /// Calls f(element&) for the elements with that key, in order, until `f` returns false.
    template <class F>
    void visit_equal(tx& t, const Key& key, const F& f) const {
        const place first{key, 0};
        tree_.scan(t, {&first, false}, [&](element& e) { return !tree_.less().less(key, e.key.first) && f(e); });
    }
    std::size_t count_up_to(tx& t, const Key& key, std::size_t limit) const {
        std::size_t count = 0;
        visit_equal(t, key, [&](element&) { return ++count < limit; });
        return count;
    }
    static std::optional<value_type> copy_of(tx& t, const element* e) {
        return e != nullptr ? std::optional<value_type>{{e->key.first, e->value.get(t)}} : std::nullopt;
    }
    element* first_of(tx& t, const Key& key) const {
        element* first = nullptr;
        visit_equal(t, key, [&](element& e) {
            first = &e;
            return false;
        });
        return first;
    }
    template <class F>
    void remove(tx& t, const element& e, const F& before) {
        tutti::destroy(t, tree_.remove(t, e.key, before));
    }
    std::optional<value_type> pop(tx& t, const element* e) {
        std::optional<value_type> popped;  // the only return value, so that returning it needs no copy
        if (e != nullptr) {
            popped.emplace(e->key.first, e->value.get(t));
            remove(t, *e, [](element&) {});
        }
        return popped;
    }
    /// Removes the element with the lowest key. Calls `copy` with the key before the removal. Returns false if the map
    /// is empty.
    template <class F>
    bool pop_key(tx& t, const F& copy) {
        const element* const e = tree_.first(t);
        if (e != nullptr) remove(t, *e, [&](element& first) { copy(first.key.first); });
        return e != nullptr;
    }
    [[nodiscard]] const Key* lowest(tx& t) const {
        const element* const e = tree_.first(t);
        return e != nullptr ? &e->key.first : nullptr;
    }
    template <class U, class Order>
    friend class priority_queue;

    element_tree<element, order> tree_;
    std::atomic<std::uint64_t> drawn_{0};
};

}  // namespace tutti
