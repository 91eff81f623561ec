/// @file
/// What the containers share: keys of other types, and operations that are transactions of their own.
#pragma once

#include <concepts>
#include <source_location>
#include <utility>

#include "tutti/atomically.hpp"

namespace tutti::detail {

/// Whether F says, as in the standard library, that it takes other types than keys.
template <class F>
concept transparent = requires { typename F::is_transparent; };

/// Refuses a type of elements or mapped values that can only be moved. True, for a static_assert in a container.
template <class T>
consteval bool require_copyable() {
    static_assert(
        std::copyable<T>,
        "tutti: a container's elements and mapped values need a type that can be copied, because a block that "
        "runs again finds them again; hold what can only be moved by std::shared_ptr");
    return true;
}
/// The same of keys, which are never assigned.
template <class Key>
consteval bool require_copyable_key() {
    static_assert(std::copy_constructible<Key>,
                  "tutti: a container's keys need a type that can be copied, because a block that runs again finds "
                  "them again; hold what can only be moved by std::shared_ptr");
    return true;
}

/// A constant, so that nothing has to be written at the call.
inline constexpr options reading{.read_only = true};

/// Runs f(tx&) as a transaction that only reads, or as part of the one that this thread runs.
template <class F>
auto read_at_once(F&& f, std::source_location at) {
    return atomically(reading, std::forward<F>(f), at);
}

}  // namespace tutti::detail
