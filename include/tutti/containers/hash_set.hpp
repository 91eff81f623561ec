/// @file
/// An unordered set for transactions.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <utility>

#include "tutti/containers/hash_map.hpp"

namespace tutti {

/// A hash set that transactions read and change: a `hash_map` whose elements have no value. Conflicts, growth and
/// memory are those of `hash_map`.
template <class Key, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
class hash_set {
    static_assert(detail::require_copyable_key<Key>());

public:
    using key_type = Key;
    using value_type = Key;

    hash_set() = default;
    /// @param expected  the number of keys to prepare for
    explicit hash_set(std::size_t expected, Hash hash = {}, Equal equal = {})
        : keys_{expected, std::move(hash), std::move(equal)} {}

    /// Returns true if the set has the key. Unless stated otherwise, this and all following operations are expected
    /// O(1).
    [[nodiscard]] bool contains(tx& t, const Key& key) const { return keys_.contains(t, key); }
    template <class K>
        requires(detail::transparent<Hash> && detail::transparent<Equal>)
    [[nodiscard]] bool contains(tx& t, const K& key) const {
        return keys_.contains(t, key);
    }
    /// Inserts the key. Returns true if it is new.
    bool insert(tx& t, const Key& key) { return keys_.insert(t, key, nothing{}); }
    /// Removes the key. Returns true if it existed.
    bool erase(tx& t, const Key& key) { return keys_.erase(t, key); }
    template <class K>
        requires(detail::transparent<Hash> && detail::transparent<Equal>)
    bool erase(tx& t, const K& key) {
        return keys_.erase(t, key);
    }
    /// Removes all keys. O(keys + buckets).
    void clear(tx& t) { keys_.clear(t); }

    /// Calls f(const Key&) for every key, in no particular order. `f` may erase the key for which it is called. O(keys
    /// + buckets).
    template <std::invocable<const Key&> F>
    void for_each(tx& t, F f) const {
        keys_.for_each(t, [&](const Key& key, nothing) { f(key); });
    }
    /// Counts the keys. O(keys + buckets).
    [[nodiscard]] std::size_t size(tx& t) const { return keys_.size(t); }
    /// O(buckets before the first key).
    [[nodiscard]] bool empty(tx& t) const { return keys_.empty(t); }

    // ---- Each of these operations is a transaction of its own, or part of the transaction that this thread runs.

    [[nodiscard]] bool contains(const Key& key, std::source_location at = std::source_location::current()) const {
        return keys_.contains(key, at);
    }
    bool insert(const Key& key, std::source_location at = std::source_location::current()) {
        return keys_.insert(key, nothing{}, at);
    }
    bool erase(const Key& key, std::source_location at = std::source_location::current()) {
        return keys_.erase(key, at);
    }
    [[nodiscard]] std::size_t size(std::source_location at = std::source_location::current()) const {
        return keys_.size(at);
    }

private:
    struct nothing {};

    hash_map<Key, nothing, Hash, Equal> keys_;
};

}  // namespace tutti
