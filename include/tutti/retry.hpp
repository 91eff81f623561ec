/// @file
/// Waiting for a condition, and choosing between blocks that wait.
/// Harris, Marlow, Peyton Jones, Herlihy: "Composable Memory Transactions", PPoPP 2005.
#pragma once

#include <chrono>
#include <source_location>

#include "tutti/atomically.hpp"

namespace tutti {

/// Rolls the transaction back and runs it again once another commit has changed something that it read, on any
/// alternative that was tried. The thread sleeps until then. Inside `or_else`, tries the next alternative first.
/// Diagnosed when nothing was read (nothing could ever wake it) and in an irrevocable transaction.
[[noreturn]] inline void retry(tx& t) { detail::raise_retry(t); }

/// As `retry`, but waits for at most `limit` in all (over every restart of this execution of the block); after that
/// it returns, and what follows it is what to do when time is up. In an alternative of `or_else` that is not the
/// last it does not wait but leaves to the next one. With nothing read it sleeps for `limit`.
///
/// Each call has a limit of its own, which counts from when this execution first came to it: a block that waits in two
/// places, or calls a function that waits twice, waits for both limits, one after the other. Throws std::bad_alloc.
/// A limit that nanoseconds cannot count is taken for their largest number, or their smallest.
template <class Rep, class Period>
void retry_for(tx& t, std::chrono::duration<Rep, Period> limit,
               std::source_location at = std::source_location::current()) {
    detail::raise_retry_for(t, detail::saturated(limit), {at.file_name(), at.line(), at.column()});
}

/// Goes on if the condition holds, and otherwise waits by `retry` until it may: `check(t, !queue.empty(t));`.
inline void check(tx& t, bool condition) {
    if (!condition) retry(t);
}

/// As `retry_for`, but until a point in time: after that it returns. Of a clock that jumps (system_clock) the point is
/// taken as it is when the call is made, in every attempt anew.
template <class Clock, class Duration>
void retry_until(tx& t, std::chrono::time_point<Clock, Duration> when) {
    // Seconds that cannot overflow, whatever the clock counts in: the difference itself could.
    using seconds = std::chrono::duration<double>;
    constexpr seconds far = std::chrono::years{100};
    const auto now = Clock::now();
    const auto mine = std::chrono::steady_clock::now();
    const seconds about = seconds{when.time_since_epoch()} - seconds{now.time_since_epoch()};
    if (about > far) retry(t);                                       // which nanoseconds cannot count
    if (!(about > -far)) return detail::raise_retry_until(t, mine);  // long past
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
        // Not in the handler: it may be left by a jump.
        const sequel next = reopen_nested(t, f);
        if (next == sequel::propagate) propagate(t);
        if (next == sequel::cancelled) break;  // it retried: the next alternative's turn
    }
    return choose<R>(t, rest...);
}

}  // namespace detail

/// Runs `first(tx&)`; if it calls `retry`, rolls it back and runs the next one, and so on. If the last one retries,
/// the whole transaction waits until something changes that any of them read. All return the same type.
/// Every alternative is a closed nested block.
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
