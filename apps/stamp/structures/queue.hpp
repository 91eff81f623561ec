// A first-in, first-out queue of any length. The two ends are separate words: a push conflicts with a pop only if the
// queue is nearly empty.
#pragma once

namespace stamp {

/// @tparam T  a pointer; null means no item
template <class B, class T>
class queue {
    using context = typename B::context;
    template <class W>
    using shared = typename B::template shared<W>;

public:
    queue() = default;
    queue(const queue&) = delete;
    queue& operator=(const queue&) = delete;
    /// REQUIRES: no transaction can reach the queue.
    ~queue() {
        for (node* n = oldest_.load(); n != nullptr;) {
            node* const next = n->next.load();
            delete n;
            n = next;
        }
    }

    void push(context& t, T item) {
        node* const fresh = B::template create<node>(t, item);
        node* const last = newest_.get(t);
        newest_.set(t, fresh);
        if (last == nullptr) oldest_.set(t, fresh);
        else last->next.set(t, fresh);
    }
    /// Returns the oldest item, or null if the queue is empty.
    T pop(context& t) {
        node* const first = oldest_.get(t);
        if (first == nullptr) return nullptr;
        T item = first->item;
        node* const next = first->next.get(t);
        oldest_.set(t, next);
        if (next == nullptr) newest_.set(t, nullptr);
        B::destroy(t, first);
        return item;
    }
    [[nodiscard]] bool empty(context& t) const { return oldest_.get(t) == nullptr; }

private:
    struct node {
        explicit node(T i) : item{i} {}
        const T item;
        shared<node*> next{nullptr};
    };

    // Each is in a separate cache line.
    alignas(64) shared<node*> oldest_{nullptr};
    alignas(64) shared<node*> newest_{nullptr};
};

}  // namespace stamp
