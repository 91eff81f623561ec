/// @file
/// Parts that the containers share: keys of other types, and operations that are transactions of their own.
#pragma once

#include <concepts>
#include <source_location>
#include <utility>

#include "tutti/atomically.hpp"

namespace tutti::detail {

/// True if F accepts other types than keys, as in the standard library.
template <class F>
concept transparent = requires { typename F::is_transparent; };

/// Rejects elements and mapped values of a type that can only be moved. Returns true, for use in a container's
/// static_assert.
template <class T>
consteval bool require_copyable() {
    static_assert(
        std::copyable<T>,
        "tutti: a container's elements and mapped values need a type that can be copied, because a block that "
        "runs again finds them again; hold a type that can only be moved by std::shared_ptr");
    return true;
}
/// Rejects keys of a type that can only be moved. Keys are never assigned, so they need only a copy constructor.
template <class Key>
consteval bool require_copyable_key() {
    static_assert(std::copy_constructible<Key>,
                  "tutti: a container's keys need a type that can be copied, because a block that runs again finds "
                  "them again; hold a type that can only be moved by std::shared_ptr");
    return true;
}

/// The options are a constant, so that a call need not build an options object.
inline constexpr options reading{.read_only = true};

/// Runs f(tx&) as a read-only transaction, or as part of the transaction that this thread runs.
template <class F>
auto read_at_once(F&& f, std::source_location at) {
    return atomically(reading, std::forward<F>(f), at);
}

}  // namespace tutti::detail
