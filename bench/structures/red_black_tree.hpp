// A set as a red-black tree (Guibas and Sedgewick 1978), with pointers to parents and null for the leaves.
//
//   1. A red node has no red child, and the root is black.
//   2. Every path from a node down to a leaf has the same number of black nodes.
//
// Left and right are sides 0 and 1, so that each case is written once for both.
#pragma once

#include <limits>

namespace bench {

template <class E>
class red_black_tree {
    template <class T>
    using cell = typename E::template cell<T>;
    using context = typename E::context;

public:
    red_black_tree() = default;
    red_black_tree(const red_black_tree&) = delete;
    red_black_tree& operator=(const red_black_tree&) = delete;

    bool contains(context& c, long key) const { return find(c, key) != nullptr; }

    bool insert(context& c, long key) {
        node* parent = nullptr;
        int side = 0;
        for (node* n = root_.get(c); n != nullptr; n = n->child[side].get(c)) {
            const long here = n->key.get(c);
            if (here == key) return false;
            parent = n;
            side = here < key;
        }
        node* const fresh = E::template create<node>(c, key, parent);
        link(parent, side).set(c, fresh);
        part_reds(c, fresh);
        return true;
    }

    bool remove(context& c, long key) {
        node* n = find(c, key);
        if (n == nullptr) return false;
        node* left = n->child[0].get(c);
        node* right = n->child[1].get(c);
        if (left != nullptr && right != nullptr) {
            // The next greater key moves here. The node that it leaves has no left child.
            node* next = right;
            for (left = next->child[0].get(c); left != nullptr; left = next->child[0].get(c)) next = left;
            n->key.set(c, next->key.get(c));
            n = next;
            right = n->child[1].get(c);
        }
        node* const child = left != nullptr ? left : right;
        node* const parent = n->parent.get(c);
        const int side = parent == nullptr ? 0 : side_of(c, parent, n);
        hang(c, child, parent, side);
        if (!n->red.get(c)) {
            if (child != nullptr) {
                child->red.set(c, false);  // it was red: an only child has no black descendants
            } else if (parent != nullptr) {
                lengthen(c, parent, side);
            }
        }
        E::destroy(c, n);
        return true;
    }

    /// Returns the number of keys. Returns -1 if the structure is not a tree, not sorted, not red-black, or not linked
    /// both ways. REQUIRES: no other thread runs.
    long check() const {
        long count = 0;
        const node* const root = root_.load();
        if (root != nullptr && root->red.load()) return -1;
        const int blacks =
            black_height(root, nullptr, std::numeric_limits<long>::min(), std::numeric_limits<long>::max(), count);
        return blacks < 0 ? -1 : count;
    }

    void clear() {
        clear_below(root_.load());
        E::update([this](context& c) { root_.set(c, nullptr); });
    }

private:
    struct node {
        node(long k, node* p) : key{k}, parent{p} {}
        cell<long> key;
        cell<node*> parent;
        cell<node*> child[2]{cell<node*>{nullptr}, cell<node*>{nullptr}};
        cell<bool> red{true};
    };

    node* find(context& c, long key) const {
        node* n = root_.get(c);
        while (n != nullptr) {
            const long here = n->key.get(c);
            if (here == key) break;
            n = n->child[here < key].get(c);
        }
        return n;
    }

    static bool is_red(context& c, const node* n) { return n != nullptr && n->red.get(c); }

    static int side_of(context& c, const node* parent, const node* n) { return parent->child[1].get(c) == n; }

    cell<node*>& link(node* parent, int side) { return parent == nullptr ? root_ : parent->child[side]; }

    /// Makes `fresh` the child of `parent` on `side`, or the root.
    void hang(context& c, node* fresh, node* parent, int side) {
        link(parent, side).set(c, fresh);
        if (fresh != nullptr) fresh->parent.set(c, parent);
    }

    /// Moves `top` down to `side`. Its child on the other side takes its place.
    void rotate(context& c, node* top, int side) {
        node* const rising = top->child[!side].get(c);
        node* const between = rising->child[side].get(c);
        node* const parent = top->parent.get(c);
        hang(c, rising, parent, parent == nullptr ? 0 : side_of(c, parent, top));
        rising->child[side].set(c, top);
        top->parent.set(c, rising);
        top->child[!side].set(c, between);
        if (between != nullptr) between->parent.set(c, top);
    }

    /// Restores the rules. REQUIRES: `n` is red. Only rule 1 may be violated, because the parent of `n` is red, too, or
    /// because `n` is the root.
    void part_reds(context& c, node* n) {
        for (;;) {
            node* parent = n->parent.get(c);
            if (parent == nullptr) {
                n->red.set(c, false);
                return;
            }
            if (!parent->red.get(c)) return;
            node* const above = parent->parent.get(c);  // exists, because the root is black
            const int side = side_of(c, above, parent);
            node* const uncle = above->child[!side].get(c);
            if (is_red(c, uncle)) {
                parent->red.set(c, false);
                uncle->red.set(c, false);
                above->red.set(c, true);
                n = above;
                continue;
            }
            if (parent->child[!side].get(c) == n) {
                rotate(c, parent, side);
                parent = n;
            }
            parent->red.set(c, false);
            above->red.set(c, true);
            rotate(c, above, !side);
            return;
        }
    }

    /// Restores the rules if the paths down from `parent` through `side` lack one black node.
    void lengthen(context& c, node* parent, int side) {
        for (;;) {
            node* sibling = parent->child[!side].get(c);  // exists, because its side is longer
            if (sibling->red.get(c)) {
                sibling->red.set(c, false);
                parent->red.set(c, true);
                rotate(c, parent, side);
                sibling = parent->child[!side].get(c);
            }
            node* far = sibling->child[!side].get(c);
            if (!is_red(c, far)) {
                node* const near = sibling->child[side].get(c);
                if (!is_red(c, near)) {
                    sibling->red.set(c, true);
                    if (parent->red.get(c)) {
                        parent->red.set(c, false);
                        return;
                    }
                    node* const above = parent->parent.get(c);
                    if (above == nullptr) return;
                    side = side_of(c, above, parent);
                    parent = above;
                    continue;
                }
                rotate(c, sibling, !side);
                far = sibling;
                sibling = near;
            }
            sibling->red.set(c, parent->red.get(c));
            parent->red.set(c, false);
            far->red.set(c, false);
            rotate(c, parent, side);
            return;
        }
    }

    static int black_height(const node* n, const node* parent, long low, long high, long& count) {
        if (n == nullptr) return 0;
        const long key = n->key.load();
        const bool red = n->red.load();
        if (key <= low || key >= high || n->parent.load() != parent) return -1;
        if (red && parent != nullptr && parent->red.load()) return -1;
        const int left = black_height(n->child[0].load(), n, low, key, count);
        const int right = black_height(n->child[1].load(), n, key, high, count);
        if (left < 0 || left != right) return -1;
        ++count;
        return left + (red ? 0 : 1);
    }

    static void clear_below(node* n) {
        if (n == nullptr) return;
        clear_below(n->child[0].load());
        clear_below(n->child[1].load());
        E::update([n](context& c) { E::destroy(c, n); });
    }

    cell<node*> root_{nullptr};
};

}  // namespace bench
