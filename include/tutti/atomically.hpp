/// @file
/// Atomic blocks.
#pragma once

#include <optional>
#include <source_location>
#include <type_traits>

#include "tutti/detail/jump.hpp"
#include "tutti/var.hpp"

namespace tutti {

/// Promises that a body's frames hold no objects with destructors: `atomically(no_unwind, body)`. So a restart may jump
/// (about 0.1 us) instead of unwinding (about 2.3 us). The promise does not extend to nested blocks, which make their
/// own choice.
struct no_unwind_t {
    explicit no_unwind_t() = default;
};
inline constexpr no_unwind_t no_unwind{};

namespace detail {

template <class F>
using result_of = std::invoke_result_t<F&, tx&>;

/// The result type of try_atomically for a body that returns R.
template <class R>
using attempted =
    std::conditional_t<std::is_void_v<R>, bool, std::optional<std::conditional_t<std::is_void_v<R>, bool, R>>>;

/// Converts a block's outcome to the caller's result. If Lenient, the result of a cancelled block is false or nullopt;
/// otherwise a cancelled block throws `cancelled`.
template <class R, bool Lenient>
struct block_result {
    using type = R;
    [[noreturn]] static R cancel() { throw cancelled{}; }
};
template <class R>
struct block_result<R, true> {
    using type = attempted<R>;
    static type cancel() { return {}; }
};

#if defined(__cpp_transactional_memory)
/// A block of the language inside a body may have to leave the body by an exception. But GCC assumes that the functions
/// in such a block do not throw. So GCC concludes that a body with only such a block does not throw either, and makes
/// the surrounding handler unreachable. Therefore `noipa` hides the body from GCC.
template <class F>
[[gnu::noipa]] result_of<F> run_body(F& body, tx& t) {
    return body(t);
}
#else
template <class F>
TUTTI_ALWAYS_INLINE result_of<F> run_body(F& body, tx& t) {
    return body(t);
}
#endif

/// Runs `body` and tries to commit, again and again, until a commit succeeds. The first attempt of `body` has begun
/// already.
template <bool Lenient, class R, class F>
typename block_result<R, Lenient>::type run_attempts(tx& t, F& body) {
    using result = block_result<R, Lenient>;
    for (;;) {
        try {
            if constexpr (std::is_void_v<R>) {
                detail::run_body(body, t);
                annotate::end_attempt();
                if (access::ops(t).commit(t)) [[likely]] {
                    if constexpr (Lenient) return true;
                    else return;
                }
            } else {
                typename result::type value(detail::run_body(body, t));
                annotate::end_attempt();
                if (access::ops(t).commit(t)) [[likely]]
                    return value;
            }
        } catch (...) {
            annotate::end_attempt();
            if (!signalled(t)) {
                fail(t);
                throw;
            }
        }
        if (reopen(t) == after_rollback::cancelled) return result::cancel();
    }
}

template <bool Lenient, class F>
TUTTI_ALWAYS_INLINE auto run_outermost(tx& t, const options& how, F& body, site_slot& slot, std::source_location at) {
    frame f;
    f.read_only = how.read_only;
    access::open(t, f, slot, at, how);
    return run_attempts<Lenient, result_of<F>>(t, body);
}

/// The body must not be inlined into the frame of the jump target, because the compiler keeps every value of a function
/// that calls setjmp in memory.
template <bool Lenient, class R, class F>
TUTTI_NOINLINE typename block_result<R, Lenient>::type run_attempts_cold(tx& t, F& body) {
    return run_attempts<Lenient, R>(t, body);
}

template <bool Lenient, class F>
TUTTI_NOINLINE auto run_outermost_jumping(tx& t, const options& how, F& body, site_slot& slot,
                                          std::source_location at) {
    using R = result_of<F>;
    jumping_frame f;
    f.read_only = how.read_only;
    access::open(t, f, slot, at, how);
    if (TUTTI_SET_TARGET(f)) {
        landed();
        annotate::end_attempt();
        if (reopen(t) == after_rollback::cancelled) return block_result<R, Lenient>::cancel();
    }
    return run_attempts_cold<Lenient, R>(t, body);
}

/// Runs a closed nested block. The mode belongs to the whole transaction, so the transaction switches to the block's
/// mode if that mode is stricter.
template <bool Lenient, class F>
auto run_nested(tx& t, const options& how, F& body, bool checkpoint = false) ->
    typename block_result<result_of<F>, Lenient>::type {
    using R = result_of<F>;
    frame f;
    f.read_only = only_reads(how);
    f.checkpoint = checkpoint;
    for (;;) {
        open_nested(t, f);
        try {
            if (how.mode == mode::visible && !t.irrevocable()) t.become_visible();
            if (how.mode == mode::irrevocable) t.become_irrevocable();
            if constexpr (std::is_void_v<R>) {
                detail::run_body(body, t);
                close_nested(t, f);
                if constexpr (Lenient) return true;
                else return;
            } else {
                typename block_result<R, Lenient>::type value(detail::run_body(body, t));
                close_nested(t, f);
                return value;
            }
        } catch (...) {
            if (!signalled(t)) {
                fail_nested(t, f);
                throw;
            }
        }
        // This call is outside of the handler, because a jump may leave the call.
        const after_rollback next = reopen_nested(t, f);
        if (next == after_rollback::propagate) propagate(t);
        if (next == after_rollback::cancelled) return block_result<R, Lenient>::cancel();
    }
}

/// Marks the block around a flat block as read-only while the flat block runs, if the flat block promises to be
/// read-only. A restart may jump past this object's destructor. In this case the block around the flat block drops the
/// mark when it runs again.
class flat_read_only_scope {
public:
    flat_read_only_scope(tx& t, bool read_only) noexcept {
        frame* const around = access::innermost(t);
        if (!read_only || around->read_only) return;
        around->read_only = around->read_only_by_flat_block = true;
        of_ = around;
    }
    ~flat_read_only_scope() {
        if (of_ != nullptr) of_->read_only = of_->read_only_by_flat_block = false;
    }
    flat_read_only_scope(const flat_read_only_scope&) = delete;
    flat_read_only_scope& operator=(const flat_read_only_scope&) = delete;

private:
    frame* of_ = nullptr;
};

/// Runs a flat nested block, which is a part of the block around it. The block around it switches to the part's mode if
/// that mode is stricter.
template <class F>
result_of<F> run_flat(tx& t, const options& how, F& body) {
    if (how.mode == mode::visible && !t.irrevocable()) t.become_visible();
    if (how.mode == mode::irrevocable) t.become_irrevocable();
    const flat_read_only_scope kept{t, only_reads(how)};
    return body(t);
}

template <bool Lenient, bool Jumping, class F>
TUTTI_ALWAYS_INLINE auto run(const options& how, F& body, std::source_location at) ->
    typename block_result<result_of<F>, Lenient>::type {
    require_body<F, tx&>();
    static_assert(!std::is_reference_v<result_of<F>>,
                  "the body must return a value: what a reference refers to may change when the block ends");
    static constinit site_slot slot;
    tx& t = current_or_attach();
    if (access::running(t)) [[unlikely]] {
        if constexpr (!Lenient) {
            if (how.nesting == nesting::flat) return run_flat(t, how, body);
        }
        return run_nested<Lenient>(t, how, body);
    }
    if constexpr (Jumping) return run_outermost_jumping<Lenient>(t, how, body, slot, at);
    else return run_outermost<Lenient>(t, how, body, slot, at);
}

}  // namespace detail

/// Runs `body(tx&)` as a transaction: all of its transactional effects happen at one instant, or none do. Returns the
/// body's result.
///
/// The body may run several times (see `tx::attempt`). The body always sees a consistent state, even in attempts that
/// will be rolled back. An exception that leaves the body rolls the block back and is rethrown. Inside another
/// transaction the block is nested (see `nesting`).
///
/// @throws cancelled        if the body called `cancel`
/// @throws deadline_missed  if the deadline cannot be met and `when_missed` is `refuse`; the block had no effect
/// @throws usage_error      if the body misused the library; the message says what to do instead
/// @throws std::bad_alloc   if memory for the logs or handlers ran out; the block had no effect
template <class F>
    requires std::is_invocable_v<F&, tx&>
auto atomically(const options& how, F&& body, std::source_location at = std::source_location::current()) {
    return detail::run<false, false>(how, body, at);
}

template <class F>
    requires std::is_invocable_v<F&, tx&>
auto atomically(F&& body, std::source_location at = std::source_location::current()) {
    return detail::run<false, false>(detail::no_options, body, at);
}

/// Runs a body whose frames hold no objects with destructors. So restarts jump out of the body instead of unwinding.
template <class F>
    requires std::is_invocable_v<F&, tx&>
auto atomically(no_unwind_t, const options& how, F&& body, std::source_location at = std::source_location::current()) {
    return detail::run<false, true>(how, body, at);
}

template <class F>
    requires std::is_invocable_v<F&, tx&>
auto atomically(no_unwind_t, F&& body, std::source_location at = std::source_location::current()) {
    return detail::run<false, true>(detail::no_options, body, at);
}

/// Runs a block as `atomically` does, but returns false or an empty optional if the block is cancelled.
template <class F>
    requires std::is_invocable_v<F&, tx&>
[[nodiscard]] auto try_atomically(const options& how, F&& body,
                                  std::source_location at = std::source_location::current()) {
    return detail::run<true, false>(how, body, at);
}

template <class F>
    requires std::is_invocable_v<F&, tx&>
[[nodiscard]] auto try_atomically(F&& body, std::source_location at = std::source_location::current()) {
    return detail::run<true, false>(detail::no_options, body, at);
}

/// Rolls back the innermost block and leaves it without effect.
[[noreturn]] inline void cancel(tx& t) { detail::raise_cancel(t); }

/// Rolls back the innermost block and runs it again at once. This call is an error of use in an irrevocable
/// transaction.
[[noreturn]] inline void restart(tx& t) { detail::raise_restart(t); }

template <class T>
    requires(!detail::in_place<T> && std::copyable<T>)
T var<T>::load() const {
    return atomically({.name = "var::load", .read_only = true}, [this](tx& t) -> T { return get(t); });
}

template <class T>
    requires(!detail::in_place<T> && std::copyable<T>)
void var<T>::store(const T& value) {
    atomically({.name = "var::store"}, [this, &value](tx& t) { set(t, value); });
}

}  // namespace tutti
