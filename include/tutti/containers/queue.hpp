/// @file
/// An unbounded queue for transactions.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <utility>

#include "tutti/containers/calls.hpp"
#include "tutti/memory.hpp"
#include "tutti/retry.hpp"
#include "tutti/var.hpp"

namespace tutti {

/// A first-in, first-out queue without a length limit.
///
/// **Conflicts.** Two pushes always conflict, because one must come first. Two pops always conflict for the same
/// reason. A push and a pop conflict only if the queue has at most one element, or if the pop removes its last element.
/// The two ends are separate variables, and a push reads the other end only if the queue is empty (as the two locks of
/// Michael, Scott, "Simple, Fast, and Practical Non-Blocking and Blocking Concurrent Queue Algorithms", PODC 1996).
///
/// **Exceptions.** An operation that throws, because a copy throws or memory runs out, has no effect. This also holds
/// if the block catches the exception and commits.
///
/// @tparam T  any copyable type; an element is constant once it is in the queue
template <class T>
class queue {
    static_assert(detail::require_copyable<T>());

public:
    using value_type = T;

    queue() = default;
    queue(const queue&) = delete;
    queue& operator=(const queue&) = delete;
    /// REQUIRES: no transaction can reach the queue.
    ~queue() {
        for (node* n = oldest_.load(); n != nullptr;) delete std::exchange(n, n->next.load());
    }

    /// Appends an element. O(1).
    void push(tx& t, const T& value) {
        node* const last = newest_.get(t);
        detail::unlinked<1> made{t};
        node* const fresh = made.template make<node>(value, last == nullptr ? 0 : last->number + 1);
        detail::reserve(t, 2, 0);
        made.keep();
        newest_.set(t, fresh);
        // The pop that empties the queue clears both ends. So the last node is never a removed node.
        if (last == nullptr) oldest_.set(t, fresh);
        else last->next.set(t, fresh);
    }

    /// Removes and returns the oldest element. Returns nullopt if the queue is empty. O(1).
    [[nodiscard]] std::optional<T> try_pop(tx& t) {
        std::optional<T> value;  // the only return value, so that returning it needs no copy
        if (node* const first = oldest_.get(t)) {
            value.emplace(first->value);
            remove_front(t, first);
        }
        return value;
    }
    /// Removes and returns the oldest element. Waits by `retry` while the queue is empty. O(1).
    T pop(tx& t) {
        node* const first = oldest_.get(t);
        if (first == nullptr) retry(t);
        T value{first->value};  // returned without a copy, because no copy may throw after the element is removed
        remove_front(t, first);
        return value;
    }
    /// Returns a copy of the oldest element, or nullopt. O(1).
    [[nodiscard]] std::optional<T> front(tx& t) const {
        const node* const first = oldest_.get(t);
        return first != nullptr ? std::optional<T>{first->value} : std::nullopt;
    }

    /// O(1). Conflicts with pops, and with the first push.
    [[nodiscard]] bool empty(tx& t) const { return oldest_.get(t) == nullptr; }
    /// O(1). Conflicts with every push and pop.
    [[nodiscard]] std::size_t size(tx& t) const {
        const node* const first = oldest_.get(t);
        return first != nullptr ? newest_.get(t)->number - first->number + 1 : 0;
    }

    /// Removes all elements. O(n).
    void clear(tx& t) {
        const std::size_t count = size(t);
        if (count == 0) return;
        detail::reserve(t, 2, count);
        node* n = oldest_.get(t);
        oldest_.set(t, nullptr);
        newest_.set(t, nullptr);
        while (n != nullptr) tutti::destroy(t, std::exchange(n, n->next.get(t)));
    }

    /// Calls f(const T&) for every element, oldest first. Conflicts with every push and pop. O(n).
    template <std::invocable<const T&> F>
    void for_each(tx& t, F f) const {
        for (const node* n = oldest_.get(t); n != nullptr; n = n->next.get(t)) f(n->value);
    }

    // ---- Each of these operations is a transaction of its own, or part of the transaction that this thread runs.

    void push(const T& value, std::source_location at = std::source_location::current()) {
        atomically([&](tx& t) { push(t, value); }, at);
    }
    [[nodiscard]] std::optional<T> try_pop(std::source_location at = std::source_location::current()) {
        return atomically([&](tx& t) { return try_pop(t); }, at);
    }
    T pop(std::source_location at = std::source_location::current()) {
        return atomically([&](tx& t) { return pop(t); }, at);
    }
    [[nodiscard]] std::size_t size(std::source_location at = std::source_location::current()) const {
        return detail::read_at_once([&](tx& t) { return size(t); }, at);
    }

private:
    struct node {
        node(const T& v, std::size_t n) : value{v}, number{n} {}
        const T value;
        const std::size_t number;  // number of the push, so that `size` need not count
        var<node*> next{nullptr};
    };

    void remove_front(tx& t, node* first) {
        node* const next = first->next.get(t);
        detail::reserve(t, 2, 1);
        oldest_.set(t, next);
        if (next == nullptr) newest_.set(t, nullptr);
        tutti::destroy(t, first);
    }

    static constexpr std::size_t line = 64;  // producers and consumers share no cache line

    alignas(line) var<node*> oldest_{nullptr};
    alignas(line) var<node*> newest_{nullptr};
};

}  // namespace tutti
