/// @file
/// Ends another thread's transaction permanently, from outside.
#pragma once

#include "tutti/errors.hpp"

namespace tutti {

class tx;

/// Thrown by `atomically` if its transaction was interrupted. The block had no effect.
class TUTTI_EXPORT interrupted : public std::exception {
public:
    [[nodiscard]] const char* what() const noexcept override;
};

/// Thrown if the stack of a context of the preemption layer did not suffice. Code that the exception passes through has
/// little stack left. The server replies with STACKOVERFLOW.
class TUTTI_EXPORT stack_overflow_error : public interrupted {
public:
    [[nodiscard]] const char* what() const noexcept override;
};

/// Represents the thread that constructed it. Other threads use the object to end this thread's transactions, for
/// instance at a time limit or at shutdown.
///
/// While the interruption is raised, an abort of this thread's transaction makes the transaction throw `interrupted`
/// instead of running again. The cause of the abort does not matter. A waiting transaction throws `interrupted` within
/// some 25 ms. This applies to a wait in `retry`, and to a wait for irrevocability, for the transaction's turn, or for
/// a variable or an abstract lock that another transaction holds. Other transactions of the thread continue: to stop a
/// loop of short transactions, raise again until the loop has ended.
///
/// An interruption does not end these transactions:
/// - a transaction that makes no access, or is irrevocable
/// - a commit that waits in quiescence, because its effects are in place, or for another commit under norec
/// - blocks of the language
/// - transactions in undo actions
class TUTTI_EXPORT interruption {
public:
    /// Makes an interruption of the calling thread. The thread must not make a second one while the first one lives.
    /// @throws std::bad_alloc  if memory runs out
    interruption();
    /// REQUIRES: the destructor runs on the thread that made the object, outside of any transaction.
    ~interruption();
    interruption(const interruption&) = delete;
    interruption& operator=(const interruption&) = delete;

    /// Raises the interruption. You can call this function from any thread while the object lives. Costs a system call.
    void raise() noexcept;
    void lower() noexcept;

private:
    tx* of_;
};

}  // namespace tutti
