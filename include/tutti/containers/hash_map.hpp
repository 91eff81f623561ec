/// @file
/// An unordered map for transactions.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>

#include "tutti/containers/slot_array.hpp"
#include "tutti/memory.hpp"
#include "tutti/var.hpp"

namespace tutti {

/// A map from keys to values by hash, which transactions read and change.
///
/// **Who conflicts with whom.** Two operations conflict if they use the same key and one of them changes it; or if one
/// inserts or erases a key and the other one passes it in its bucket, of which there is about one for each element.
/// Assigning to a key conflicts only with uses of that key. `size`, `empty` and `for_each` conflict with all that is
/// inserted or erased meanwhile. Nothing counts the elements, so nothing makes all updates meet. Growth conflicts with
/// nobody.
///
/// **Structure.** All elements are in one list, sorted by their hash. Buckets are links in that list, each in front of
/// the elements whose hashes begin with its prefix: Shalev, Shavit, "Split-Ordered Lists: Lock-Free Extensible Hash
/// Tables", J. ACM 53(3), 2006; here by leading instead of reversed bits. So doubling the buckets moves no element.
/// A new bucket enters the list when something is first inserted into it; until then its elements are found from the
/// nearest bucket before it, and they are found from there afterwards, too. Therefore how many buckets there are is
/// only a hint, an atomic outside all transactions. It does not shrink.
///
/// **Memory.** 32 bytes a bucket (in chunks of 4 KiB, made on demand); an element takes 32 bytes, its key and a `var`.
///
/// @tparam Key    its copies are constant once they are in
/// @tparam T      any copyable type
/// @tparam Hash   what it returns is mixed, so it need not be good in any particular bits
/// @tparam Equal  keys that it calls equal have the same hash
template <std::copy_constructible Key, std::copyable T, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
class hash_map {
public:
    using key_type = Key;
    using mapped_type = T;

    hash_map() : hash_map{0} {}
    /// @param expected  how many elements to be ready for; a map that outgrows it grows
    explicit hash_map(std::size_t expected, Hash hash = {}, Equal equal = {})
        : level_{std::clamp(static_cast<unsigned>(std::bit_width(expected)), least_level, most_level)},
          hash_{std::move(hash)},
          equal_{std::move(equal)} {}
    hash_map(const hash_map&) = delete;
    hash_map& operator=(const hash_map&) = delete;
    /// REQUIRES: no transaction can reach the map.
    ~hash_map() {
        for (link* l = root_.next.load(); l != &end_;) {
            link* const next = l->next.load();
            if (is_element(*l)) delete static_cast<element*>(l);
            l = next;
        }
    }

    /// A copy of the key's value, or nothing. Expected O(1), as all that follow unless they say otherwise.
    [[nodiscard]] std::optional<T> find(tx& t, const Key& key) const {
        const position p = locate(t, key);
        return p.found ? std::optional<T>{p.found->value.get(t)} : std::nullopt;
    }
    /// @throws std::out_of_range  when the key is not there
    [[nodiscard]] T at(tx& t, const Key& key) const {
        const position p = locate(t, key);
        if (p.found == nullptr) throw std::out_of_range{"tutti::hash_map::at: there is no such key"};
        return p.found->value.get(t);
    }
    [[nodiscard]] bool contains(tx& t, const Key& key) const { return locate(t, key).found != nullptr; }

    /// Returns whether the key is new; otherwise nothing changes.
    bool insert(tx& t, const Key& key, const T& value) {
        const position p = locate(t, key);
        if (p.found == nullptr) add(t, p, key, value);
        return p.found == nullptr;
    }
    /// Returns whether the key is new; otherwise its value is replaced.
    bool insert_or_assign(tx& t, const Key& key, const T& value) {
        const position p = locate(t, key);
        if (p.found == nullptr) add(t, p, key, value);
        else p.found->value.set(t, value);
        return p.found == nullptr;
    }
    /// Returns whether the key was there.
    bool erase(tx& t, const Key& key) {
        const position p = locate(t, key);
        if (p.found != nullptr) remove(t, p);
        return p.found != nullptr;
    }
    /// Takes the key out, and returns its value, or nothing.
    [[nodiscard]] std::optional<T> extract(tx& t, const Key& key) {
        const position p = locate(t, key);
        if (p.found == nullptr) return std::nullopt;
        std::optional<T> value{p.found->value.get(t)};
        remove(t, p);
        return value;
    }

    /// Calls f(const Key&, const T&) for every element, in no particular order. `f` may erase the element that it is
    /// called for, and assign to any. O(elements + buckets).
    template <std::invocable<const Key&, const T&> F>
    void for_each(tx& t, F f) const {
        for (const link* l = root_.next.get(t); l != &end_; l = l->next.get(t)) {
            if (is_element(*l)) f(as_element(*l).key, as_element(*l).value.get(t));
        }
    }

    /// O(elements + buckets): it counts.
    [[nodiscard]] std::size_t size(tx& t) const {
        std::size_t count = 0;
        for (const link* l = root_.next.get(t); l != &end_; l = l->next.get(t)) count += is_element(*l) ? 1 : 0;
        return count;
    }
    /// O(buckets before the first element), which is much only for a map that was large once.
    [[nodiscard]] bool empty(tx& t) const {
        const link* l = root_.next.get(t);
        while (l != &end_ && !is_element(*l)) l = l->next.get(t);
        return l == &end_;
    }

private:
    using order_type = std::uint64_t;
    static constexpr int order_bits = 64;
    static constexpr unsigned least_level = 5, most_level = 40;

    /// The list is sorted by `order`: odd for elements, even for buckets.
    struct link {
        link(order_type o, link* n) noexcept : next{n}, order{o} {}
        var<link*> next;
        const order_type order;
    };
    struct element : link {
        element(order_type o, link* n, const Key& k, const T& v) : link{o, n}, key{k}, value{v} {}
        const Key key;
        var<T> value;
    };
    /// In the list once `next` is not null. Numbers from 2^(l-1) up to 2^l are the odd prefixes of l bits.
    struct bucket : link {
        explicit bucket(std::size_t number) noexcept : link{first_order(number), nullptr} {}
        static order_type first_order(std::size_t number) noexcept {
            const auto level = static_cast<int>(std::bit_width(number));
            const order_type prefix = (order_type{number} << 1 | 1) - (order_type{1} << level);
            return number == 0 ? 0 : prefix << (order_bits - level);
        }
    };

    /// Where a key is or would be: `at` follows `before`, and `found` is `at` if that is it.
    struct position {
        link* before;
        link* at;
        element* found;
        order_type order;
        unsigned level;  // the hint as it was used
        bool own;        // whether the key's own bucket was in the list
        unsigned steps;  // elements passed
    };

    static bool is_element(const link& l) noexcept { return (l.order & 1) != 0; }
    static element& as_element(link& l) noexcept { return static_cast<element&>(l); }
    static const element& as_element(const link& l) noexcept { return static_cast<const element&>(l); }

    order_type order_of(const Key& key) const {
        const auto h = static_cast<order_type>(hash_(key));
        const order_type mixed = ((h ^ (h >> 32)) * 0x9e3779b97f4a7c15u) | 1;
        return std::min(mixed, std::numeric_limits<order_type>::max() - 2);  // the largest one is that of end_
    }

    /// The prefix of that many bits, below a one.
    static order_type marked_prefix(order_type order, unsigned level) noexcept {
        return (order >> 1 | order_type{1} << (order_bits - 1)) >> (order_bits - 1 - static_cast<int>(level));
    }
    /// A prefix that ends in zeros begins where the one without them does, and they are the same bucket.
    static std::size_t number_of(order_type marked_prefix) noexcept {
        return static_cast<std::size_t>(marked_prefix >> std::countr_zero(marked_prefix) >> 1);
    }

    /// The last bucket known at or before `order`, and what follows it.
    position enter(tx& t, order_type order) const {
        const unsigned level = level_.load(std::memory_order_relaxed);
        const order_type own = marked_prefix(order, level);
        for (order_type prefix = own;; prefix &= prefix - 1) {
            const std::size_t number = number_of(prefix);
            link* const b = number == 0 ? &root_ : buckets_.find(number);
            link* const at = b == nullptr ? nullptr : b->next.get(t);
            if (at != nullptr) return {b, at, nullptr, order, level, prefix == own, 0};
        }
    }
    static void step(tx& t, position& p) {
        p.before = p.at;
        p.at = p.at->next.get(t);
    }
    /// To the first link that is not below p.order.
    static void seek(tx& t, position& p) {
        for (; p.at->order < p.order; ++p.steps) step(t, p);
    }

    position locate(tx& t, const Key& key) const {
        position p = enter(t, order_of(key));
        seek(t, p);
        for (; p.at->order == p.order; step(t, p)) {
            if (equal_(as_element(*p.at).key, key)) {
                p.found = &as_element(*p.at);
                break;
            }
        }
        return p;
    }

    void add(tx& t, position p, const Key& key, const T& value) {
        if (!p.own) {
            open_bucket(t, p);
            p = locate(t, key);
        }
        p.before->next.set(t, tutti::create<element>(t, p.order, p.at, key, value));
        if (t.attempt() == 1) consider_growth(p);
    }
    static void remove(tx& t, const position& p) {
        p.before->next.set(t, p.found->next.get(t));
        tutti::destroy(t, p.found);
    }

    /// Puts the bucket of p.order into the list.
    void open_bucket(tx& t, const position& p) {
        bucket& b = buckets_.reach(number_of(marked_prefix(p.order, p.level)));
        position q = enter(t, b.order);
        seek(t, q);
        b.next.set(t, q.at);
        q.before->next.set(t, &b);
    }

    /// A new element passes half of what is in its bucket; with one element a bucket, one in two insertions passes
    /// one. The pressure is a sum that then stays where it is, and with more of them rises: a sequential test, which
    /// needs no count that every insertion would have to write in its transaction, nor is it misled by roll-backs.
    /// A large map samples one key in 16, so that threads rarely meet at the word; that updates get lost is no matter.
    void consider_growth(const position& p) noexcept {
        const long weight = p.level < 12 ? 1 : 16;
        if ((p.order >> 1) % static_cast<order_type>(weight) != 0) return;
        const long passed = std::min(p.steps, 8u);
        const long pressure = pressure_.load(std::memory_order_relaxed) + weight * (2 * passed - 1);
        pressure_.store(std::max(pressure, 0L), std::memory_order_relaxed);
        if (pressure <= (1L << p.level) / 8) return;
        unsigned level = p.level;
        if (level < most_level && level_.compare_exchange_strong(level, level + 1, std::memory_order_relaxed)) {
            pressure_.store(0, std::memory_order_relaxed);
        }
    }

    static constexpr std::size_t line = 64;

    // The ends of the list are reached through constant maps, too: what a look-up returns is not constant.
    mutable link end_{std::numeric_limits<order_type>::max(), nullptr};
    mutable link root_{0, &end_};
    mutable slot_array<bucket> buckets_;
    std::atomic<unsigned> level_;  // 2^level_ buckets
    [[no_unique_address]] Hash hash_;
    [[no_unique_address]] Equal equal_;
    alignas(line) std::atomic<long> pressure_{0};  // apart from what every operation reads
};

}  // namespace tutti
