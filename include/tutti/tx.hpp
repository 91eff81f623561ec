/// @file
/// The handle of a running atomic block, and the operations on its transaction.
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

/// A participant's answer to the question whether the transaction may commit.
enum class vote : std::uint8_t {
    commit,   ///< yes; from now on, the participant must be able to commit
    restart,  ///< no: roll back and run again
    cancel,   ///< no: roll back and leave; `atomically` throws `cancelled`
};

/// A party outside the engine that commits with a transaction or not at all (two-phase commit).
///
/// - `prepare` runs after the engine's own prepare succeeded: the transaction owns every record that it wrote, and
///   every read is valid. `prepare` must not touch the transaction. If `prepare` throws, the transaction rolls back and
///   the exception leaves `atomically`.
/// - `commit` runs once the decision to commit is made, while the transaction still owns its records. `commit` must not
///   fail.
/// - `abort` runs if the decision is to abort, for every participant whose `prepare` was called. `abort` must not fail.
/// - `on_snapshot_extended` runs at a barrier that has read something newer than the transaction's snapshot. At this
///   point, the transaction's reads have been found current, and its snapshot has been extended. A participant that
///   provides its own data to the body returns true if those data are still current, too. If `on_snapshot_extended`
///   returns false, the transaction rolls back and runs again. `on_snapshot_extended` must not touch the transaction.
///   Algorithms that run one transaction at a time never call this function, because nothing can become newer than the
///   snapshot.
/// - `on_retry` runs when the body calls `retry`. A participant that provides its own data to the body must ensure
///   that a change of these data changes a variable. The participant reads this variable here. If the participant
///   cannot ensure this, `on_retry` returns false, and `retry` is an error of use. If a `retry` leads to the next
///   alternative of `or_else`, the engine calls `on_retry` only for participants that joined in the alternative that
///   called `retry`.
/// - `on_rollback` runs when the block in which the participant joined is rolled back, in its turn among the on_abort
///   handlers (newest first). `on_rollback` must not fail.
///
/// The engine calls participants in the order of their registration. A participant must outlive the attempt that it
/// joined.
class TUTTI_EXPORT participant {
public:
    virtual ~participant();
    virtual bool on_snapshot_extended();
    virtual vote prepare() = 0;
    virtual void commit() noexcept = 0;
    virtual void abort() noexcept = 0;
    virtual bool on_retry();
    virtual void on_rollback() noexcept;
};

namespace detail {

struct access;

/// A registered handler. The transaction's log owns it. `run` is called at most once.
class TUTTI_EXPORT handler {
public:
    virtual ~handler();
    virtual void run(tx& t, abort_cause cause) = 0;
};

/// Base of the data that a layer above the engine keeps for the transactions of a context. The engine only stores
/// pointers to such data.
struct layer_data {};

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

/// A running transaction. `atomically` makes the transaction and passes it to the body. A function with a `tx&`
/// parameter can only be called inside a transaction. Do not keep a reference to the `tx` beyond the body, nor pass one
/// to another thread.
///
/// Registering a handler or a participant throws std::bad_alloc if memory for it runs out. The captures of a handler
/// are destroyed when the outermost block has ended, outside any transaction.
class TUTTI_EXPORT tx {
public:
    tx(const tx&) = delete;
    tx& operator=(const tx&) = delete;

    /// Runs `f` or `f(tx&)` before the transaction prepares to commit. The handler may read and write transactionally,
    /// and may register further handlers, which also run. If the handler throws, the transaction rolls back and the
    /// exception leaves `atomically`.
    template <class F>
    void before_commit(F f) {
        if constexpr (std::is_invocable_v<F&, tx&>) detail::require_body<F, tx&>();
        add(detail::handler_point::before_commit, std::make_unique<detail::handler_of<F>>(std::move(f)));
    }
    /// Runs `f()` when the decision to commit is made and the transaction still owns what it wrote. So the effects of
    /// handlers happen in the order in which the written data change. A block that has only read owns nothing: its
    /// reads were current at the decision, but may have changed when `f()` runs. The handler must not fail (an
    /// exception terminates the program). The handler must not touch any transaction; starting a transaction in it is
    /// an error of use.
    template <class F>
    void at_commit(F f) {
        add(detail::handler_point::at_commit, std::make_unique<detail::handler_of<F>>(std::move(f)));
    }
    /// Runs `f()` after the commit, when the transaction has released everything that it owned. The handler may do
    /// anything except touch this transaction; it may run another transaction. An exception does not keep the other
    /// handlers from running. Then the first exception leaves `atomically`, but the transaction stays committed.
    template <class F>
    void on_commit(F f) {
        add(detail::handler_point::on_commit, std::make_unique<detail::handler_of<F>>(std::move(f)));
    }
    /// Runs `f()` or `f(abort_cause)` after the block that registered the handler was rolled back, newest first. The
    /// body's locals are gone by then, so capture by value. The handler must not fail (an exception terminates the
    /// program).
    template <class F>
    void on_abort(F f) {
        add(detail::handler_point::on_abort, std::make_unique<detail::handler_of<F>>(std::move(f)));
    }
    /// Makes the commit depend on `p`, once for this attempt. If the block is read-only and logs nothing, this call
    /// first restarts the block with a log, because `p` votes only on reads that can be validated.
    void join(participant& p);

    /// From here on, only the block itself can abort the transaction, so the block may have effects that cannot be
    /// undone. May restart the block first. One transaction at a time is irrevocable; a second request waits.
    /// Idempotent. Afterwards `retry`, `restart` and `become_visible` are errors of use, but `cancel` and exceptions
    /// still roll back memory.
    /// @param reason  recorded at the site; a string that lives as long as the program, such as a literal
    void become_irrevocable(const char* reason = "requested");
    /// From here on, this transaction's reads are visible. May restart the block first. Idempotent.
    void become_visible();

    /// Returns true if only the block itself can abort the transaction. The result is true after the block has called
    /// become_irrevocable, and inside a block of the language that runs without barriers. Returns false if the runtime
    /// itself made the transaction irrevocable, for a deadline or after too many restarts. The body must not rely on
    /// irrevocability that it did not request. Costs two loads.
    [[nodiscard]] bool irrevocable() const noexcept;
    /// Returns the number of the outermost block's attempt: 1 for the first attempt, and one more after each restart.
    [[nodiscard]] unsigned attempt() const noexcept;
    /// Returns the cause of the previous attempt's roll-back; `none` in the first attempt.
    [[nodiscard]] abort_cause last_abort() const noexcept;

protected:
    friend struct detail::access;
    tx() noexcept = default;
    ~tx() = default;

    void add(detail::handler_point point, std::unique_ptr<detail::handler> h);

    // The members that the inlined barriers use, in one cache line. Each bound is one more than the largest version
    // that it admits. So a bound of zero admits nothing, not even the version of a variable that was never written. The
    // bounds are atomic because another thread stores zero to doom this transaction. The memory order of this store
    // does not matter, because the slow path checks the status.
    std::atomic<detail::word> logged_bound_{0};    // reads below it are valid once they are logged
    std::atomic<detail::word> unlogged_bound_{0};  // reads below it are valid, and need no log
    const detail::shared<detail::word>** read_next_ = nullptr;
    const detail::shared<detail::word>** read_end_ = nullptr;
    const detail::operations* operations_ = nullptr;
    detail::frame* frame_ = nullptr;              // innermost open block; null if no transaction runs
    detail::word own_writer_ = ~detail::word{0};  // this context's number in its own versions; set once, never 0
    // Data of the data participant that the body opens without a call, or null.
    detail::layer_data* companion_data_ = nullptr;
};

}  // namespace tutti
