/// @file
/// Open nesting and abstract locks.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>

#include "tutti/atomically.hpp"

namespace tutti {

/// The name of an abstract lock: whatever two operations must not touch at once, "key 17 of this map".
struct abstract_lock {
    const void* of;         ///< whose
    std::uint64_t key = 0;  ///< which part of it; a hash of the key will do (equal hashes conflict, no more)
    bool shared = false;    ///< compatible with other shared holders: for operations that only look
};

/// Takes an abstract lock, which is held until the outermost block has ended, its undo actions included. Waits while
/// another transaction holds it; may restart the block. Idempotent. Throws std::bad_alloc; and usage_error in a block
/// that must commit (become_irrevocable): after some seconds, if the holder's undo needs what the block has marked; at
/// once, if an on_abort handler of the holder waits to become irrevocable.
TUTTI_EXPORT void acquire(tx& t, const abstract_lock& lock);

namespace detail {

/// Whether the transaction cannot be rolled back by others, so that an open nested block gains nothing.
[[nodiscard]] TUTTI_EXPORT bool nests_closed(tx& t);
/// From here to leave_open_nested the context's transactions are not part of `t`. Throws std::bad_alloc.
TUTTI_EXPORT tx& enter_open_nested(tx& t);
TUTTI_EXPORT void leave_open_nested(tx& t) noexcept;
/// Whether what ran apart and left by an exception has committed: an on_commit handler of it threw.
[[nodiscard]] TUTTI_EXPORT bool threw_after_open_nested_commit(const tx& t) noexcept;
/// The irrevocable block of `t` goes on to win every conflict here, but may start over: another node of a cluster
/// cannot be told to let it win. REQUIRES: it has done nothing yet.
TUTTI_EXPORT void allow_to_start_over(tx& t) noexcept;

class apart {
public:
    explicit apart(tx& outer) : outer_{outer} { enter_open_nested(outer); }
    ~apart() { leave_open_nested(outer_); }
    apart(const apart&) = delete;
    apart& operator=(const apart&) = delete;

private:
    tx& outer_;
};

template <class R, class Undo>
concept undoes_result = !std::is_void_v<R> && std::is_invocable_v<Undo&, tx&, const R&>;
template <class R, class Undo>
concept undoes = std::move_constructible<Undo> && (std::is_invocable_v<Undo&, tx&> || undoes_result<R, Undo>);

/// What undoes a block; registered before the block runs, so that nothing can fail after it has committed.
template <class R, class Undo>
class undoing final : public handler {
public:
    static constexpr bool takes_result = undoes_result<R, Undo>;
    using result = std::conditional_t<takes_result, R, bool>;

    explicit undoing(Undo undo) : undo_{std::move(undo)} {}
    /// Of an attempt that has not committed yet.
    void keep(const result& of_body) { result_.emplace(of_body); }
    void arm() noexcept { armed_ = true; }
    /// REQUIRES: something is kept.
    [[nodiscard]] const result& kept() const { return *result_; }  // NOLINT(bugprone-unchecked-optional-access)

    void run(tx& t, abort_cause) override {
        if (!armed_) return;
        // Of a nested block that is rolled back, whose transaction goes on: a transaction in the way of the undo may be
        // waiting for it, and must not be waited for.
        const options how{.mode = access::running(t) ? mode::irrevocable : mode::optimistic};
        const apart from_it{t};
        atomically(how, [&](tx& inner) {
            if (how.mode == mode::irrevocable) allow_to_start_over(inner);
            if constexpr (takes_result) undo_(inner, kept());
            else undo_(inner);
        });
    }

private:
    Undo undo_;
    std::optional<result> result_;
    bool armed_ = false;
};

}  // namespace detail

/// Runs `body(tx&)` as a transaction of its own inside the block of `t`, and commits it at once: its effects are seen
/// by all, and no later conflict over what it read can roll back `t`. If `t` is rolled back after that (or the nested
/// block that this call is in), `undo(tx&)`, or `undo(tx&, const R& result)` with what the body returned, runs as a
/// transaction and takes the effects back, newest first.
///
/// Two such operations that do not commute must share an abstract lock, taken first and held to the end of `t`:
///
///     bool put(tx& t, map& m, long key, int value) {
///         return open_nested(t, {{&m, hash(key)}},
///             [&](tx& i) { return m.insert(i, key, value); },
///             [&m, key](tx& u, bool inserted) { if (inserted) m.erase(u, key); });
///     }
///
/// The body and the undo see memory as it is outside of `t`: what `t` has written is not there yet, and touching it is
/// an error of use (under norec it is not noticed: the old value is seen). What `t` has read and the body changes rolls
/// `t` back, or is an error of use where `t` is visible and its records are marked. Undo must not fail: an exception
/// out of it ends the program. It outlives the call: capture by value, or what outlives `t`. The result and what the
/// undo has captured may be of types that can only be moved; only an undo that takes the result needs a copy of it.
///
/// In an irrevocable transaction, and where one transaction runs at a time, the body is a closed nested block and undo
/// is not needed.
///
/// After Moss, "Open Nested Transactions: Semantics and Support", WMPI 2006; Ni et al., "Open Nesting in Software
/// Transactional Memory", PPoPP 2007; abstract locks: Herlihy and Koskinen, "Transactional Boosting", PPoPP 2008.
template <class Body, class Undo>
    requires std::is_invocable_v<Body&, tx&> && detail::undoes<detail::result_of<Body>, Undo>
auto open_nested(tx& t, std::initializer_list<abstract_lock> locks, Body&& body, Undo undo,
                 std::source_location at = std::source_location::current()) {
    using R = detail::result_of<Body>;
    detail::require_body<Body, tx&>();
    constexpr bool takes_result = detail::undoes_result<R, Undo>;
    if constexpr (takes_result) {
        detail::require_body<Undo, tx&, const R&>();
        static_assert(std::copy_constructible<R>,
                      "tutti: open_nested keeps a copy of the result for an undo that takes it; where the result can "
                      "only be moved, use an undo that takes nothing but the tx");
    } else {
        detail::require_body<Undo, tx&>();
    }
    for (const abstract_lock& lock : locks) acquire(t, lock);
    if (detail::nests_closed(t)) return detail::run_nested<false>(t, options{}, body);
    auto owned = std::make_unique<detail::undoing<R, Undo>>(std::move(undo));
    auto* const undoing = owned.get();
    detail::access::add(t, detail::handler_point::on_abort, std::move(owned));
    // The undo's copy of the result is made before the commit: afterwards nothing may fail until the undo is armed.
    const auto and_keep = [&](tx& inner) -> R {
        if constexpr (takes_result) {
            R result = body(inner);
            undoing->keep(result);
            return result;
        } else {
            return body(inner);
        }
    };
    const auto run_apart = [&]() -> R {
        const detail::apart from_it{t};
        try {
            return detail::run<false, false>(options{}, and_keep, at);
        } catch (...) {
            if (detail::threw_after_open_nested_commit(t)) undoing->arm();
            throw;
        }
    };
    if constexpr (std::is_void_v<R>) {
        run_apart();
        undoing->arm();
    } else {
        R result = run_apart();
        undoing->arm();
        return result;
    }
}

template <class Body, class Undo>
    requires std::is_invocable_v<Body&, tx&> && detail::undoes<detail::result_of<Body>, Undo>
auto open_nested(tx& t, Body&& body, Undo undo, std::source_location at = std::source_location::current()) {
    return open_nested(t, {}, body, std::move(undo), at);
}

}  // namespace tutti
