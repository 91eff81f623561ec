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

/// A queue that returns its largest element first, as std::priority_queue does. Equal elements come approximately in
/// the order of their pushes.
///
/// **Conflicts.** Two pops always conflict, because one must come first. A push conflicts with pushes and pops only
/// within a distance of some 15 elements.
///
/// **Exceptions.** An operation that throws, because a copy or the comparison throws or memory runs out, has no effect.
/// This also holds if the block catches the exception and commits.
///
/// @tparam T        any copyable type; an element is constant once it is in the queue
/// @tparam Compare  a strict weak order; an element that is less comes later
template <class T, class Compare = std::less<T>>
class priority_queue {
    static_assert(detail::require_copyable<T>());

public:
    using value_type = T;

    priority_queue() = default;
    explicit priority_queue(Compare less) : elements_{reversed_order{std::move(less)}} {}

    /// Inserts an element. Unless stated otherwise, this and all following operations are O(log n).
    void push(tx& t, const T& value) { elements_.insert(t, value, nothing{}); }
    /// Removes and returns the largest element. Returns nullopt if the queue is empty.
    [[nodiscard]] std::optional<T> try_pop(tx& t) {
        std::optional<T> value;
        elements_.pop_key(t, [&](const T& first) { value.emplace(first); });
        return value;
    }
    /// Removes and returns the largest element. Waits by `retry` while the queue is empty.
    T pop(tx& t) {
        const T* const first = elements_.lowest(t);
        if (first == nullptr) retry(t);
        T value{*first};  // returned without a copy, because no copy may throw after the element is removed
        elements_.pop_key(t, [](const T&) {});
        return value;
    }
    /// Returns a copy of the largest element, or nullopt.
    [[nodiscard]] std::optional<T> top(tx& t) const {
        const T* const first = elements_.lowest(t);
        return first != nullptr ? std::optional<T>{*first} : std::nullopt;
    }
    /// Removes all elements. O(n).
    void clear(tx& t) { elements_.clear(t); }

    /// O(1).
    [[nodiscard]] bool empty(tx& t) const { return elements_.empty(t); }
    /// Counts the elements. Conflicts with every push and pop. O(n / 10).
    [[nodiscard]] std::size_t size(tx& t) const { return elements_.size(t); }

    // ---- Each of these operations is a transaction of its own, or part of the transaction that this thread runs.

    void push(const T& value, std::source_location at = std::source_location::current()) {
        elements_.insert(value, nothing{}, at);
    }
    [[nodiscard]] std::optional<T> try_pop(std::source_location at = std::source_location::current()) {
        return atomically([&](tx& t) { return try_pop(t); }, at);
    }
    T pop(std::source_location at = std::source_location::current()) {
        return atomically([&](tx& t) { return pop(t); }, at);
    }

private:
    struct nothing {};
    struct reversed_order {
        bool operator()(const T& a, const T& b) const { return less(b, a); }
        [[no_unique_address]] Compare less{};
    };

    ordered_multimap<T, nothing, reversed_order> elements_;
};

}  // namespace tutti
