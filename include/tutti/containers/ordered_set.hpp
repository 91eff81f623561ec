/// @file
/// A sorted set for transactions.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "tutti/containers/calls.hpp"
#include "tutti/containers/element_tree.hpp"

namespace tutti {

/// A set in the order of its keys, with range scans. Transactions read and change the set.
///
/// **Conflicts.** As in `ordered_map`, an insertion or erasure conflicts with uses of up to 15 neighbouring keys. A
/// scan conflicts with insertions and erasures in its range.
///
/// **Exceptions.** An operation that throws, because a copy or the comparison throws or memory runs out, has no effect.
/// This also holds if the block catches the exception and commits.
///
/// **Memory.** An element takes its key, and 16 to 32 bytes in its leaf.
///
/// @tparam Key      any copyable type; a key is constant once it is in the set
/// @tparam Compare  a strict weak order of keys; if transparent, look-ups accept every type that it compares with a key
template <class Key, class Compare = std::less<Key>>
class ordered_set {
    static_assert(detail::require_copyable_key<Key>());

public:
    using key_type = Key;
    using value_type = Key;

    ordered_set() = default;
    explicit ordered_set(Compare less) : tree_{std::move(less)} {}
    // The destructor REQUIRES: no transaction can reach the set.

    /// Returns true if the set has the key. Unless stated otherwise, this and all following operations are O(log n).
    [[nodiscard]] bool contains(tx& t, const Key& key) const { return tree_.find(t, key) != nullptr; }
    template <class K>
        requires detail::transparent<Compare>
    [[nodiscard]] bool contains(tx& t, const K& key) const {
        return tree_.find(t, key) != nullptr;
    }
    /// Inserts the key. Returns true if it is new.
    bool insert(tx& t, const Key& key) {
        return tree_.put(t, key, [&](auto& made) { return made.template make<element>(key); }) == nullptr;
    }
    /// Removes the key. Returns true if it existed.
    bool erase(tx& t, const Key& key) { return drop(t, tree_.remove(t, key)); }
    template <class K>
        requires detail::transparent<Compare>
    bool erase(tx& t, const K& key) {
        return drop(t, tree_.remove(t, key));
    }
    /// Removes all keys. O(n).
    void clear(tx& t) { tree_.clear(t); }

    /// Returns the first key that is not below `key`, or nullopt.
    [[nodiscard]] std::optional<Key> lower_bound(tx& t, const Key& key) const { return first_of(t, {&key, false}); }
    /// Returns the first key that is above `key`, or nullopt.
    [[nodiscard]] std::optional<Key> upper_bound(tx& t, const Key& key) const { return first_of(t, {&key, true}); }
    /// Returns the lowest key, or nullopt.
    [[nodiscard]] std::optional<Key> front(tx& t) const { return copy_of(tree_.first(t)); }
    /// Returns the highest key, or nullopt.
    [[nodiscard]] std::optional<Key> back(tx& t) const { return copy_of(tree_.last(t)); }
    /// Removes and returns the lowest key, or returns nullopt.
    std::optional<Key> pop_front(tx& t) { return pop(t, tree_.first(t)); }
    /// Removes and returns the highest key, or returns nullopt.
    std::optional<Key> pop_back(tx& t) { return pop(t, tree_.last(t)); }

    /// Calls f(const Key&) for every key in order. `f` may erase the key for which it is called. If `f` returns bool,
    /// false ends the scan. O(n).
    template <std::invocable<const Key&> F>
    void for_each(tx& t, F f) const {
        tree_.scan(t, {}, [&](element& e) { return visit(e, f); });
    }
    /// Calls `f` in the same way for the keys from `first` up to, but not including, `last`. O(log n + keys in the
    /// range).
    template <std::invocable<const Key&> F>
    void for_each(tx& t, const Key& first, const Key& last, F f) const {
        tree_.scan(t, {&first, false}, [&](element& e) { return tree_.less()(e.key, last) && visit(e, f); });
    }

    /// Counts the keys. Conflicts with every insertion and erasure. O(n): visits every leaf of the tree, but not every
    /// key. A leaf usually holds about ten keys.
    [[nodiscard]] std::size_t size(tx& t) const { return tree_.size(t); }
    /// O(1).
    [[nodiscard]] bool empty(tx& t) const { return tree_.empty(t); }

    // ---- Each of these operations is a transaction of its own, or part of the transaction that this thread runs.

    [[nodiscard]] bool contains(const Key& key, std::source_location at = std::source_location::current()) const {
        return detail::read_at_once([&](tx& t) { return contains(t, key); }, at);
    }
    bool insert(const Key& key, std::source_location at = std::source_location::current()) {
        return atomically([&](tx& t) { return insert(t, key); }, at);
    }
    bool erase(const Key& key, std::source_location at = std::source_location::current()) {
        return atomically([&](tx& t) { return erase(t, key); }, at);
    }
    [[nodiscard]] std::size_t size(std::source_location at = std::source_location::current()) const {
        return detail::read_at_once([&](tx& t) { return size(t); }, at);
    }

private:
    struct element {
        explicit element(const Key& k) : key{k} {}
        const Key key;
    };
    using tree = element_tree<element, Compare>;

    static bool drop(tx& t, element* e) {
        tutti::destroy(t, e);
        return e != nullptr;
    }
    static std::optional<Key> copy_of(const element* e) {
        return e != nullptr ? std::optional<Key>{e->key} : std::nullopt;
    }
    std::optional<Key> pop(tx& t, element* e) {
        std::optional<Key> popped = copy_of(e);
        if (e != nullptr) drop(t, tree_.remove(t, e->key));
        return popped;
    }
    template <class F>
    static bool visit(const element& e, F& f) {
        if constexpr (std::is_same_v<std::invoke_result_t<F&, const Key&>, bool>) {
            return f(e.key);
        } else {
            f(e.key);
            return true;
        }
    }
    std::optional<Key> first_of(tx& t, const typename tree::bound& from) const {
        std::optional<Key> first;
        tree_.scan(t, from, [&](element& e) {
            first.emplace(e.key);
            return false;
        });
        return first;
    }

    tree tree_;
};

}  // namespace tutti
