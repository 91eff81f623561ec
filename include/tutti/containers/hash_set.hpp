/// @file
/// An unordered set for transactions.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <utility>

#include "tutti/containers/hash_map.hpp"

namespace tutti {

/// A set by hash, which transactions read and change: a `hash_map` whose elements have no value. What is said there of
/// conflicts, growth and memory holds here.
template <class Key, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
class hash_set {
    static_assert(detail::require_copyable_key<Key>());

public:
    using key_type = Key;
    using value_type = Key;

    hash_set() = default;
    /// @param expected  how many keys to be ready for
    explicit hash_set(std::size_t expected, Hash hash = {}, Equal equal = {})
        : keys_{expected, std::move(hash), std::move(equal)} {}

    /// Expected O(1), as all that follow unless they say otherwise.
    [[nodiscard]] bool contains(tx& t, const Key& key) const { return keys_.contains(t, key); }
    template <class K>
        requires(detail::transparent<Hash> && detail::transparent<Equal>)
    [[nodiscard]] bool contains(tx& t, const K& key) const {
        return keys_.contains(t, key);
    }
    /// Returns whether the key is new.
    bool insert(tx& t, const Key& key) { return keys_.insert(t, key, nothing{}); }
    /// Returns whether the key was there.
    bool erase(tx& t, const Key& key) { return keys_.erase(t, key); }
    template <class K>
        requires(detail::transparent<Hash> && detail::transparent<Equal>)
    bool erase(tx& t, const K& key) {
        return keys_.erase(t, key);
    }
    /// O(keys + buckets).
    void clear(tx& t) { keys_.clear(t); }

    /// Calls f(const Key&) for every key, in no particular order. `f` may erase the key that it is called for.
    /// O(keys + buckets).
    template <std::invocable<const Key&> F>
    void for_each(tx& t, F f) const {
        keys_.for_each(t, [&](const Key& key, nothing) { f(key); });
    }
    /// O(keys + buckets): it counts.
    [[nodiscard]] std::size_t size(tx& t) const { return keys_.size(t); }
    /// O(buckets before the first key).
    [[nodiscard]] bool empty(tx& t) const { return keys_.empty(t); }

    // ---- Each operation as a transaction of its own, or as part of the one that this thread runs.

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
