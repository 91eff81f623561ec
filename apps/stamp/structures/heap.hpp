// A priority queue as a skew heap (Sleator and Tarjan, "Self-Adjusting Heaps", SIAM J. Computing 15(1), 1986). On
// average, a push touches a few nodes near the root, and a pop a logarithmic number.
#pragma once

#include <utility>

namespace stamp {

/// @tparam T  a pointer; null means no item
template <class B, class T>
class heap {
    using context = typename B::context;
    template <class W>
    using shared = typename B::template shared<W>;

public:
    heap() = default;
    heap(const heap&) = delete;
    heap& operator=(const heap&) = delete;
    /// REQUIRES: no transaction can reach the heap.
    ~heap() { discard(root_.load()); }

    void push(context& t, double priority, T item) {
        meld(t, root_.get(t), B::template create<node>(t, priority, item));
    }
    /// Returns the item with the highest priority, or null if the heap is empty.
    T pop(context& t) {
        node* const top = root_.get(t);
        if (top == nullptr) return nullptr;
        T item = top->item;
        meld(t, top->left.get(t), top->right.get(t));
        B::destroy(t, top);
        return item;
    }

private:
    struct node {
        node(double p, T i) : priority{p}, item{i} {}
        const double priority;
        const T item;
        shared<node*> left{nullptr}, right{nullptr};
    };

    /// Merges two heaps. Exchanges the children of all nodes that it passes, which keeps the paths short.
    void meld(context& t, node* a, node* b) {
        shared<node*>* to = &root_;
        while (a != nullptr && b != nullptr) {
            if (a->priority < b->priority) std::swap(a, b);
            to->set(t, a);
            to = &a->left;
            node* const rest = a->right.get(t);
            a->right.set(t, a->left.get(t));
            a = rest;
        }
        to->set(t, a != nullptr ? a : b);
    }
    static void discard(node* n) {
        // The path to the right may be long, but the left one below each of its nodes is short.
        while (n != nullptr) {
            discard(n->left.load());
            node* const next = n->right.load();
            delete n;
            n = next;
        }
    }

    shared<node*> root_{nullptr};
};

}  // namespace stamp
