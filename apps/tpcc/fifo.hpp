// A queue of rows: in at one end, out at the other, both within transactions.
//
// The two ends are separate variables, and the pushing end never reads the popping one unless the queue is empty:
// a producer and a consumer conflict only over a queue of at most one row.
#pragma once

#include <optional>

#include <tutti/tutti.hpp>

#include "tpcc/schema.hpp"

namespace tpcc {

/// @tparam Row  small and copyable
template <class Row>
class fifo {
public:
    fifo() = default;
    fifo(const fifo&) = delete;
    fifo& operator=(const fifo&) = delete;
    /// REQUIRES: no transaction can reach the queue.
    ~fifo() {
        for (node* n = oldest_.load(); n != nullptr;) {
            node* const next = n->next.load();
            delete n;
            n = next;
        }
    }

    void push(tutti::tx& t, const Row& row) {
        node* const fresh = tutti::create<node>(t, row);
        node* const last = newest_.get(t);
        newest_.set(t, fresh);
        // Who makes the queue empty clears both ends, so the last node is never one that was removed.
        if (last == nullptr) oldest_.set(t, fresh);
        else last->next.set(t, fresh);
    }

    /// Takes out what was pushed first, or nothing when the queue is empty.
    std::optional<Row> pop(tutti::tx& t) {
        node* const first = oldest_.get(t);
        if (first == nullptr) return std::nullopt;
        node* const next = first->next.get(t);
        oldest_.set(t, next);
        if (next == nullptr) newest_.set(t, nullptr);
        const Row row = first->row;
        tutti::destroy(t, first);
        return row;
    }

    /// Calls f(const Row&) for every row, oldest first. REQUIRES: no transaction is writing the queue.
    template <class F>
    void for_each(F f) const {
        for (const node* n = oldest_.load(); n != nullptr; n = n->next.load()) f(n->row);
    }

private:
    struct node {
        explicit node(const Row& r) : row{r} {}
        const Row row;
        tutti::var<node*> next{nullptr};
    };

    alignas(cache_line) tutti::var<node*> oldest_{nullptr};
    alignas(cache_line) tutti::var<node*> newest_{nullptr};
};

}  // namespace tpcc
