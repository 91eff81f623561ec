// A set as an array of buckets, each a sorted list. The array never grows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "structures/sorted_list.hpp"

namespace bench {

template <class E>
class hash_set {
    using context = typename E::context;

public:
    static constexpr std::size_t buckets = 16'384;

    hash_set() = default;
    hash_set(const hash_set&) = delete;
    hash_set& operator=(const hash_set&) = delete;

    bool contains(context& c, long key) const { return table_[bucket(key)].contains(c, key); }
    bool insert(context& c, long key) { return table_[bucket(key)].insert(c, key); }
    bool remove(context& c, long key) { return table_[bucket(key)].remove(c, key); }

    /// Returns the number of keys, or -1 if a key is in a wrong bucket. REQUIRES: no other thread runs.
    long check() const {
        long count = 0;
        for (std::size_t i = 0; i < buckets; ++i) {
            const long here = table_[i].check([i](long key) { return bucket(key) == i; });
            if (here < 0) return -1;
            count += here;
        }
        return count;
    }

    void clear() {
        for (auto& list : table_) list.clear();
    }

private:
    /// Multiplicative hashing (Knuth, volume 3, 6.4).
    static std::size_t bucket(long key) noexcept {
        return static_cast<std::size_t>(static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15U >> 50);
    }

    // Stored in place: a pointer would be one more shared word to read.
    std::array<sorted_list<E>, buckets> table_;
};

}  // namespace bench
