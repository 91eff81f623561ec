/// @file
/// A queue of limited length for transactions.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "tutti/containers/calls.hpp"
#include "tutti/memory.hpp"
#include "tutti/retry.hpp"
#include "tutti/var.hpp"

namespace tutti {

/// A first-in, first-out queue. `push` waits while the queue is full, and `pop` waits while the queue is empty.
///
/// **Conflicts.** Two pushes always conflict, because one must come first. Two pops always conflict for the same
/// reason. A push and a pop conflict only if they use the same place, which happens when the queue is full or empty.
/// Each of them reads only the place at its own end, and never the position of the other end (Giacomoni, Moseley,
/// Vachharajani, "FastForward for Efficient Pipeline Parallelism", PPoPP 2008).
///
/// **Exceptions.** An operation that throws, because a copy throws or memory runs out, has no effect. This also holds
/// if the block catches the exception and commits.
///
/// @tparam T  any copyable type; an element is constant once it is in the queue
template <class T>
class bounded_queue {
    static_assert(detail::require_copyable<T>());

public:
    using value_type = T;

    /// @throws std::invalid_argument  for a capacity of 0
    explicit bounded_queue(std::size_t capacity) : capacity_{capacity} {
        if (capacity == 0) throw std::invalid_argument{"tutti::bounded_queue: the capacity must be at least 1"};
        slots_.reset(new var<const T*>[capacity] {});
    }
    bounded_queue(const bounded_queue&) = delete;
    bounded_queue& operator=(const bounded_queue&) = delete;
    /// REQUIRES: no transaction can reach the queue.
    ~bounded_queue() {
        for (std::size_t i = 0; i < capacity_; ++i) delete slots_[i].load();
    }

    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

    /// Appends the value. Returns false, without any effect, if the queue is full. O(1).
    [[nodiscard]] bool try_push(tx& t, const T& value) {
        const std::size_t number = pushed_.get(t);
        if (at(number).get(t) != nullptr) return false;
        detail::unlinked<1> made{t};
        const T* const fresh = made.template make<T>(value);
        detail::reserve(t, 2, 0);
        made.keep();
        at(number).set(t, fresh);
        pushed_.set(t, number + 1);
        return true;
    }
    /// Appends the value. Waits by `retry` while the queue is full. O(1).
    void push(tx& t, const T& value) {
        if (!try_push(t, value)) retry(t);
    }

    /// Removes and returns the oldest element. Returns nullopt if the queue is empty. O(1).
    [[nodiscard]] std::optional<T> try_pop(tx& t) {
        const std::size_t number = popped_.get(t);
        std::optional<T> value;  // the only return value, so that returning it needs no copy
        if (const T* const first = at(number).get(t)) {
            value.emplace(*first);
            remove_front(t, number, first);
        }
        return value;
    }
    /// Removes and returns the oldest element. Waits by `retry` while the queue is empty. O(1).
    T pop(tx& t) {
        const std::size_t number = popped_.get(t);
        const T* const first = at(number).get(t);
        if (first == nullptr) retry(t);
        T value{*first};  // returned without a copy, because no copy may throw after the element is removed
        remove_front(t, number, first);
        return value;
    }
    /// Returns a copy of the oldest element, or nullopt. O(1).
    [[nodiscard]] std::optional<T> front(tx& t) const {
        const T* const first = at(popped_.get(t)).get(t);
        return first != nullptr ? std::optional<T>{*first} : std::nullopt;
    }

    /// O(1). Conflicts with pops, and with the first push.
    [[nodiscard]] bool empty(tx& t) const { return at(popped_.get(t)).get(t) == nullptr; }
    /// O(1). Conflicts with pushes, and with the first pop.
    [[nodiscard]] bool full(tx& t) const { return at(pushed_.get(t)).get(t) != nullptr; }
    /// O(1). Conflicts with every push and pop.
    [[nodiscard]] std::size_t size(tx& t) const { return pushed_.get(t) - popped_.get(t); }

    /// Removes all elements. O(n).
    void clear(tx& t) {
        const std::size_t end = pushed_.get(t), begin = popped_.get(t);
        if (begin == end) return;
        detail::reserve(t, end - begin + 1, end - begin);
        for (std::size_t i = begin; i != end; ++i) {
            const T* const element = at(i).get(t);
            at(i).set(t, nullptr);
            detail::destroy_value<T>(t, element);
        }
        popped_.set(t, end);
    }

    /// Calls f(const T&) for every element, oldest first. Conflicts with every push and pop. O(n).
    template <std::invocable<const T&> F>
    void for_each(tx& t, F f) const {
        const std::size_t end = pushed_.get(t);
        for (std::size_t i = popped_.get(t); i != end; ++i) f(*at(i).get(t));
    }

    // ---- Each of these operations is a transaction of its own, or part of the transaction that this thread runs.

    void push(const T& value, std::source_location at = std::source_location::current()) {
        atomically([&](tx& t) { push(t, value); }, at);
    }
    [[nodiscard]] bool try_push(const T& value, std::source_location at = std::source_location::current()) {
        return atomically([&](tx& t) { return try_push(t, value); }, at);
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
    void remove_front(tx& t, std::size_t number, const T* first) {
        detail::reserve(t, 2, 1);
        at(number).set(t, nullptr);
        popped_.set(t, number + 1);
        detail::destroy_value<T>(t, first);
    }
    var<const T*>& at(std::size_t number) const { return slots_[number % capacity_]; }

    static constexpr std::size_t line = 64;  // producers and consumers share no cache line

    std::size_t capacity_;
    struct disposing {
        void operator()(var<const T*>* places) const noexcept {
            detail::dispose(places, [](void* p) { delete[] static_cast<var<const T*>*>(p); });
        }
    };
    std::unique_ptr<var<const T*>[], disposing> slots_;
    alignas(line) var<std::size_t> pushed_{0};  // total number of pushes, which fits into 64 bits
    alignas(line) var<std::size_t> popped_{0};
};

}  // namespace tutti
