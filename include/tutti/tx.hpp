/// @file
/// The handle that a running atomic block gets, and what it may ask of its transaction.
#pragma once

#include <chrono>
#include <memory>
#include <type_traits>
#include <utility>

#include "tutti/detail/body.hpp"
#include "tutti/detail/operations.hpp"
#include "tutti/errors.hpp"
#include "tutti/options.hpp"

namespace tutti {

/// What a participant answers when it is asked whether the transaction may commit.
enum class vote : std::uint8_t {
    commit,   ///< yes, and from now on it cannot refuse
    restart,  ///< no: roll back and run again
    cancel,   ///< no: roll back and leave; `atomically` throws `cancelled`
};

/// Something outside the engine that commits with a transaction or not at all (two-phase commit).
///
/// - `prepare` runs after the engine's own prepare succeeded: every record that the transaction wrote is owned, every
///   read is valid. It must not touch the transaction. If it throws, the transaction rolls back and the exception
///   leaves `atomically`.
/// - `commit` runs once the decision is made, while ownership is still held; it must not fail.
/// - `abort` runs for every participant whose `prepare` was called when the decision is to abort; it must not fail.
/// - `snapshot_moved` runs at a barrier that found something newer than the transaction's snapshot, once its reads were
///   found current and the snapshot has moved. A participant that shows the body data of its own answers whether those
///   are still current, too; false rolls the transaction back and runs it again. It must not touch the transaction. The
///   algorithms that run one transaction at a time never call it: nothing becomes newer there.
/// - `heed_retry` runs where the body calls `retry`. A participant that shows the body data of its own arranges that a
///   change of them changes a variable, which it reads here; or it answers false, and `retry` is refused. A `retry`
///   that leaves to the next alternative of `or_else` asks only the participants that joined in the alternative.
/// - `rolled_back` runs when the block that it joined in is rolled back, in its turn among the on_abort handlers, which
///   is newest first; it must not fail.
///
/// Participants are asked in registration order. They must outlive the attempt that they joined.
class TUTTI_EXPORT participant {
public:
    virtual ~participant();
    virtual bool snapshot_moved();
    virtual vote prepare() = 0;
    virtual void commit() noexcept = 0;
    virtual void abort() noexcept = 0;
    virtual bool heed_retry();
    virtual void rolled_back() noexcept;
};

namespace detail {

struct access;

/// A registered handler. Owned by the transaction's log; `run` is called at most once.
class TUTTI_EXPORT handler {
public:
    virtual ~handler();
    virtual void run(tx& t, abort_cause cause) = 0;
};

enum class handler_point : std::uint8_t { before_commit, at_commit, on_commit, on_abort };

template <class F>
class handler_of final : public handler {
public:
    explicit handler_of(F f) : function_{std::move(f)} {
        if constexpr (std::is_invocable_v<F&, tx&>) require_no_coroutine<F, tx&>();
        else if constexpr (std::is_invocable_v<F&, abort_cause>) require_no_coroutine<F, abort_cause>();
        else require_no_coroutine<F>();
    }
    void run(tx& t, abort_cause cause) override {
        if constexpr (std::is_invocable_v<F&, tx&>) {
            function_(t);
        } else if constexpr (std::is_invocable_v<F&, abort_cause>) {
            function_(cause);
        } else {
            function_();
        }
    }

private:
    F function_;
};

}  // namespace detail

/// A running transaction. `atomically` makes it and passes it to the body; it proves, in the type, that a
/// transaction is running. It must not be kept beyond the body nor handed to another thread.
///
/// Registering a handler or a participant throws std::bad_alloc where memory for it runs out. What a handler has
/// captured is destroyed when the outermost block has ended, outside any transaction.
class TUTTI_EXPORT tx {
public:
    tx(const tx&) = delete;
    tx& operator=(const tx&) = delete;

    /// Runs `f` or `f(tx&)` before the transaction prepares to commit. It may read and write transactionally, and
    /// register further handlers (which run too). If it throws, the transaction rolls back and the exception leaves.
    template <class F>
    void before_commit(F f) {
        if constexpr (std::is_invocable_v<F&, tx&>) detail::require_body<F, tx&>();
        add(detail::handler_point::before_commit, std::make_unique<detail::handler_of<F>>(std::move(f)));
    }
    /// Runs `f()` when the decision to commit is made and ownership is still held, so that effects happen in the order
    /// of the data that was written. A block that only read owns nothing: what it read was current at the decision, and
    /// may have changed when `f()` runs. It must not fail (an exception terminates the program) and must not touch any
    /// transaction; a transaction started in it is diagnosed.
    template <class F>
    void at_commit(F f) {
        add(detail::handler_point::at_commit, std::make_unique<detail::handler_of<F>>(std::move(f)));
    }
    /// Runs `f()` after the commit, when nothing is held any more. It may do anything but touch this transaction; it
    /// may run another. All of them run; the first exception then leaves `atomically` (the commit stands).
    template <class F>
    void on_commit(F f) {
        add(detail::handler_point::on_commit, std::make_unique<detail::handler_of<F>>(std::move(f)));
    }
    /// Runs `f()` or `f(abort_cause)` after the block that registered it was rolled back, newest first. The body's
    /// locals are gone by then: capture by value. It must not fail (an exception terminates the program).
    template <class F>
    void on_abort(F f) {
        add(detail::handler_point::on_abort, std::make_unique<detail::handler_of<F>>(std::move(f)));
    }
    /// Makes the commit depend on `p`, once for this attempt. May restart the block first, when it is read-only and
    /// logs nothing: a vote needs reads that can be validated.
    void join(participant& p);

    /// From here on nothing but the block itself can abort it, so that effects which cannot be undone are safe. May
    /// restart the block first. One transaction at a time is irrevocable; a second request waits. Idempotent.
    /// `retry`, `restart` and `become_visible` are then errors of use; `cancel` and exceptions still roll back memory.
    /// @param reason  recorded at the site; must be a string that lives on (a literal).
    void become_irrevocable(const char* reason = "requested");
    /// From here on readers of this transaction are visible. May restart the block first. Idempotent.
    void become_visible();

    /// Whether nothing but the block itself can abort it, because it asked for that, or because it is in a block of the
    /// language that runs without barriers. What else the runtime does on its own, for a deadline or after too many
    /// restarts, does not count: it promises the body nothing. Costs two loads.
    [[nodiscard]] bool irrevocable() const noexcept;
    /// 1 in the first attempt of the outermost block, one more after each restart.
    [[nodiscard]] unsigned attempt() const noexcept;
    /// Why the attempt before this one was rolled back; `none` in the first.
    [[nodiscard]] abort_cause last_abort() const noexcept;

protected:
    friend struct detail::access;
    tx() noexcept = default;
    ~tx() = default;

    void add(detail::handler_point point, std::unique_ptr<detail::handler> h);

    // What the inlined barriers touch, in one cache line. The bounds are one past the snapshot's limit, so that zero
    // admits nothing, not even a version that was never written. They are atomic because a transaction that dooms
    // this one stores zero from another thread; order does not matter, the slow path looks at the status.
    std::atomic<detail::word> logged_bound_{0};    // reads below it are valid once logged
    std::atomic<detail::word> unlogged_bound_{0};  // reads below it are valid, and nothing is logged
    const detail::shared<detail::word>** read_next_ = nullptr;
    const detail::shared<detail::word>** read_end_ = nullptr;
    std::uintptr_t captured_begin_ = 0;  // memory that this block allocated last: no other thread can reach it yet
    std::uintptr_t captured_size_ = 0;
    const detail::operations* operations_ = nullptr;
    detail::frame* frame_ = nullptr;              // innermost open block; null when no transaction runs
    detail::word own_writer_ = ~detail::word{0};  // the number in versions of its own; not 0. Set once
    void* at_hand_ = nullptr;  // what a companion lets the body open without a call, if anything; the companion's alone
};

}  // namespace tutti
