// A set as a singly linked, sorted list.
#pragma once

namespace bench {

template <class E>
class sorted_list {
    template <class T>
    using cell = typename E::template cell<T>;
    using context = typename E::context;

public:
    sorted_list() = default;
    sorted_list(const sorted_list&) = delete;
    sorted_list& operator=(const sorted_list&) = delete;

    bool contains(context& c, long key) const {
        for (const node* n = first_.get(c); n != nullptr; n = n->next.get(c)) {
            const long here = n->key.get(c);
            if (here >= key) return here == key;
        }
        return false;
    }

    bool insert(context& c, long key) {
        cell<node*>* link = &first_;
        node* n = link->get(c);
        for (; n != nullptr; link = &n->next, n = link->get(c)) {
            const long here = n->key.get(c);
            if (here == key) return false;
            if (here > key) break;
        }
        link->set(c, E::template create<node>(c, key, n));
        return true;
    }

    bool remove(context& c, long key) {
        cell<node*>* link = &first_;
        for (node* n = link->get(c); n != nullptr; link = &n->next, n = link->get(c)) {
            const long here = n->key.get(c);
            if (here < key) continue;
            if (here > key) return false;
            link->set(c, n->next.get(c));
            E::destroy(c, n);
            return true;
        }
        return false;
    }

    /// Returns the number of keys, or -1 if they are not sorted or a key does not satisfy `belongs`. REQUIRES: no other
    /// thread runs.
    template <class Predicate>
    long check(Predicate belongs) const {
        long count = 0;
        long last = -1;
        for (const node* n = first_.load(); n != nullptr; n = n->next.load(), ++count) {
            const long key = n->key.load();
            if (key <= last || !belongs(key)) return -1;
            last = key;
        }
        return count;
    }
    long check() const {
        return check([](long) { return true; });
    }

    void clear() {
        while (node* const n = first_.load()) {
            E::update([this, n](context& c) {
                first_.set(c, n->next.get(c));
                E::destroy(c, n);
            });
        }
    }

private:
    struct node {
        node(long k, node* n) : key{k}, next{n} {}
        cell<long> key;
        cell<node*> next;
    };

    cell<node*> first_{nullptr};
};

}  // namespace bench
