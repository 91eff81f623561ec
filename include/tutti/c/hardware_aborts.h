/// @file
/// Why a hardware attempt of `hytm` or `htm` ended without effect: the one list, for both languages and all tools.
#pragma once

/// Calls X(name, NAME) for each, in the order of their numbers; new ones go to the end. The first five are the
/// processor's, the others the engine's own (the explicit codes of XABORT).
// clang-format off
#define TUTTI_HARDWARE_ABORTS(X) \
    X(conflict, CONFLICT) /* another context touched what it had read or written */ \
    X(capacity, CAPACITY) /* it touched more than the processor can keep apart */ \
    X(interrupt, INTERRUPT) /* an interrupt, a fault, or what cannot run in hardware, a system call for example */ \
    X(debug, DEBUG) /* a breakpoint */ \
    X(nested, NESTED) /* it ended inside a hardware transaction of somebody else's making */ \
    X(busy, BUSY) /* a software commit was under way, or a transaction that runs alone */ \
    X(strict, STRICT) /* it was about to commit beside a visible or irrevocable transaction */ \
    X(system_call, SYSTEM_CALL) /* it was about to have an effect that a roll-back has to undo by a call */ \
    X(software, SOFTWARE) /* it needs what software alone does: retry, votes, open nesting, a stricter mode */
// clang-format on
