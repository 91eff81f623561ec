/// @file
/// A priority queue for transactions.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

#include "tutti/containers/calls.hpp"
#include "tutti/containers/ordered_multimap.hpp"
#include "tutti/retry.hpp"

namespace tutti {

/// The largest element goes first, as in std::priority_queue; of equal ones about the one that was pushed first.
///
/// **Who conflicts with whom.** Pops conflict with each other, since one must come first. A push conflicts with pushes
/// and pops only where it comes within some 15 elements of them.
///
/// @tparam T        any copyable type; an element is constant once it is in
/// @tparam Compare  a strict weak order: what it says is less goes later
template <std::copyable T, class Compare = std::less<T>>
class priority_queue {
public:
    using value_type = T;

    priority_queue() = default;
    explicit priority_queue(Compare less) : elements_{turned_round{std::move(less)}} {}

    /// O(log n), as all that follow unless they say otherwise.
    void push(tx& t, const T& value) { elements_.insert(t, value, nothing{}); }
    /// Takes out the largest element, or nothing when the queue is empty.
    [[nodiscard]] std::optional<T> try_pop(tx& t) {
        auto first = elements_.pop_front(t);
        return first ? std::optional<T>{std::move(first->first)} : std::nullopt;
    }
    /// The same, but waits by `retry` while the queue is empty.
    T pop(tx& t) {
        if (std::optional<T> value = try_pop(t)) return *std::move(value);
        retry(t);
    }
    /// A copy of what `try_pop` would take out.
    [[nodiscard]] std::optional<T> top(tx& t) const {
        auto first = elements_.front(t);
        return first ? std::optional<T>{std::move(first->first)} : std::nullopt;
    }
    /// O(n).
    void clear(tx& t) { elements_.clear(t); }

    /// O(1).
    [[nodiscard]] bool empty(tx& t) const { return elements_.empty(t); }
    /// O(n / 10): it counts. Conflicts with every push and pop.
    [[nodiscard]] std::size_t size(tx& t) const { return elements_.size(t); }

    // ---- Each operation as a transaction of its own, or as part of the one that this thread runs.

    void push(const T& value) { elements_.insert(value, nothing{}); }
    [[nodiscard]] std::optional<T> try_pop() {
        return atomically([&](tx& t) { return try_pop(t); });
    }
    T pop() {
        return atomically([&](tx& t) { return pop(t); });
    }

private:
    struct nothing {};
    struct turned_round {
        bool operator()(const T& a, const T& b) const { return less(b, a); }
        [[no_unique_address]] Compare less{};
    };

    ordered_multimap<T, nothing, turned_round> elements_;
};

}  // namespace tutti
