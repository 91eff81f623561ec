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

#include "tutti/containers/element_tree.hpp"

namespace tutti {

/// A map in the order of its keys, with range scans, which transactions read and change.
///
/// **Who conflicts with whom.** An insertion or erasure conflicts with whatever looks up, inserts or erases a key of
/// the same leaf, that is one of up to 15 neighbours; when a leaf splits or runs empty (about one update in eight, or
/// fewer), with updates in the leaves beside it, too. Assigning to a key conflicts only with uses of that key. A scan
/// conflicts with what is inserted, erased and assigned in its range, to the borders of its outer leaves.
///
/// **Structure.** A B+-tree whose leaves are replaced rather than changed (`element_tree`). Look-ups read one variable
/// a level, four or five for 64 Ki elements.
///
/// **Memory.** An element takes its key and a `var`, and 16 to 32 bytes in its leaf.
///
/// @tparam Key      its copies are constant once they are in
/// @tparam T        any copyable type
/// @tparam Compare  a strict weak order of keys
template <std::copy_constructible Key, std::copyable T, class Compare = std::less<Key>>
class ordered_map {
public:
    using key_type = Key;
    using mapped_type = T;
    using value_type = std::pair<Key, T>;  ///< what is returned: copies

    ordered_map() = default;
    explicit ordered_map(Compare less) : tree_{std::move(less)} {}
    // The destructor: REQUIRES: no transaction can reach the map.

    /// A copy of the key's value, or nothing. O(log n), as all that follow unless they say otherwise.
    [[nodiscard]] std::optional<T> find(tx& t, const Key& key) const {
        const element* const e = tree_.find(t, key);
        return e != nullptr ? std::optional<T>{e->value.get(t)} : std::nullopt;
    }
    /// @throws std::out_of_range  when the key is not there
    [[nodiscard]] T at(tx& t, const Key& key) const {
        const element* const e = tree_.find(t, key);
        if (e == nullptr) throw std::out_of_range{"tutti::ordered_map::at: there is no such key"};
        return e->value.get(t);
    }
    [[nodiscard]] bool contains(tx& t, const Key& key) const { return tree_.find(t, key) != nullptr; }

    /// Returns whether the key is new; otherwise nothing changes.
    bool insert(tx& t, const Key& key, const T& value) { return put(t, key, value) == nullptr; }
    /// Returns whether the key is new; otherwise its value is replaced.
    bool insert_or_assign(tx& t, const Key& key, const T& value) {
        element* const there = put(t, key, value);
        if (there != nullptr) there->value.set(t, value);
        return there == nullptr;
    }
    /// Returns whether the key was there.
    bool erase(tx& t, const Key& key) {
        element* const e = tree_.take_out(t, key);
        tutti::destroy(t, e);
        return e != nullptr;
    }
    /// Takes the key out, and returns its value, or nothing.
    [[nodiscard]] std::optional<T> extract(tx& t, const Key& key) {
        element* const e = tree_.take_out(t, key);
        if (e == nullptr) return std::nullopt;
        tutti::destroy(t, e);
        return e->value.get(t);
    }

    /// The first element whose key is not below `key`, or nothing.
    [[nodiscard]] std::optional<value_type> lower_bound(tx& t, const Key& key) const {
        return first_of(t, {&key, false});
    }
    /// The first element whose key is above `key`, or nothing.
    [[nodiscard]] std::optional<value_type> upper_bound(tx& t, const Key& key) const {
        return first_of(t, {&key, true});
    }
    /// The element with the lowest key, or nothing.
    [[nodiscard]] std::optional<value_type> front(tx& t) const { return first_of(t, {}); }
    /// The element with the highest key, or nothing.
    [[nodiscard]] std::optional<value_type> back(tx& t) const {
        const element* const e = tree_.last(t);
        return e != nullptr ? std::optional{copy_of(t, *e)} : std::nullopt;
    }

    /// Calls f(const Key&, const T&) for every element in order. `f` may erase the element that it is called for, and
    /// assign to any; if it returns bool, false ends the scan. O(elements).
    template <std::invocable<const Key&, const T&> F>
    void for_each(tx& t, F f) const {
        tree_.scan(t, {}, [&](element& e) { return visit(t, e, f); });
    }
    /// The same for the keys from `first` up to, but not including, `last`. O(log n + elements in the range).
    template <std::invocable<const Key&, const T&> F>
    void for_each(tx& t, const Key& first, const Key& last, F f) const {
        tree_.scan(t, {&first, false}, [&](element& e) { return tree_.less()(e.key, last) && visit(t, e, f); });
    }

    /// O(n / 10): it counts. Conflicts with every insertion and erasure.
    [[nodiscard]] std::size_t size(tx& t) const { return tree_.size(t); }
    /// O(1). Conflicts with updates only while the map is empty or nearly so, and when the number of levels changes.
    [[nodiscard]] bool empty(tx& t) const { return tree_.empty(t); }

private:
    struct element {
        element(const Key& k, const T& v) : key{k}, value{v} {}
        const Key key;
        var<T> value;
    };
    using tree = element_tree<element, Compare>;

    element* put(tx& t, const Key& key, const T& value) {
        return tree_.put(t, key, [&] { return tutti::create<element>(t, key, value); });
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
