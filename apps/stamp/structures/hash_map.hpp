// A map as an array of buckets, each a sorted list. The map never grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "stamp/structures/sorted_list.hpp"

namespace stamp {

/// @tparam Hash  maps a key to 64 bits, all of which look random
template <class B, class Key, class Value, class Hash>
class hash_map {
    using context = typename B::context;

public:
    explicit hash_map(std::size_t buckets)
        : count_{buckets}, buckets_{std::make_unique<sorted_list<B, Key, Value>[]>(buckets)} {}
    hash_map(const hash_map&) = delete;
    hash_map& operator=(const hash_map&) = delete;
    /// REQUIRES: no transaction can reach the map.
    ~hash_map() {
        for (std::size_t i = 0; i < count_; ++i) buckets_[i].discard();
    }

    [[nodiscard]] std::size_t buckets() const { return count_; }
    /// Returns null if the key is missing. The value is constant.
    const Value* find(context& t, const Key& key) const { return bucket(key).find(t, key); }
    /// Returns true if the key is new; otherwise changes nothing.
    bool insert(context& t, const Key& key, const Value& value) { return bucket(key).insert(t, key, value); }

    /// Calls f(const Key&, const Value&) for all entries in the buckets from first up to, but excluding, last.
    /// REQUIRES: no thread changes these buckets.
    template <class F>
    void for_each(std::size_t first, std::size_t last, const F& f) const {
        for (std::size_t i = first; i < last; ++i) buckets_[i].for_each(f);
    }

private:
    sorted_list<B, Key, Value>& bucket(const Key& key) const { return buckets_[Hash{}(key) % count_]; }

    const std::size_t count_;
    std::unique_ptr<sorted_list<B, Key, Value>[]> buckets_;
};

}  // namespace stamp
