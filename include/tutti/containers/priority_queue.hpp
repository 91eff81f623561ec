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
/// **Exceptions.** An operation that throws, because a copy or the comparison does or memory runs out, has no effect,
/// also where the block catches that and commits.
///
/// @tparam T        any copyable type; an element is constant once it is in
/// @tparam Compare  a strict weak order: what it says is less goes later
template <class T, class Compare = std::less<T>>
class priority_queue {
    static_assert(detail::require_copyable<T>());

public:
    using value_type = T;

    priority_queue() = default;
    explicit priority_queue(Compare less) : elements_{turned_round{std::move(less)}} {}

    /// O(log n), as all that follow unless they say otherwise.
    void push(tx& t, const T& value) { elements_.insert(t, value, nothing{}); }
    /// Takes out the largest element, or nothing when the queue is empty.
    [[nodiscard]] std::optional<T> try_pop(tx& t) {
        std::optional<T> value;
        elements_.pop_key(t, [&](const T& first) { value.emplace(first); });
        return value;
    }
    /// The same, but waits by `retry` while the queue is empty.
    T pop(tx& t) {
        const T* const first = elements_.lowest(t);
        if (first == nullptr) retry(t);
        T value{*first};  // returned as it is: once the element is out, no copy may throw
        elements_.pop_key(t, [](const T&) {});
        return value;
    }
    /// A copy of what `try_pop` would take out.
    [[nodiscard]] std::optional<T> top(tx& t) const {
        const T* const first = elements_.lowest(t);
        return first != nullptr ? std::optional<T>{*first} : std::nullopt;
    }
    /// O(n).
    void clear(tx& t) { elements_.clear(t); }

    /// O(1).
    [[nodiscard]] bool empty(tx& t) const { return elements_.empty(t); }
    /// O(n / 10): it counts. Conflicts with every push and pop.
    [[nodiscard]] std::size_t size(tx& t) const { return elements_.size(t); }

    // ---- Each operation as a transaction of its own, or as part of the one that this thread runs.

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
    struct turned_round {
        bool operator()(const T& a, const T& b) const { return less(b, a); }
        [[no_unique_address]] Compare less{};
    };

    ordered_multimap<T, nothing, turned_round> elements_;
};

}  // namespace tutti
