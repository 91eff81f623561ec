// Ends the process with a message that names the block. Used for errors that cannot be reported to compiled code, which
// assumes that the entries of the ABI do not throw.
#pragma once

#include <cxxabi.h>

#include <exception>

#include "itm/block.hpp"
#include "itm/signal_forwarding.hpp"

namespace tutti::itm {

/// Reports that the block has to be undone, which is impossible.
[[noreturn]] void die_in_undo(const descriptor& d, const block& b) noexcept;

/// Reports that the block cannot do `step`, a verb, because of an exception with the text `why`.
[[noreturn]] void die_in_step(const block& b, const char* step, const char* why) noexcept;

/// Calls f(). An exception that leaves f(), an error of use or one from a handler, ends the process as a failure of
/// `step`. So does the end of the thread in a handler, whose unwinding could not pass the frames of compiled code.
///
/// A signal is different. Every block of d receives its own signal by a jump. So a signal that leaves f() as an
/// exception found d idle, and belongs to the transaction around it.
template <class F>
TUTTI_ALWAYS_INLINE auto or_die(const block& b, const char* step, F&& f) {
    try {
        return f();
    } catch (const detail::unwind&) {
        // the catch ends before the stack is left
    } catch (const std::exception& e) {
        die_in_step(b, step, e.what());
    } catch (const abi::__forced_unwind&) {
        if (api::ends_cancellable_anywhere()) api::die_of_asynchronous_cancel(current());
        die_in_step(b, step, "the thread exits in a handler");
    } catch (...) {
        die_in_step(b, step, "an exception that is no std::exception leaves a handler");
    }
    forward_to_library(current());
}

}  // namespace tutti::itm
