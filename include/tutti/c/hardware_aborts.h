/// @file
/// The reasons why a hardware attempt of `hytm` or `htm` ended without effect: the single list for both languages and
/// all tools.
#pragma once

/// Calls X(name, NAME) for each reason, in the order of their numbers. New reasons go to the end. The first five come
/// from the processor, and the others from the engine (the explicit codes of XABORT).
// clang-format off
#define TUTTI_HARDWARE_ABORTS(X) \
    X(conflict, CONFLICT) /* another context accessed a line that the attempt had read or written */ \
    X(capacity, CAPACITY) /* the attempt accessed more lines than the processor can track */ \
    X(interrupt, INTERRUPT) /* an interrupt, a fault, or an action that cannot run there (a system call) */ \
    X(debug, DEBUG) /* a breakpoint */ \
    X(nested, NESTED) /* ended inside a hardware transaction that the program had begun */ \
    X(busy, BUSY) /* a software commit, or a transaction that runs alone, was in progress */ \
    X(strict, STRICT) /* about to commit while a visible or irrevocable transaction runs */ \
    X(system_call, SYSTEM_CALL) /* about to have an effect that a roll-back must undo by a call */ \
    X(software, SOFTWARE) /* needs a software feature: retry, votes, open nesting, a stricter mode */
// clang-format on
