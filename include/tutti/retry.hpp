/// @file
/// Waits for a condition, and chooses between blocks that wait.
/// Harris, Marlow, Peyton Jones, Herlihy: "Composable Memory Transactions", PPoPP 2005.
#pragma once

#include <chrono>
#include <source_location>

#include "tutti/atomically.hpp"

namespace tutti {

/// Rolls the transaction back. The thread then sleeps until another commit changes something that the transaction has
/// read, in any alternative that was tried. Then the transaction runs again. Inside `or_else`, the next alternative
/// runs first. This call is an error of use in an irrevocable transaction. In a transaction that has read nothing, it
/// is also an error of use, because nothing could ever wake the transaction.
[[noreturn]] inline void retry(tx& t) { detail::raise_retry(t); }

/// Waits as `retry` does, but for at most `limit` in all, counted over all restarts of this execution of the block.
/// Then the function returns, and the code after it handles the timeout. In an alternative of `or_else` that is not the
/// last one, the function does not wait: the next alternative runs. If the transaction has read nothing, the function
/// sleeps for `limit`.
///
/// Each call has its own limit, which starts when this execution first reaches the call. A block that waits in two
/// places, or calls a function that waits twice, waits for both limits, one after the other. Throws std::bad_alloc. A
/// limit beyond the range of nanoseconds becomes their largest or smallest number.
template <class Rep, class Period>
void retry_for(tx& t, std::chrono::duration<Rep, Period> limit,
               std::source_location at = std::source_location::current()) {
    detail::raise_retry_for(t, detail::saturated(limit), {at.file_name(), at.line(), at.column()});
}

/// Continues if the condition holds. Otherwise calls `retry`, which waits until the condition may have changed.
/// Example: `check(t, !queue.empty(t));`.
inline void check(tx& t, bool condition) {
    if (!condition) retry(t);
}

/// Waits as `retry_for` does, but until the point in time `when`. Each call converts `when` to the steady clock, by the
/// difference between the two clocks at the time of the call. So if `Clock` is adjusted during the wait (system_clock),
/// the adjustment takes effect when the next attempt calls this function.
template <class Clock, class Duration>
void retry_until(tx& t, std::chrono::time_point<Clock, Duration> when) {
    // The difference in floating-point seconds cannot overflow, whatever the clock's unit is. An exact difference could
    // overflow.
    using seconds = std::chrono::duration<double>;
    constexpr seconds far = std::chrono::years{100};
    const auto now = Clock::now();
    const auto mine = std::chrono::steady_clock::now();
    const seconds about = seconds{when.time_since_epoch()} - seconds{now.time_since_epoch()};
    if (about > far) retry(t);                                       // beyond the range of nanoseconds
    if (!(about > -far)) return detail::raise_retry_until(t, mine);  // the point in time is long past
    detail::raise_retry_until(t, mine + std::chrono::ceil<std::chrono::nanoseconds>(when - now));
}

namespace detail {

template <class R, class Last>
R choose(tx& t, Last& last) {
    return run_nested<false>(t, options{}, last);
}

template <class R, class First, class... Rest>
    requires(sizeof...(Rest) > 0)
R choose(tx& t, First& first, Rest&... rest) {
    frame f;
    f.alternative = true;
    for (;;) {
        open_nested(t, f);
        try {
            if constexpr (std::is_void_v<R>) {
                first(t);
                close_nested(t, f);
                return;
            } else {
                R value = first(t);
                close_nested(t, f);
                return value;
            }
        } catch (...) {
            if (!signalled(t)) {
                fail_nested(t, f);
                throw;
            }
        }
        // This call comes after the handler and not inside it, because the call may leave by a jump.
        const after_rollback next = reopen_nested(t, f);
        if (next == after_rollback::propagate) propagate(t);
        if (next == after_rollback::cancelled) break;  // the alternative has called retry, so the next one runs
    }
    return choose<R>(t, rest...);
}

}  // namespace detail

/// Runs `first(tx&)`. If this alternative calls `retry`, rolls it back and runs the next one, and so on. If the last
/// alternative calls `retry`, the whole transaction waits until something changes that any alternative has read. All
/// alternatives return the same type. Every alternative is a closed nested block.
template <class First, class... Rest>
    requires(sizeof...(Rest) > 0)
auto or_else(tx& t, First&& first, Rest&&... rest) {
    detail::require_body<First, tx&>();
    (detail::require_body<Rest, tx&>(), ...);
    using R = detail::result_of<std::remove_reference_t<First>>;
    static_assert((std::is_same_v<R, detail::result_of<std::remove_reference_t<Rest>>> && ...),
                  "all alternatives must return the same type");
    static_assert(!std::is_reference_v<R>,
                  "an alternative must return a value: what a reference refers to may change when the block ends");
    return detail::choose<R>(t, first, rest...);
}

}  // namespace tutti
