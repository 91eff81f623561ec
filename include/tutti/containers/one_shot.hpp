/// @file
/// A cell that is set once.
#pragma once

#include <concepts>
#include <optional>

#include "tutti/containers/calls.hpp"
#include "tutti/retry.hpp"
#include "tutti/var.hpp"

namespace tutti {

/// A value that is set once and then stays. It is the shared state of a promise and a future, for transactions (an
/// I-structure: Arvind, Nikhil, Pingali, "I-Structures: Data Structures for Parallel Computing", TOPLAS 11(4), 1989).
///
/// @tparam T  any copyable type
template <class T>
class one_shot {
    static_assert(detail::require_copyable<T>());

public:
    using value_type = T;

    /// Sets the value. Returns false, without any effect, if there is a value already. This and all following
    /// operations are O(1).
    [[nodiscard]] bool try_set(tx& t, const T& value) {
        if (value_.get(t).has_value()) return false;
        value_.set(t, value);
        return true;
    }
    /// Returns the value, or nullopt if it is not set yet.
    [[nodiscard]] std::optional<T> try_get(tx& t) const { return value_.get(t); }
    /// Returns the value. Waits by `retry` until it is set.
    [[nodiscard]] T get(tx& t) const {
        const std::optional<T> value = value_.get(t);
        if (!value) retry(t);
        return *value;
    }

    // ---- Each of these operations is a transaction of its own, or part of the transaction that this thread runs.

    [[nodiscard]] bool try_set(const T& value, std::source_location at = std::source_location::current()) {
        return atomically([&](tx& t) { return try_set(t, value); }, at);
    }
    [[nodiscard]] std::optional<T> try_get() const { return value_.load(); }
    [[nodiscard]] T get(std::source_location at = std::source_location::current()) const {
        return detail::read_at_once([&](tx& t) { return get(t); }, at);
    }

private:
    var<std::optional<T>> value_{std::optional<T>{}};
};

}  // namespace tutti
