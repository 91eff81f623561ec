/// @file
/// Open nesting and abstract locks.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>

#include "tutti/atomically.hpp"

namespace tutti {

/// The name of an abstract lock: it stands for a thing that two operations must not access at the same time, such as
/// "key 17 of this map".
struct abstract_lock {
    const void* of;         ///< the object that owns the lock
    std::uint64_t key = 0;  ///< the part of the object; a hash of a key suffices, because equal hashes only conflict
    bool shared = false;    ///< compatible with other shared holders; use it for operations that only read
};

/// Takes an abstract lock, which the transaction holds until the outermost block has ended, including its undo actions.
/// Waits while another transaction holds the lock. May restart the block. Idempotent. Throws std::bad_alloc.
///
/// In a block that must commit (become_irrevocable), two cases are an error of use. If the lock holder's undo needs
/// something that the block has marked, throws usage_error after some seconds. If an on_abort handler of the holder
/// waits to become irrevocable, throws usage_error at once.
TUTTI_EXPORT void acquire(tx& t, const abstract_lock& lock);

namespace detail {

/// Returns true if other transactions cannot roll this one back, so that an open nested block has no advantage.
[[nodiscard]] TUTTI_EXPORT bool nests_closed(tx& t);
/// From this call to leave_open_nested, the context's transactions are not part of `t`. Throws std::bad_alloc.
TUTTI_EXPORT tx& enter_open_nested(tx& t);
TUTTI_EXPORT void leave_open_nested(tx& t) noexcept;
/// Returns true if an open nested block that has left by an exception has committed, because an on_commit handler
/// threw.
[[nodiscard]] TUTTI_EXPORT bool threw_after_open_nested_commit(const tx& t) noexcept;
/// Allows the irrevocable block of `t` to restart, although the block still wins every conflict in this process. The
/// block may have to restart because another node of a cluster does not know that the block must win. REQUIRES: the
/// block has done nothing yet.
TUTTI_EXPORT void allow_restart(tx& t) noexcept;

class open_nested_scope {
public:
    explicit open_nested_scope(tx& outer) : outer_{outer} { enter_open_nested(outer); }
    ~open_nested_scope() { leave_open_nested(outer_); }
    open_nested_scope(const open_nested_scope&) = delete;
    open_nested_scope& operator=(const open_nested_scope&) = delete;

private:
    tx& outer_;
};

template <class R, class Undo>
concept undoes_result = !std::is_void_v<R> && std::is_invocable_v<Undo&, tx&, const R&>;
template <class R, class Undo>
concept undoes = std::move_constructible<Undo> && (std::is_invocable_v<Undo&, tx&> || undoes_result<R, Undo>);

/// The undo of a block. It is registered before the block runs, so that nothing can fail after the block has committed.
template <class R, class Undo>
class undo_handler final : public handler {
public:
    static constexpr bool takes_result = undoes_result<R, Undo>;
    using result = std::conditional_t<takes_result, R, bool>;

    explicit undo_handler(Undo undo) : undo_{std::move(undo)} {}
    /// Stores the result of an attempt that has not committed yet.
    void keep(const result& of_body) { result_.emplace(of_body); }
    void arm() noexcept { armed_ = true; }
    /// REQUIRES: `keep` has stored a result.
    [[nodiscard]] const result& kept() const { return *result_; }  // NOLINT(bugprone-unchecked-optional-access)

    void run(tx& t, abort_cause) override {
        if (!armed_) return;
        // If a nested block is rolled back and its transaction continues, the undo runs irrevocably. A transaction that
        // conflicts with the undo may itself wait for the undo, so the undo must not wait for it.
        const options how{.mode = access::running(t) ? mode::irrevocable : mode::optimistic};
        const open_nested_scope from_it{t};
        atomically(how, [&](tx& inner) {
            if (how.mode == mode::irrevocable) allow_restart(inner);
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

/// Runs `body(tx&)` as a transaction of its own inside the block of `t`, and commits it at once. All other transactions
/// see its effects, and a later conflict over its reads cannot roll back `t`. If `t`, or the nested block around this
/// call, is rolled back later, the undo reverses the effects. The undo is `undo(tx&)`, or `undo(tx&, const R& result)`
/// with the body's result. Undos run as transactions, newest first.
///
/// Two such operations that do not commute must share an abstract lock. Each operation first takes the lock, and holds
/// it to the end of `t`:
///
///     bool put(tx& t, map& m, long key, int value) {
///         return open_nested(t, {{&m, hash(key)}},
///             [&](tx& i) { return m.insert(i, key, value); },
///             [&m, key](tx& u, bool inserted) { if (inserted) m.erase(u, key); });
///     }
///
/// The body and the undo see memory as it is outside of `t`. The writes of `t` have not taken effect there. Access to a
/// variable that `t` has written is an error of use (under norec there is no error, and the access sees the old value).
/// If the body changes something that `t` has read, `t` is rolled back. If `t` is visible, so that the ownership record
/// is marked, such a change is an error of use instead. The undo must not fail: an exception that leaves it terminates
/// the program. The undo outlives the call, so capture by value, or capture objects that outlive `t`. The result and
/// the captures of the undo may have types that can only be moved. But if the undo takes the result, the result must be
/// copyable.
///
/// If the transaction is irrevocable, or the algorithm runs one transaction at a time, the body is a closed nested
/// block, and the undo is not used.
///
/// After Moss, "Open Nested Transactions: Semantics and Support", WMPI 2006, and Ni et al., "Open Nesting in Software
/// Transactional Memory", PPoPP 2007. Abstract locks: Herlihy and Koskinen, "Transactional Boosting", PPoPP 2008.
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
    auto owned = std::make_unique<detail::undo_handler<R, Undo>>(std::move(undo));
    auto* const registered_undo = owned.get();
    detail::access::add(t, detail::handler_point::on_abort, std::move(owned));
    // The undo's copy of the result is made before the commit, because nothing may fail between the commit and `arm`.
    const auto and_keep = [&](tx& inner) -> R {
        if constexpr (takes_result) {
            R result = body(inner);
            registered_undo->keep(result);
            return result;
        } else {
            return body(inner);
        }
    };
    const auto run_open_nested = [&]() -> R {
        const detail::open_nested_scope from_it{t};
        try {
            return detail::run<false, false>(options{}, and_keep, at);
        } catch (...) {
            if (detail::threw_after_open_nested_commit(t)) registered_undo->arm();
            throw;
        }
    };
    if constexpr (std::is_void_v<R>) {
        run_open_nested();
        registered_undo->arm();
    } else {
        R result = run_open_nested();
        registered_undo->arm();
        return result;
    }
}

template <class Body, class Undo>
    requires std::is_invocable_v<Body&, tx&> && detail::undoes<detail::result_of<Body>, Undo>
auto open_nested(tx& t, Body&& body, Undo undo, std::source_location at = std::source_location::current()) {
    return open_nested(t, {}, body, std::move(undo), at);
}

}  // namespace tutti
