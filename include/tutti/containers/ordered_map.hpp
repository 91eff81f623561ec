/// @file
/// A sorted map for transactions.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "tutti/containers/calls.hpp"
#include "tutti/containers/element_tree.hpp"

namespace tutti {

/// A map in the order of its keys, with range scans. Transactions read and change the map.
///
/// **Conflicts.** An insertion or erasure conflicts with every look-up, insertion and erasure of a key in the same
/// leaf, which has up to 15 neighbouring keys. About one update in eight, or fewer, splits a leaf or empties it. This
/// update also conflicts with updates in the neighbouring leaves. An assignment to a key conflicts only with uses of
/// that key. A scan conflicts with insertions, erasures and assignments in its range, up to the borders of its outer
/// leaves.
///
/// **Structure.** The map is a B+-tree whose leaves are replaced rather than changed (`element_tree`). A look-up reads
/// one variable per level, which is four or five for 64 Ki elements.
///
/// **Exceptions.** An operation that throws, because a copy or the comparison throws or memory runs out, has no effect.
/// This also holds if the block catches the exception and commits.
///
/// **Memory.** An element takes its key, a `var`, and 16 to 32 bytes in its leaf.
///
/// @tparam Key      any copyable type; a key is constant once it is in the map
/// @tparam T        any copyable type
/// @tparam Compare  a strict weak order of keys
template <class Key, class T, class Compare = std::less<Key>>
class ordered_map {
    static_assert(detail::require_copyable_key<Key>());
    static_assert(detail::require_copyable<T>());

public:
    using key_type = Key;
    using mapped_type = T;
    using value_type = std::pair<Key, T>;  ///< a returned element: a copy of key and value

    ordered_map() = default;
    explicit ordered_map(Compare less) : tree_{std::move(less)} {}
    // The destructor REQUIRES: no transaction can reach the map.

    /// Returns a copy of the key's value, or nullopt. Unless stated otherwise, this and all following operations are
    /// O(log n).
    [[nodiscard]] std::optional<T> find(tx& t, const Key& key) const { return value_of(t, tree_.find(t, key)); }
    /// @throws std::out_of_range  if there is no such key
    [[nodiscard]] T at(tx& t, const Key& key) const { return value_at(t, tree_.find(t, key)); }
    [[nodiscard]] bool contains(tx& t, const Key& key) const { return tree_.find(t, key) != nullptr; }

    /// Inserts the element if the key is new. Returns true if the element was inserted.
    bool insert(tx& t, const Key& key, const T& value) { return put(t, key, value) == nullptr; }
    /// Inserts the element, or replaces the value of an existing key. Returns true if the key is new.
    bool insert_or_assign(tx& t, const Key& key, const T& value) {
        element* const there = put(t, key, value);
        if (there != nullptr) there->value.set(t, value);
        return there == nullptr;
    }
    /// Replaces the key's value by f(value). Returns true if the key exists.
    template <std::invocable<const T&> F>
    bool update(tx& t, const Key& key, F f) {
        return update_in(t, tree_.find(t, key), f);
    }
    /// Removes the key. Returns true if it existed.
    bool erase(tx& t, const Key& key) { return drop(t, tree_.remove(t, key)); }
    /// Removes the key and returns its value, or nullopt.
    [[nodiscard]] std::optional<T> extract(tx& t, const Key& key) { return remove(t, key); }
    /// Removes all elements. O(n).
    void clear(tx& t) { tree_.clear(t); }

    // ---- The same operations for keys of other types, if Compare is transparent: std::less<> accepts a
    // std::string_view for a std::string.

    template <class K>
        requires detail::transparent<Compare>
    [[nodiscard]] std::optional<T> find(tx& t, const K& key) const {
        return value_of(t, tree_.find(t, key));
    }
    template <class K>
        requires detail::transparent<Compare>
    [[nodiscard]] T at(tx& t, const K& key) const {
        return value_at(t, tree_.find(t, key));
    }
    template <class K>
        requires detail::transparent<Compare>
    [[nodiscard]] bool contains(tx& t, const K& key) const {
        return tree_.find(t, key) != nullptr;
    }
    template <class K, std::invocable<const T&> F>
        requires detail::transparent<Compare>
    bool update(tx& t, const K& key, F f) {
        return update_in(t, tree_.find(t, key), f);
    }
    template <class K>
        requires detail::transparent<Compare>
    bool erase(tx& t, const K& key) {
        return drop(t, tree_.remove(t, key));
    }
    template <class K>
        requires detail::transparent<Compare>
    [[nodiscard]] std::optional<T> extract(tx& t, const K& key) {
        return remove(t, key);
    }

    /// Returns the first element whose key is not below `key`, or nullopt.
    [[nodiscard]] std::optional<value_type> lower_bound(tx& t, const Key& key) const {
        return first_of(t, {&key, false});
    }
    /// Returns the first element whose key is above `key`, or nullopt.
    [[nodiscard]] std::optional<value_type> upper_bound(tx& t, const Key& key) const {
        return first_of(t, {&key, true});
    }
    /// Returns the element with the lowest key, or nullopt.
    [[nodiscard]] std::optional<value_type> front(tx& t) const { return first_of(t, {}); }
    /// Returns the element with the highest key, or nullopt.
    [[nodiscard]] std::optional<value_type> back(tx& t) const {
        const element* const e = tree_.last(t);
        return e != nullptr ? std::optional{copy_of(t, *e)} : std::nullopt;
    }

    /// Removes and returns the element with the lowest key, or returns nullopt.
    std::optional<value_type> pop_front(tx& t) { return pop(t, tree_.first(t)); }
    /// Removes and returns the element with the highest key, or returns nullopt.
    std::optional<value_type> pop_back(tx& t) { return pop(t, tree_.last(t)); }

    /// Calls f(const Key&, const T&) for every element in order. `f` may erase the element for which it is called, and
    /// may assign to any element. If `f` returns bool, false ends the scan. O(elements).
    template <std::invocable<const Key&, const T&> F>
    void for_each(tx& t, F f) const {
        tree_.scan(t, {}, [&](element& e) { return visit(t, e, f); });
    }
    /// Calls `f` in the same way for the keys from `first` up to, but not including, `last`. O(log n + elements in the
    /// range).
    template <std::invocable<const Key&, const T&> F>
    void for_each(tx& t, const Key& first, const Key& last, F f) const {
        tree_.scan(t, {&first, false}, [&](element& e) { return tree_.less()(e.key, last) && visit(t, e, f); });
    }

    /// Counts the elements. Conflicts with every insertion and erasure. O(n / 10).
    [[nodiscard]] std::size_t size(tx& t) const { return tree_.size(t); }
    /// O(1). Conflicts with updates only while the map is empty or almost empty, and when the number of levels changes.
    [[nodiscard]] bool empty(tx& t) const { return tree_.empty(t); }

    // ---- Each of these operations is a transaction of its own, or part of the transaction that this thread runs.

    [[nodiscard]] std::optional<T> find(const Key& key,
                                        std::source_location at = std::source_location::current()) const {
        return detail::read_at_once([&](tx& t) { return find(t, key); }, at);
    }
    [[nodiscard]] bool contains(const Key& key, std::source_location at = std::source_location::current()) const {
        return detail::read_at_once([&](tx& t) { return contains(t, key); }, at);
    }
    bool insert(const Key& key, const T& value, std::source_location at = std::source_location::current()) {
        return atomically([&](tx& t) { return insert(t, key, value); }, at);
    }
    bool insert_or_assign(const Key& key, const T& value, std::source_location at = std::source_location::current()) {
        return atomically([&](tx& t) { return insert_or_assign(t, key, value); }, at);
    }
    template <std::invocable<const T&> F>
    bool update(const Key& key, F f, std::source_location at = std::source_location::current()) {
        return atomically([&](tx& t) { return update(t, key, f); }, at);
    }
    bool erase(const Key& key, std::source_location at = std::source_location::current()) {
        return atomically([&](tx& t) { return erase(t, key); }, at);
    }
    [[nodiscard]] std::optional<T> extract(const Key& key, std::source_location at = std::source_location::current()) {
        return atomically([&](tx& t) { return extract(t, key); }, at);
    }
    [[nodiscard]] std::size_t size(std::source_location at = std::source_location::current()) const {
        return detail::read_at_once([&](tx& t) { return size(t); }, at);
    }
    void clear(std::source_location at = std::source_location::current()) {
        atomically([&](tx& t) { clear(t); }, at);
    }

    /// Calls f(const Key&, const T&) for the elements in order, for monitoring. Reads `batch` elements per transaction.
    /// So this function never blocks other transactions for long, and is never rolled back as a whole. Each element has
    /// a value that it had at some time during the call, and is reported at most once. The function may or may not
    /// report an element that is inserted or erased meanwhile. Calls `f` outside of the transactions. REQUIRES: this
    /// thread runs no transaction.
    template <std::invocable<const Key&, const T&> F>
    void for_each_weakly(F f, std::size_t batch = 64, std::source_location at = std::source_location::current()) const {
        std::vector<value_type> some;
        do {
            const std::optional<Key> last = some.empty() ? std::nullopt : std::optional<Key>{some.back().first};
            detail::read_at_once(
                [&](tx& t) {
                    some.clear();
                    tree_.scan(t, {last ? &*last : nullptr, true}, [&](element& e) {
                        some.push_back(copy_of(t, e));
                        return some.size() < batch;
                    });
                },
                at);
            for (const auto& [key, value] : some) f(key, value);
        } while (some.size() >= batch);
    }

private:
    struct element {
        element(const Key& k, const T& v) : key{k}, value{v} {}
        const Key key;
        var<T> value;
    };
    using tree = element_tree<element, Compare>;

    static std::optional<T> value_of(tx& t, const element* e) {
        return e != nullptr ? std::optional<T>{e->value.get(t)} : std::nullopt;
    }
    static T value_at(tx& t, const element* e) {
        if (e == nullptr) throw std::out_of_range{"tutti::ordered_map::at: there is no such key"};
        return e->value.get(t);
    }
    template <class F>
    static bool update_in(tx& t, element* e, F& f) {
        if (e != nullptr) e->value.update(t, f);
        return e != nullptr;
    }
    // Operations on an element that was removed from the tree.
    static bool drop(tx& t, element* e) {
        tutti::destroy(t, e);
        return e != nullptr;
    }
    template <class K>
    std::optional<T> remove(tx& t, const K& key) {
        std::optional<T> value;
        tutti::destroy(t, tree_.remove(t, key, [&](element& e) { value.emplace(e.value.get(t)); }));
        return value;
    }
    std::optional<value_type> pop(tx& t, element* e) {
        std::optional<value_type> popped;  // the only return value, so that returning it needs no copy
        if (e != nullptr) {
            popped.emplace(e->key, e->value.get(t));
            drop(t, tree_.remove(t, e->key));
        }
        return popped;
    }
    element* put(tx& t, const Key& key, const T& value) {
        return tree_.put(t, key, [&](auto& made) { return made.template make<element>(key, value); });
    }
    template <class F>
    static bool visit(tx& t, const element& e, F& f) {
        if constexpr (std::is_same_v<std::invoke_result_t<F&, const Key&, const T&>, bool>) {
            return f(e.key, e.value.get(t));
        } else {
            f(e.key, e.value.get(t));
            return true;
        }
    }
    static value_type copy_of(tx& t, const element& e) { return {e.key, e.value.get(t)}; }
    std::optional<value_type> first_of(tx& t, const typename tree::bound& from) const {
        std::optional<value_type> first;
        tree_.scan(t, from, [&](element& e) {
            first.emplace(copy_of(t, e));
            return false;
        });
        return first;
    }

    tree tree_;
};

}  // namespace tutti
