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
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tutti/containers/calls.hpp"
#include "tutti/containers/slot_array.hpp"
#include "tutti/memory.hpp"
#include "tutti/var.hpp"

namespace tutti {

/// A hash map from keys to values that transactions read and change.
///
/// **Conflicts.** Two operations conflict if they use the same key and one of them changes its element. They also
/// conflict if one inserts or erases a key in a bucket that the other one searches. There are one to three buckets for
/// each element. An assignment to a key conflicts only with uses of that key. `size`, `empty` and `for_each` conflict
/// with every insertion and erasure. The map has no element counter, which would make all updates conflict.
///
/// **Growth.** The map grows a few buckets at a time. An insertion opens the bucket of its key. The insertion also
/// opens the next two unopened buckets during the first four attempts of its transaction. The insertion moves elements
/// into the opened buckets, and so conflicts with uses of these elements. The number of buckets is a hint outside all
/// transactions, not a variable. Splitting one bucket after the other is linear hashing (Litwin, VLDB 1980). Opening
/// buckets at their first use, from their parents, comes from Shalev, Shavit, "Split-Ordered Lists: Lock-Free
/// Extensible Hash Tables", J. ACM 53(3), 2006. The map does not shrink.
///
/// **Exceptions.** An operation that throws, because a copy, the hash or the comparison throws or memory runs out, has
/// no effect. This also holds if the block catches the exception and commits.
///
/// **Memory.** A bucket takes 16 bytes. Buckets come in chunks of 2 KiB; the constructor makes the first chunk. An
/// element takes 24 bytes, its key and a `var`.
///
/// @tparam Key    any copyable type; a key is constant once it is in the map
/// @tparam T      any copyable type
/// @tparam Hash   the map mixes its results, so no particular bits of them need be good
/// @tparam Equal  keys that are equal must have the same hash
template <class Key, class T, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
class hash_map {
    static_assert(detail::require_copyable_key<Key>());
    static_assert(detail::require_copyable<T>());

public:
    using key_type = Key;
    using mapped_type = T;

    hash_map() : hash_map{0} {}
    /// @param expected  the number of elements to prepare for; the map still grows beyond it
    explicit hash_map(std::size_t expected, Hash hash = {}, Equal equal = {})
        : level_{std::clamp(static_cast<unsigned>(std::bit_width(expected)), min_level, max_level)},
          hash_{std::move(hash)},
          equal_{std::move(equal)} {
        static_cast<void>(buckets_.find_or_create(0));
        detail::annotate::cell_at(&pressure_, sizeof pressure_);
    }
    hash_map(const hash_map&) = delete;
    hash_map& operator=(const hash_map&) = delete;
    /// REQUIRES: no transaction can reach the map.
    ~hash_map() {
        buckets_.for_each([](const bucket& b) {
            for (node* n = node_at(b.head.load()); n != nullptr;) delete std::exchange(n, node_at(n->next.load()));
        });
    }

    /// Returns a copy of the key's value, or nullopt. Unless stated otherwise, this and all following operations are
    /// expected O(1).
    [[nodiscard]] std::optional<T> find(tx& t, const Key& key) const { return value_of(t, locate(t, key)); }
    /// @throws std::out_of_range  if there is no such key
    [[nodiscard]] T at(tx& t, const Key& key) const { return value_at(t, locate(t, key)); }
    [[nodiscard]] bool contains(tx& t, const Key& key) const { return locate(t, key).found != nullptr; }

    /// Inserts the element if the key is new. Returns true if the element was inserted.
    bool insert(tx& t, const Key& key, const T& value) {
        const position p = locate(t, key);
        if (p.found == nullptr) add(t, p, key, value);
        return p.found == nullptr;
    }
    /// Inserts the element, or replaces the value of an existing key. Returns true if the key is new.
    bool insert_or_assign(tx& t, const Key& key, const T& value) {
        const position p = locate(t, key);
        if (p.found == nullptr) add(t, p, key, value);
        else p.found->value.set(t, value);
        return p.found == nullptr;
    }
    /// Replaces the key's value by f(value). Returns true if the key exists.
    template <std::invocable<const T&> F>
    bool update(tx& t, const Key& key, F f) {
        return update_at(t, locate(t, key), f);
    }
    /// Removes the key. Returns true if it existed.
    bool erase(tx& t, const Key& key) { return drop(t, locate(t, key)); }
    /// Removes the key and returns its value, or nullopt.
    [[nodiscard]] std::optional<T> extract(tx& t, const Key& key) { return release(t, locate(t, key)); }
    /// Removes all elements. Keeps the buckets. O(elements + buckets).
    void clear(tx& t) {
        std::size_t nodes = 0, chains = 0;
        for_each_bucket([&](bucket& b) {
            const std::size_t before = nodes;
            for (const node* n = node_at(b.head.get(t)); n != nullptr; n = node_at(n->next.get(t))) ++nodes;
            if (nodes != before) ++chains;
        });
        detail::reserve(t, nodes + chains, nodes);
        for_each_bucket([&](bucket& b) {
            const word first = b.head.get(t);
            word w = first;
            while (const node* const n = node_at(w)) {
                w = n->next.get(t);
                tutti::destroy(t, n);
            }
            if (w != first) b.head.set(t, w);  // the end of the chain records how often the chain was split
        });
    }

    // ---- The same operations for keys of other types, if Hash and Equal are transparent.

    template <class K>
        requires(detail::transparent<Hash> && detail::transparent<Equal>)
    [[nodiscard]] std::optional<T> find(tx& t, const K& key) const {
        return value_of(t, locate(t, key));
    }
    template <class K>
        requires(detail::transparent<Hash> && detail::transparent<Equal>)
    [[nodiscard]] T at(tx& t, const K& key) const {
        return value_at(t, locate(t, key));
    }
    template <class K>
        requires(detail::transparent<Hash> && detail::transparent<Equal>)
    [[nodiscard]] bool contains(tx& t, const K& key) const {
        return locate(t, key).found != nullptr;
    }
    template <class K, std::invocable<const T&> F>
        requires(detail::transparent<Hash> && detail::transparent<Equal>)
    bool update(tx& t, const K& key, F f) {
        return update_at(t, locate(t, key), f);
    }
    template <class K>
        requires(detail::transparent<Hash> && detail::transparent<Equal>)
    bool erase(tx& t, const K& key) {
        return drop(t, locate(t, key));
    }
    template <class K>
        requires(detail::transparent<Hash> && detail::transparent<Equal>)
    [[nodiscard]] std::optional<T> extract(tx& t, const K& key) {
        return release(t, locate(t, key));
    }

    /// Calls f(const Key&, const T&) for every element, in no particular order. `f` may erase the element for which it
    /// is called, and may assign to any element. O(elements + buckets).
    template <std::invocable<const Key&, const T&> F>
    void for_each(tx& t, F f) const {
        scan(t, [&](const node& n) {
            f(n.key, n.value.get(t));
            return true;
        });
    }
    /// Counts the elements. O(elements + buckets).
    [[nodiscard]] std::size_t size(tx& t) const {
        std::size_t count = 0;
        scan(t, [&](const node&) { return ++count != 0; });
        return count;
    }
    /// O(buckets before the first element). Their number is large only if the map has had many more elements before.
    [[nodiscard]] bool empty(tx& t) const {
        return scan(t, [](const node&) { return false; });
    }

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

    /// Calls f(const Key&, const T&) for the elements, for monitoring. Reads each bucket in a transaction of its own.
    /// So this function never blocks other transactions for long, and is never rolled back as a whole. Each element has
    /// a value that it had at some time during the call. The function may or may not report an element that is inserted
    /// or erased meanwhile. If the map grows meanwhile, the function may report an element twice. Calls `f` outside of
    /// the transactions. REQUIRES: this thread runs no transaction.
    template <std::invocable<const Key&, const T&> F>
    void for_each_weakly(F f, std::source_location at = std::source_location::current()) const {
        std::vector<std::pair<Key, T>> some;
        // The order is ascending, as in `scan`. An element moves only to buckets with higher numbers, so the loop
        // misses no element.
        for (std::size_t number = 0; number >> level() == 0; ++number) {
            const bucket* const b = buckets_.find(number);
            if (b == nullptr) continue;
            detail::read_at_once(
                [&](tx& t) {
                    some.clear();
                    for (const node* n = node_at(b->head.get(t)); n != nullptr; n = node_at(n->next.get(t)))
                        some.emplace_back(n->key, n->value.get(t));
                },
                at);
            for (const auto& [key, value] : some) f(key, value);
        }
    }

private:
    using word = std::uintptr_t;
    static constexpr unsigned min_level = 5, max_level = 40;
    static constexpr unsigned growing_attempts = 4;

    // The possible values of a link. An even value is the address of the next node. An odd value ends the chain, and
    // its other bits count the buckets that were split off from this chain. `no_chain` means that the bucket has no
    // chain of its own yet.
    static constexpr word no_chain = 0, end_of_new_chain = 1, one_more_split = 2;

    struct node {
        node(word n, std::uint64_t h, const Key& k, const T& v) : next{n}, hash{h}, key{k}, value{v} {}
        var<word> next;
        const std::uint64_t hash;
        const Key key;
        var<T> value;
    };
    struct bucket {
        explicit bucket(std::size_t number) noexcept : head{number == 0 ? end_of_new_chain : no_chain} {}
        var<word> head;
    };
    static node* node_at(word w) noexcept { return (w & 1) == 0 ? reinterpret_cast<node*>(w) : nullptr; }
    static word word_of(node* n) noexcept { return reinterpret_cast<word>(n); }

    // A hash belongs to the bucket of its leading bits. The hint gives the number of these bits. Bits with trailing
    // zeros name the same bucket as the bits without these zeros. So the numbers from 2^(l-1) up to 2^l are the buckets
    // of l bits that end in one. While a bucket has no chain of its own, its elements are in the chain of its parent,
    // whose bits lack the last one. The search continues in this way down to bucket 0, which always has a chain.
    //
    // Stale hints are harmless. There are two hints: the number of bits to use, and the absence of a bucket.
    // 1. A transaction that splits off a bucket has read a hint of that many bits, and has made the bucket. The number
    //    of bits only grows, and buckets stay. A transaction that reads any write of the split synchronizes with this
    //    write, because the write is a release and the read an acquire. So this transaction finds both hints current
    //    afterwards.
    // 2. A key that is found is there, whatever the hints say.
    // 3. An operation reports a key as absent, or inserts the key, only after it has read both hints again at the end
    //    of the chain. If the hints are unchanged, the chain was the right one in the state that was read (1).
    // 4. A split always writes a new value to the end of the chain from which it takes elements. So a split conflicts
    //    with every transaction that has found a key absent there, even if the split moves no element.

    struct position {
        bucket* in;       // the bucket whose chain was searched
        var<word>* link;  // the link that points to `found`
        node* found;      // null if there is no such key
        std::uint64_t hash;
        unsigned level;   // the hint that was used
        unsigned passed;  // number of elements with other hashes in the key's own bucket
    };

    unsigned level() const noexcept { return level_.load(std::memory_order_acquire); }

    /// Multiplication spreads the hash to the leading bits, and spreads dense keys evenly: Knuth, TAOCP 3, 6.4.
    template <class K>
    std::uint64_t hash_of(const K& key) const {
        const auto h = static_cast<std::uint64_t>(hash_(key));
        return (h ^ (h >> 32)) * 0x9e3779b97f4a7c15u;
    }
    /// Returns the leading `level` bits, with a one in front that marks their beginning.
    static std::uint64_t bits_of(std::uint64_t hash, unsigned level) noexcept {
        return (hash >> 1 | std::uint64_t{1} << 63) >> (63 - level);
    }
    static std::size_t number_of(std::uint64_t bits) noexcept { return bits >> std::countr_zero(bits) >> 1; }

    struct chain {
        bucket* in;
        word head;
        bool certain;  // false: on the way, a bucket did not exist, and no variable records this
    };
    /// Returns the chain that contains the elements of the bucket of those bits. `bucket_at` finds buckets by number,
    /// or makes them.
    template <class F>
    [[gnu::always_inline]] static chain enter(tx& t, std::uint64_t bits, const F& bucket_at) {
        for (bool certain = true;; bits &= bits - 1) {
            bucket* const b = bucket_at(number_of(bits));
            const word w = b == nullptr ? no_chain : b->head.get(t);
            if (w != no_chain) return {b, w, certain};
            certain = certain && b != nullptr;
        }
    }

    // The function is inlined, so that look-ups compute only those parts of the position that they use.
    template <class K>
    [[gnu::always_inline]] position locate(tx& t, const K& key) const {
        const std::uint64_t hash = hash_of(key);
        for (;;) {
            const unsigned l = level();
            const std::uint64_t own = bits_of(hash, l);
            const auto known = [this](std::size_t number) { return buckets_.find(number); };
            const chain c = enter(t, own, known);
            position p{c.in, &c.in->head, nullptr, hash, l, 0};
            for (node* n = node_at(c.head); n != nullptr; n = node_at(p.link->get(t))) {
                if (n->hash == hash && equal_(n->key, key)) {
                    p.found = n;
                    return p;
                }
                p.passed += n->hash != hash && bits_of(n->hash, l) == own ? 1u : 0u;
                p.link = &n->next;
            }
            if (level() == l && (c.certain || enter(t, own, known).in == c.in)) return p;
        }
    }

    void add(tx& t, const position& p, const Key& key, const T& value) {
        const std::uint64_t own = bits_of(p.hash, p.level);
        bucket& b = buckets_.find_or_create(number_of(own));
        if (&b != p.in) split_off(t, *p.in, b, own);
        const word first = b.head.get(t);
        detail::unlinked<1> made{t};
        node* const fresh = made.template make<node>(first, p.hash, key, value);
        b.head.set(t, word_of(fresh));
        made.keep();
        consider_growth(p);
        if (t.attempt() > growing_attempts || opened_.load(std::memory_order_relaxed) >> p.level != 0) return;
        try {
            open_more(t, p.level);
        } catch (const std::bad_alloc&) {
            // The insertion may return here, because the key is inserted and its bucket is open. Later operations open
            // the other buckets.
        }
    }
    /// Opens two more buckets. A look-up is fastest if its key's bucket is open, but a bucket may wait long for an
    /// insertion of its own. So each insertion also opens the next two unopened buckets. Opening buckets conflicts with
    /// uses of their elements, so an attempt that has been repeated often skips this step, and growth adds only a few
    /// restarts to a transaction. Even if all insertions skip this step, each insertion still opens its own bucket. A
    /// look-up then reads some 1.9 variables instead of 1.5.
    void open_more(tx& t, unsigned level) {
        const std::size_t first = opened_.fetch_add(2, std::memory_order_relaxed);
        for (std::size_t number = first; number < first + 2 && number >> level == 0; ++number) {
            const std::uint64_t bits = std::uint64_t{number} << 1 | 1;
            bucket& fresh = buckets_.find_or_create(number);
            const chain c = enter(t, bits, [this](std::size_t n) { return &buckets_.find_or_create(n); });
            if (c.in != &fresh) split_off(t, *c.in, fresh, bits);
        }
    }
    [[gnu::always_inline]] static std::optional<T> value_of(tx& t, const position& p) {
        return p.found != nullptr ? std::optional<T>{p.found->value.get(t)} : std::nullopt;
    }
    static T value_at(tx& t, const position& p) {
        if (p.found == nullptr) throw std::out_of_range{"tutti::hash_map::at: there is no such key"};
        return p.found->value.get(t);
    }
    template <class F>
    static bool update_at(tx& t, const position& p, F& f) {
        if (p.found != nullptr) p.found->value.update(t, f);
        return p.found != nullptr;
    }
    static bool drop(tx& t, const position& p) {
        if (p.found != nullptr) remove(t, p);
        return p.found != nullptr;
    }
    static std::optional<T> release(tx& t, const position& p) {
        std::optional<T> value;  // the only return value, so that returning it needs no copy
        if (p.found != nullptr) {
            value.emplace(p.found->value.get(t));
            remove(t, p);
        }
        return value;
    }
    static void remove(tx& t, const position& p) {
        const word next = p.found->next.get(t);
        detail::reserve(t, 1, 1);
        p.link->set(t, next);
        tutti::destroy(t, p.found);
    }
    /// Gives `fresh`, the bucket of those bits, its own chain, and moves its elements there from the chain of `from`.
    static void split_off(tx& t, bucket& from, bucket& fresh, std::uint64_t bits) {
        bits >>= std::countr_zero(bits);
        const auto level = static_cast<unsigned>(std::bit_width(bits)) - 1;
        const auto point = [&t](var<word>& link, word to) {
            if (link.get(t) != to) link.set(t, to);
        };
        std::size_t length = 0;
        for (const node* n = node_at(from.head.get(t)); n != nullptr; n = node_at(n->next.get(t))) ++length;
        detail::reserve(t, length + 2, 0);
        var<word>* stays = &from.head;
        var<word>* moves = &fresh.head;
        word w = from.head.get(t);
        while (node* const n = node_at(w)) {
            var<word>*& link = bits_of(n->hash, level) == bits ? moves : stays;
            point(*link, w);
            link = &n->next;
            w = n->next.get(t);
        }
        stays->set(t, w + one_more_split);
        point(*moves, end_of_new_chain);
    }

    template <class F>
    void for_each_bucket(const F& f) const {
        for (std::size_t number = 0; number >> level() == 0; ++number) {
            if (bucket* const b = buckets_.find(number)) f(*b);
        }
    }
    /// Calls f(const node&) for every element until `f` returns false. Returns true if `f` never did. Reads the hints
    /// about a bucket after the chains from which the bucket may have been split off (see 3 above).
    template <class F>
    bool scan(tx& t, const F& f) const {
        for (std::size_t number = 0; number >> level() == 0; ++number) {
            const bucket* const b = buckets_.find(number);
            if (b == nullptr) continue;
            for (const node* n = node_at(b->head.get(t)); n != nullptr; n = node_at(n->next.get(t))) {
                if (!f(*n)) return false;
            }
        }
        return true;
    }

    /// Decides whether the map grows. An insertion walks past all elements of its bucket. Each insertion adds to the
    /// pressure the number of these elements, minus 3/8. The pressure rises if the average number is higher than 3/8,
    /// and stays low if it is lower. So the map needs no counter that every insertion would have to write in its
    /// transaction. Attempts that are rolled back also count, because the elements that they passed exist. An insertion
    /// that runs again and again raises the level only until its bucket has no other elements. From then on, the same
    /// insertion lowers the pressure. With n hashes this takes O(n) buckets. If the map is large, only one hash in 8
    /// counts, so that threads rarely write the word at the same time. Lost updates of the word do not matter. In the
    /// end there are about one to three buckets for each element.
    void consider_growth(const position& p) noexcept {
        const long weight = p.level < 12 ? 1 : 8;
        if (p.hash % static_cast<std::uint64_t>(weight) != 0) return;
        const long beyond = 8 * static_cast<long>(std::min(p.passed, 8u)) - 3;
        const long pressure = pressure_.load(std::memory_order_relaxed) + weight * beyond;
        pressure_.store(std::max(pressure, 0L), std::memory_order_relaxed);
        if (pressure <= (1L << p.level) / 4) return;
        unsigned level = p.level;
        if (level < max_level && level_.compare_exchange_strong(level, level + 1, std::memory_order_acq_rel)) {
            pressure_.store(0, std::memory_order_relaxed);
        }
    }

    slot_array<bucket> buckets_;
    std::atomic<unsigned> level_;  // the hint: there are 2^level_ buckets
    [[no_unique_address]] Hash hash_;
    [[no_unique_address]] Equal equal_;
    alignas(64) std::atomic<std::size_t> opened_{1};
    std::atomic<long> pressure_{0};  // not in the cache line that every operation reads
};

}  // namespace tutti
