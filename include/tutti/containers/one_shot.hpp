/// @file
/// A cell that is filled once.
#pragma once

#include <concepts>
#include <optional>

#include "tutti/containers/calls.hpp"
#include "tutti/retry.hpp"
#include "tutti/var.hpp"

namespace tutti {

/// A value that comes at some time, and stays: what a promise and a future share, for transactions (an I-structure:
/// Arvind, Nikhil, Pingali, "I-Structures: Data Structures for Parallel Computing", TOPLAS 11(4), 1989).
///
/// @tparam T  any copyable type
template <class T>
class one_shot {
    static_assert(detail::require_copyable<T>());

public:
    using value_type = T;

    /// False, and no effect, where it has a value already. O(1), as all that follow.
    [[nodiscard]] bool try_set(tx& t, const T& value) {
        if (value_.get(t).has_value()) return false;
        value_.set(t, value);
        return true;
    }
    /// The value, or nothing as long as there is none.
    [[nodiscard]] std::optional<T> try_get(tx& t) const { return value_.get(t); }
    /// Waits for the value by `retry`.
    [[nodiscard]] T get(tx& t) const {
        const std::optional<T> value = value_.get(t);
        if (!value) retry(t);
        return *value;
    }

    // ---- Each operation as a transaction of its own, or as part of the one that this thread runs.

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
