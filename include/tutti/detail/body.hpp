// What the compiler can tell of a function that the engine is to run: of the body of a block, a handler, an undo.
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
/// Whether a call of F with these arguments may be one of a coroutine: its result has a promise type. A lambda's own
/// object is the first parameter of its coroutine.
template <class F, class... Arguments>
inline constexpr bool may_be_coroutine =
    has_promise<std::invoke_result_t<F&, Arguments...>, Arguments...> ||
    has_promise<std::invoke_result_t<F&, Arguments...>, const std::remove_cvref_t<F>&, Arguments...>;
#else
template <class F, class... Arguments>
inline constexpr bool may_be_coroutine = false;
#endif

/// Refuses a function that is not over when its call returns.
template <class F, class... Arguments>
consteval void require_no_coroutine() {
    static_assert(!may_be_coroutine<F, Arguments...>,
                  "tutti: a coroutine returns before it has run, so it can be neither the body of an atomic block nor "
                  "a handler or an undo; run the block inside the coroutine");
}

/// Refuses a function that accesses a transaction and that a restart could not leave.
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
