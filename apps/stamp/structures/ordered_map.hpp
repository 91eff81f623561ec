// A map as a treap (Seidel and Aragon, "Randomized Search Trees", Algorithmica 16, 1996): ordered by key, and a heap by
// priority, which is the scrambled key. So the tree's form depends only on the keys. An update changes two links on
// average, hardly ever near the root, so transactions on different keys rarely conflict.
//
//   1. All keys below child[0] are lower, all below child[1] are higher.
//   2. No priority is higher than the parent's. Distinct keys have distinct priorities.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stamp/random.hpp"

namespace stamp {

template <class B, class Value>
class ordered_map {
    using context = typename B::context;
    template <class T>
    using shared = typename B::template shared<T>;

public:
    using key_type = std::uint64_t;

    ordered_map() = default;
    ordered_map(const ordered_map&) = delete;
    ordered_map& operator=(const ordered_map&) = delete;
    /// REQUIRES: no transaction can reach the map.
    ~ordered_map() { discard(root_.load()); }

    /// Returns null if the key is missing. The value is constant.
    const Value* find(context& t, key_type key) const {
        const node* n = root_.get(t);
        while (n != nullptr && n->key != key) n = n->child[n->key < key].get(t);
        return n != nullptr ? &n->value : nullptr;
    }
    /// Returns true if the key is new; otherwise changes nothing.
    bool insert(context& t, key_type key, const Value& value) {
        const std::uint64_t priority = scrambled(key);
        shared<node*>* link = &root_;
        node* n = link->get(t);
        for (; n != nullptr && n->priority() >= priority; n = link->get(t)) {
            if (n->key == key) return false;
            link = &n->child[n->key < key];
        }
        node* const fresh = B::template create<node>(t, key, value);
        split(t, n, key, fresh);
        link->set(t, fresh);
        return true;
    }
    /// Returns true if the key was in the map.
    bool remove(context& t, key_type key) {
        shared<node*>* link = &root_;
        node* n = link->get(t);
        for (; n != nullptr && n->key != key; n = link->get(t)) link = &n->child[n->key < key];
        if (n == nullptr) return false;
        join(t, *link, n->child[0].get(t), n->child[1].get(t));
        B::destroy(t, n);
        return true;
    }

    /// Calls f(key, const Value&) in order. REQUIRES: no other thread runs.
    template <class F>
    void for_each(const F& f) const {
        visit(root_.load(), f);
    }

private:
    struct node {
        node(key_type k, const Value& v) : key{k}, value{v} {}
        [[nodiscard]] std::uint64_t priority() const noexcept { return scrambled(key); }
        const key_type key;
        const Value value;
        shared<node*> child[2]{shared<node*>{nullptr}, shared<node*>{nullptr}};
    };

    /// Skips a write that changes nothing, because it would cause needless conflicts.
    static void change(context& t, shared<node*>& link, node* to) {
        if (link.get(t) != to) link.set(t, to);
    }

    /// Puts the nodes below `n` under `top`, each on its side of `key`.
    static void split(context& t, node* n, key_type key, node* top) {
        shared<node*>* side[2] = {&top->child[0], &top->child[1]};
        while (n != nullptr) {
            const bool lower = n->key < key;
            change(t, *side[!lower], n);
            side[!lower] = &n->child[lower];
            n = n->child[lower].get(t);
        }
        change(t, *side[0], nullptr);
        change(t, *side[1], nullptr);
    }
    /// Joins both trees under `link`. REQUIRES: all keys of `low` are below those of `high`.
    static void join(context& t, shared<node*>& link, node* low, node* high) {
        shared<node*>* to = &link;
        while (low != nullptr && high != nullptr) {
            node*& top = low->priority() > high->priority() ? low : high;
            const bool left = &top == &high;
            change(t, *to, top);
            to = &top->child[!left];
            top = to->get(t);
        }
        change(t, *to, low != nullptr ? low : high);
    }

    template <class F>
    static void visit(const node* n, const F& f) {
        if (n == nullptr) return;
        visit(n->child[0].load(), f);
        f(n->key, n->value);
        visit(n->child[1].load(), f);
    }
    static void discard(node* n) {
        if (n == nullptr) return;
        discard(n->child[0].load());
        discard(n->child[1].load());
        delete n;
    }

    shared<node*> root_{nullptr};
};

}  // namespace stamp
