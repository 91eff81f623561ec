// A map as a sorted, singly linked list, for few elements.
//
// The destructor does not free the elements. The list may be part of an object that a transaction has created: when the
// transaction is rolled back, the elements have already been freed. The owner calls clear() or, when no other thread
// runs, discard().
#pragma once

#include <cstddef>

namespace stamp {

template <class B, class Key, class Value>
class sorted_list {
    using context = typename B::context;
    template <class T>
    using shared = typename B::template shared<T>;

public:
    sorted_list() = default;
    sorted_list(const sorted_list&) = delete;
    sorted_list& operator=(const sorted_list&) = delete;

    /// Returns null if the key is missing. The value is constant.
    const Value* find(context& t, const Key& key) const {
        const node* n = first_.get(t);
        while (n != nullptr && n->key < key) n = n->next.get(t);
        return n != nullptr && n->key == key ? &n->value : nullptr;
    }
    /// Returns true if the key is new; otherwise changes nothing.
    bool insert(context& t, const Key& key, const Value& value) {
        shared<node*>& link = link_before(t, key);
        node* const next = link.get(t);
        if (next != nullptr && next->key == key) return false;
        link.set(t, B::template create<node>(t, key, value, next));
        return true;
    }
    /// Returns true if the key was in the list.
    bool remove(context& t, const Key& key) {
        shared<node*>& link = link_before(t, key);
        node* const n = link.get(t);
        if (n == nullptr || !(n->key == key)) return false;
        link.set(t, n->next.get(t));
        B::destroy(t, n);
        return true;
    }
    void clear(context& t) {
        for (node* n = first_.get(t); n != nullptr;) {
            node* const next = n->next.get(t);
            B::destroy(t, n);
            n = next;
        }
        first_.set(t, nullptr);
    }
    /// REQUIRES: no transaction can reach the list.
    void discard() {
        for (node* n = first_.load(); n != nullptr;) {
            node* const next = n->next.load();
            delete n;
            n = next;
        }
        first_.store(nullptr);
    }

    /// Calls f(const Key&, const Value&) in order.
    template <class F>
    void for_each(context& t, const F& f) const {
        for (const node* n = first_.get(t); n != nullptr; n = n->next.get(t)) f(n->key, n->value);
    }
    /// Calls f for all elements in order. REQUIRES: no other thread runs.
    template <class F>
    void for_each(const F& f) const {
        for (const node* n = first_.load(); n != nullptr; n = n->next.load()) f(n->key, n->value);
    }

private:
    struct node {
        node(const Key& k, const Value& v, node* after) : key{k}, value{v}, next{after} {}
        const Key key;
        const Value value;
        shared<node*> next;
    };

    /// Returns the link to the first node whose key is not below `key`, or the last link.
    shared<node*>& link_before(context& t, const Key& key) {
        shared<node*>* link = &first_;
        for (node* n = link->get(t); n != nullptr && n->key < key; n = link->get(t)) link = &n->next;
        return *link;
    }

    shared<node*> first_{nullptr};
};

}  // namespace stamp
