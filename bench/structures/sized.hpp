// A set that counts its keys: every change of the set changes that one word.
#pragma once

namespace bench {

template <class E, class Set>
class sized {
    using context = typename E::context;

public:
    bool contains(context& c, long key) const { return set_.contains(c, key); }
    bool insert(context& c, long key) { return count(c, set_.insert(c, key), 1); }
    bool remove(context& c, long key) { return count(c, set_.remove(c, key), -1); }

    /// Returns the number of keys, or -1 if the structure is broken or the count is wrong. REQUIRES: no other thread
    /// runs.
    long check() const {
        const long there = set_.check();
        return there == size_.load() ? there : -1;
    }
    void clear() { set_.clear(); }

private:
    bool count(context& c, bool changed, long by) {
        if (changed) size_.set(c, size_.get(c) + by);
        return changed;
    }

    Set set_;
    typename E::template cell<long> size_{0L};
};

}  // namespace bench
