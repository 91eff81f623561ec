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

/// A map from keys to values by hash, which transactions read and change.
///
/// **Who conflicts with whom.** Two operations conflict if they use the same key and one of them changes it; or if one
/// inserts or erases a key of a bucket that the other one searches, and there are one to three buckets for each
/// element. Assigning to a key conflicts only with uses of that key. `size`, `empty` and `for_each` conflict with all
/// that is inserted or erased meanwhile. Nothing counts the elements, so nothing makes all updates meet.
///
/// **Growth** is a few buckets at a time: an insertion opens the bucket of its key and, in the first four attempts of
/// its transaction and while there are any left, the next two; it moves there what is theirs, and so conflicts with
/// uses of these, too. How many buckets there are is in no variable, but a hint outside all transactions. Dividing one
/// bucket after the other is linear hashing (Litwin, VLDB 1980); buckets that are opened when they are first needed, by
/// way of their parents, are from Shalev, Shavit, "Split-Ordered Lists: Lock-Free Extensible Hash Tables", J. ACM
/// 53(3), 2006. The map does not shrink.
///
/// **Exceptions.** An operation that throws, because a copy, the hash or the comparison does or memory runs out, has no
/// effect, also where the block catches that and commits.
///
/// **Memory.** 16 bytes a bucket, in chunks of 2 KiB, the first of them made with the map; 24 bytes, the key and a
/// `var` for an element.
///
/// @tparam Key    its copies are constant once they are in
/// @tparam T      any copyable type
/// @tparam Hash   what it returns is mixed, so it need not be good in any particular bits
/// @tparam Equal  keys that it calls equal have the same hash
template <class Key, class T, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
class hash_map {
    static_assert(detail::require_copyable_key<Key>());
    static_assert(detail::require_copyable<T>());

public:
    using key_type = Key;
    using mapped_type = T;

    hash_map() : hash_map{0} {}
    /// @param expected  how many elements to be ready for; a map that outgrows it grows
    explicit hash_map(std::size_t expected, Hash hash = {}, Equal equal = {})
        : level_{std::clamp(static_cast<unsigned>(std::bit_width(expected)), least_level, most_level)},
          hash_{std::move(hash)},
          equal_{std::move(equal)} {
        static_cast<void>(buckets_.reach(0));
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

    /// A copy of the key's value, or nothing. Expected O(1), as all that follow unless they say otherwise.
    [[nodiscard]] std::optional<T> find(tx& t, const Key& key) const { return value_of(t, locate(t, key)); }
    /// @throws std::out_of_range  when the key is not there
    [[nodiscard]] T at(tx& t, const Key& key) const { return value_at(t, locate(t, key)); }
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
    /// Replaces the key's value by f(value). Returns whether the key was there.
    template <std::invocable<const T&> F>
    bool update(tx& t, const Key& key, F f) {
        return update_at(t, locate(t, key), f);
    }
    /// Returns whether the key was there.
    bool erase(tx& t, const Key& key) { return drop(t, locate(t, key)); }
    /// Takes the key out, and returns its value, or nothing.
    [[nodiscard]] std::optional<T> extract(tx& t, const Key& key) { return release(t, locate(t, key)); }
    /// O(elements + buckets). The buckets stay.
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
            if (w != first) b.head.set(t, w);  // the end of the chain says how often it was split
        });
    }

    // ---- The same for keys of other types, where Hash and Equal are transparent.

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

    /// Calls f(const Key&, const T&) for every element, in no particular order. `f` may erase the element that it is
    /// called for, and assign to any. O(elements + buckets).
    template <std::invocable<const Key&, const T&> F>
    void for_each(tx& t, F f) const {
        scan(t, [&](const node& n) {
            f(n.key, n.value.get(t));
            return true;
        });
    }
    /// O(elements + buckets): it counts.
    [[nodiscard]] std::size_t size(tx& t) const {
        std::size_t count = 0;
        scan(t, [&](const node&) { return ++count != 0; });
        return count;
    }
    /// O(buckets before the first element), which is much only for a map that was large once.
    [[nodiscard]] bool empty(tx& t) const {
        return scan(t, [](const node&) { return false; });
    }

    // ---- Each operation as a transaction of its own, or as part of the one that this thread runs.

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

    /// For monitoring: calls f(const Key&, const T&) for the elements, in a transaction for each bucket. So it holds no
    /// other transaction up and is never rolled back as a whole. Each element is as it was at some time during the
    /// call; one that was inserted or erased meanwhile may come or not, and one may come twice where the map grows
    /// meanwhile. `f` is called outside of the transactions. REQUIRES: this thread runs no transaction.
    template <std::invocable<const Key&, const T&> F>
    void for_each_weakly(F f, std::source_location at = std::source_location::current()) const {
        std::vector<std::pair<Key, T>> some;
        // In ascending order, as `scan` does it: an element moves to higher numbers only, so none is passed over.
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
    static constexpr unsigned least_level = 5, most_level = 40;
    static constexpr unsigned growing_attempts = 4;

    // What a link says: the node that follows; or, odd, that the chain ends, and in the other bits how many buckets
    // have been split off from it; or that the bucket has no chain of its own yet.
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

    // A hash belongs to the bucket of its leading bits, as many as the hint says. Bits that end in zeros name the same
    // bucket as those without them, which makes the numbers from 2^(l-1) up to 2^l the buckets of l bits that end in
    // one. While a bucket has no chain of its own, what belongs to it is with the one of its bits without the last
    // one, and so on down to number 0, which always has a chain.
    //
    // Why stale hints do no harm. There are two: how many bits to use, and that a bucket has not been made.
    //  1. A transaction that splits off a bucket has read a hint of that many bits, and made the bucket; bits only
    //     become more, and buckets stay. So a transaction that sees anything that the split has written finds both
    //     afterwards (the writes are released and acquired).
    //  2. A key that is found is there, whatever the hints.
    //  3. A key is found to be absent, or inserted, only after both hints have been looked at once more, behind the
    //     chain. If they stand, the chain was the right one in the state that was read (1).
    //  4. A split writes the end of the chain that it takes from, always a value which was not there before. So it
    //     conflicts with every transaction that has found something absent there, even if it moves no element.

    struct position {
        bucket* in;       // whose chain was searched
        var<word>* link;  // what says where `found` is
        node* found;      // null if the key is absent
        std::uint64_t hash;
        unsigned level;   // the hint as it was used
        unsigned passed;  // elements of the key's own bucket with other hashes
    };

    unsigned level() const noexcept { return level_.load(std::memory_order_acquire); }

    /// Multiplication spreads to the leading bits, and dense keys evenly: Knuth, TAOCP 3, 6.4.
    template <class K>
    std::uint64_t hash_of(const K& key) const {
        const auto h = static_cast<std::uint64_t>(hash_(key));
        return (h ^ (h >> 32)) * 0x9e3779b97f4a7c15u;
    }
    /// The leading `level` bits, below a one that marks where they begin.
    static std::uint64_t bits_of(std::uint64_t hash, unsigned level) noexcept {
        return (hash >> 1 | std::uint64_t{1} << 63) >> (63 - level);
    }
    static std::size_t number_of(std::uint64_t bits) noexcept { return bits >> std::countr_zero(bits) >> 1; }

    struct chain {
        bucket* in;
        word head;
        bool certain;  // no bucket was passed over that no operation had reached, which no variable tells
    };
    /// The chain where the elements of the bucket of those bits are. `bucket_at` finds buckets by number, or makes
    /// them.
    template <class F>
    [[gnu::always_inline]] static chain enter(tx& t, std::uint64_t bits, const F& bucket_at) {
        for (bool certain = true;; bits &= bits - 1) {
            bucket* const b = bucket_at(number_of(bits));
            const word w = b == nullptr ? no_chain : b->head.get(t);
            if (w != no_chain) return {b, w, certain};
            certain = certain && b != nullptr;
        }
    }

    // Inlined so that look-ups pay for no more of the position than they use.
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
        bucket& b = buckets_.reach(number_of(own));
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
            // The key is in, and its bucket is open: the others are opened when they are needed.
        }
    }
    /// Look-ups find elements soonest in a bucket of their own, and insertions come to each bucket late. So each opens
    /// the next two as well while there are any left. That conflicts with uses of these, so an attempt that was
    /// repeated so often does without: growth costs no transaction more restarts than that. Where all do without, each
    /// insertion still opens its own bucket, and a look-up reads some 1.9 variables instead of 1.5.
    void open_more(tx& t, unsigned level) {
        const std::size_t first = opened_.fetch_add(2, std::memory_order_relaxed);
        for (std::size_t number = first; number < first + 2 && number >> level == 0; ++number) {
            const std::uint64_t bits = std::uint64_t{number} << 1 | 1;
            bucket& fresh = buckets_.reach(number);
            const chain c = enter(t, bits, [this](std::size_t n) { return &buckets_.reach(n); });
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
        std::optional<T> value;  // the only thing to return, so that nothing copies it
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
    /// Gives `fresh`, the bucket of those bits, a chain of its own: what belongs there of the chain of `from`.
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
    /// Calls f(const node&) for every element until it returns false, and returns whether it never did. The hints
    /// about a bucket are looked at after the chains that it can have been split off from (see 3 above).
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

    /// An insertion passes as many elements as its bucket has. The pressure is the sum of how many these were beyond
    /// 3/8: it rises when there are more on average, and stays low when there are fewer. So it tells when to grow
    /// without a count that every insertion would have to write in its transaction. Attempts that are rolled back count
    /// as well, for what they passed is there. One insertion that runs again and again raises the level until its
    /// bucket is its own, and lowers the pressure from then on: with n hashes that takes O(n) buckets.
    /// In a large map only one hash in 8 counts, so that threads rarely meet at the word; lost updates do not matter.
    /// There end up to be about one to three buckets for each element.
    void consider_growth(const position& p) noexcept {
        const long weight = p.level < 12 ? 1 : 8;
        if (p.hash % static_cast<std::uint64_t>(weight) != 0) return;
        const long beyond = 8 * static_cast<long>(std::min(p.passed, 8u)) - 3;
        const long pressure = pressure_.load(std::memory_order_relaxed) + weight * beyond;
        pressure_.store(std::max(pressure, 0L), std::memory_order_relaxed);
        if (pressure <= (1L << p.level) / 4) return;
        unsigned level = p.level;
        if (level < most_level && level_.compare_exchange_strong(level, level + 1, std::memory_order_acq_rel)) {
            pressure_.store(0, std::memory_order_relaxed);
        }
    }

    slot_array<bucket> buckets_;
    std::atomic<unsigned> level_;  // the hint: 2^level_ buckets
    [[no_unique_address]] Hash hash_;
    [[no_unique_address]] Equal equal_;
    alignas(64) std::atomic<std::size_t> opened_{1};
    std::atomic<long> pressure_{0};  // apart from what every operation reads
};

}  // namespace tutti
