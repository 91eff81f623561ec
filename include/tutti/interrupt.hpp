/// @file
/// Ending another thread's transaction from outside, for good.
#pragma once

#include "tutti/errors.hpp"

namespace tutti {

class tx;

/// Thrown by `atomically` when its transaction was interrupted. The block had no effect.
class TUTTI_EXPORT interrupted : public std::exception {
public:
    [[nodiscard]] const char* what() const noexcept override;
};

/// The same, of a context of the preemption layer whose stack did not suffice. What the exception passes through has
/// not much of one left; the server answers by STACK.
class TUTTI_EXPORT out_of_stack : public interrupted {
public:
    [[nodiscard]] const char* what() const noexcept override;
};

/// Stands for the thread that made it, for others that may want to end what its transactions do: a time limit, a
/// shutdown.
///
/// While it is raised, a transaction of that thread that is aborted, by `raise` or by anybody, throws `interrupted`
/// instead of being run again; and one that waits throws it, within some 25 ms: in `retry`, for a variable or an
/// abstract lock that another transaction holds, for irrevocability, for its turn. The others of the thread go on: a
/// caller that wants to stop a loop of short transactions raises again until it has ended. A transaction that makes no
/// access, or is irrevocable, goes on; so do a commit that waits in quiescence, because its effects are in place, or
/// for another commit under norec; blocks of the language; and transactions in undo actions.
class TUTTI_EXPORT interruption {
public:
    /// Of the calling thread, which must not make a second one while the first lives.
    /// @throws std::bad_alloc  when memory runs out
    interruption();
    /// On the same thread, outside of any transaction.
    ~interruption();
    interruption(const interruption&) = delete;
    interruption& operator=(const interruption&) = delete;

    /// Any thread, while it lives. Costs a system call.
    void raise() noexcept;
    void lower() noexcept;

private:
    tx* of_;
};

}  // namespace tutti
