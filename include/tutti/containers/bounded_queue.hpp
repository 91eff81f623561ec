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

/// First in, first out; `push` waits while it is full, and `pop` while it is empty.
///
/// **Who conflicts with whom.** Pushes conflict with each other, since one must come first, and so do pops. A push and
/// a pop conflict only over the same place, that is when the queue is full or empty: each end tells by the place that
/// it has come to, and never looks at how far the other one is (Giacomoni, Moseley, Vachharajani, "FastForward for
/// Efficient Pipeline Parallelism", PPoPP 2008).
///
/// **Exceptions.** An operation that throws, because a copy does or memory runs out, has no effect, also where the
/// block catches that and commits.
///
/// @tparam T  any copyable type; an element is constant once it is in
template <class T>
class bounded_queue {
    static_assert(detail::require_copyable<T>());

public:
    using value_type = T;

    /// @throws std::invalid_argument  for a capacity of 0
    explicit bounded_queue(std::size_t capacity) : capacity_{capacity} {
        if (capacity == 0) throw std::invalid_argument{"tutti::bounded_queue: the capacity must be at least 1"};
        places_.reset(new var<const T*>[capacity] {});
    }
    bounded_queue(const bounded_queue&) = delete;
    bounded_queue& operator=(const bounded_queue&) = delete;
    /// REQUIRES: no transaction can reach the queue.
    ~bounded_queue() {
        for (std::size_t i = 0; i < capacity_; ++i) delete places_[i].load();
    }

    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

    /// False, and no effect, when the queue is full. O(1).
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
    /// The same, but waits by `retry` while the queue is full.
    void push(tx& t, const T& value) {
        if (!try_push(t, value)) retry(t);
    }

    /// Takes out what was pushed first, or nothing when the queue is empty. O(1).
    [[nodiscard]] std::optional<T> try_pop(tx& t) {
        const std::size_t number = popped_.get(t);
        std::optional<T> value;  // the only thing to return, so that nothing copies it
        if (const T* const first = at(number).get(t)) {
            value.emplace(*first);
            take_out(t, number, first);
        }
        return value;
    }
    /// The same, but waits by `retry` while the queue is empty.
    T pop(tx& t) {
        const std::size_t number = popped_.get(t);
        const T* const first = at(number).get(t);
        if (first == nullptr) retry(t);
        T value{*first};  // returned as it is: once the element is out, no copy may throw
        take_out(t, number, first);
        return value;
    }
    /// A copy of what `try_pop` would take out. O(1).
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

    /// O(n).
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

    // ---- Each operation as a transaction of its own, or as part of the one that this thread runs.

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
    void take_out(tx& t, std::size_t number, const T* first) {
        detail::reserve(t, 2, 1);
        at(number).set(t, nullptr);
        popped_.set(t, number + 1);
        detail::destroy_value<T>(t, first);
    }
    var<const T*>& at(std::size_t number) const { return places_[number % capacity_]; }

    static constexpr std::size_t line = 64;  // producers and consumers share no cache line

    std::size_t capacity_;
    struct disposing {
        void operator()(var<const T*>* places) const noexcept {
            detail::dispose(places, [](void* p) { delete[] static_cast<var<const T*>*>(p); });
        }
    };
    std::unique_ptr<var<const T*>[], disposing> places_;
    alignas(line) var<std::size_t> pushed_{0};  // in all, which 64 bits can count
    alignas(line) var<std::size_t> popped_{0};
};

}  // namespace tutti
