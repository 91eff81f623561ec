// A set as a skip list (Pugh, CACM 1990).
//
// The list of each level is sorted and contains all keys of the level above. A key's hash determines its height, so a
// repeated insertion of the key gives the same height.
#pragma once

#include <array>
#include <bit>
#include <cstddef>

#include "harness/random.hpp"

namespace bench {

template <class E, std::size_t Levels = 6>
class skip_list {
    template <class T>
    using cell = typename E::template cell<T>;
    using context = typename E::context;

public:
    static constexpr std::size_t levels = Levels;

    skip_list() = default;
    skip_list(const skip_list&) = delete;
    skip_list& operator=(const skip_list&) = delete;

    bool contains(context& c, long key) const {
        const tower* at = &head_;
        for (std::size_t level = levels; level-- > 0;) {
            for (const node* n = (*at)[level].get(c); n != nullptr; n = (*at)[level].get(c)) {
                const long here = n->key.get(c);
                if (here == key) return true;
                if (here > key) break;
                at = &n->next;
            }
        }
        return false;
    }

    bool insert(context& c, long key) {
        const way before = way_to(c, key);
        const node* const n = before[0]->get(c);
        if (n != nullptr && n->key.get(c) == key) return false;
        node* const fresh = E::template create<node>(c, key);
        for (std::size_t level = 0; level < height(key); ++level) {
            fresh->next[level].set(c, before[level]->get(c));
            before[level]->set(c, fresh);
        }
        return true;
    }

    bool remove(context& c, long key) {
        const way before = way_to(c, key);
        node* const n = before[0]->get(c);
        if (n == nullptr || n->key.get(c) != key) return false;
        for (std::size_t level = 0; level < height(key); ++level) before[level]->set(c, n->next[level].get(c));
        E::destroy(c, n);
        return true;
    }

    /// Returns the number of keys, or -1 if a level is not sorted or lacks a key. REQUIRES: no other thread runs.
    long check() const {
        long count = 0;
        for (std::size_t level = levels; level-- > 0;) {
            long due = 0;
            for (const node* n = head_[0].load(); n != nullptr; n = n->next[0].load())
                due += height(n->key.load()) > level;
            count = 0;
            long last = -1;
            for (const node* n = head_[level].load(); n != nullptr; n = n->next[level].load(), ++count) {
                const long key = n->key.load();
                if (key <= last || height(key) <= level) return -1;
                last = key;
            }
            if (count != due) return -1;
        }
        return count;
    }

    void clear() {
        while (node* const n = head_[0].load()) {
            E::update([this, n](context& c) { remove(c, n->key.get(c)); });
        }
    }

private:
    struct node;
    using tower = std::array<cell<node*>, levels>;
    using way = std::array<cell<node*>*, levels>;
    struct node {
        explicit node(long k) : key{k} {}
        cell<long> key;
        tower next{};
    };

    static std::size_t height(long key) noexcept {
        const std::uint64_t bits = random_numbers{static_cast<std::uint64_t>(key) + 1}();
        return 1 + static_cast<std::size_t>(std::countr_zero(bits | std::uint64_t{1} << (levels - 1)));
    }

    /// Returns the link of each level that leads to the first key that is not smaller.
    way way_to(context& c, long key) {
        way links{};
        tower* at = &head_;
        for (std::size_t level = levels; level-- > 0;) {
            for (node* n = (*at)[level].get(c); n != nullptr && n->key.get(c) < key; n = (*at)[level].get(c))
                at = &n->next;
            links[level] = &(*at)[level];
        }
        return links;
    }

    tower head_{};
};

}  // namespace bench
