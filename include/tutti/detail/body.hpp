// Compile-time checks of functions that the engine runs: the body of a block, a handler, an undo.
#pragma once

#include <type_traits>

#include "tutti/detail/config.hpp"

#if defined(__cpp_impl_coroutine)
#include <coroutine>
#endif

namespace tutti {

class tx;

namespace detail {

#if defined(__cpp_impl_coroutine)
template <class... Signature>
concept has_promise = requires { typename std::coroutine_traits<Signature...>::promise_type; };
/// True if a call of F with these arguments may be a coroutine, because its result has a promise type. For a lambda,
/// the first parameter of its coroutine is the lambda object itself.
template <class F, class... Arguments>
inline constexpr bool may_be_coroutine =
    has_promise<std::invoke_result_t<F&, Arguments...>, Arguments...> ||
    has_promise<std::invoke_result_t<F&, Arguments...>, const std::remove_cvref_t<F>&, Arguments...>;
#else
template <class F, class... Arguments>
inline constexpr bool may_be_coroutine = false;
#endif

/// Rejects a coroutine, because a coroutine is not finished when its call returns.
template <class F, class... Arguments>
consteval void require_no_coroutine() {
    static_assert(!may_be_coroutine<F, Arguments...>,
                  "tutti: a coroutine returns before it has run, so it can be neither the body of an atomic block nor "
                  "a handler or an undo; run the block inside the coroutine");
}

/// Rejects a noexcept function that accesses a transaction, because a restart could not leave such a function.
template <class F, class... Arguments>
consteval void require_body() {
    require_no_coroutine<F, Arguments...>();
    static_assert(
        !std::is_nothrow_invocable_v<F&, Arguments...>,
        "tutti: the body of an atomic block, an undo or a before_commit handler must not be noexcept, because "
        "an exception leaves it when the block restarts; remove noexcept");
}

}  // namespace detail
}  // namespace tutti
