// Ends the process with a message that names the block. Used for errors that cannot be thrown, because compiled code
// assumes that the entries of the ABI do not throw.
#pragma once

#include <cxxabi.h>

#include <exception>

#include "itm/block.hpp"
#include "itm/signal_forwarding.hpp"

namespace tutti::itm {

/// Reports that the block must be rolled back, which is impossible.
[[noreturn]] void die_in_undo(const descriptor& d, const block& b) noexcept;

/// Reports that an exception with the text `why` has prevented `step` in the block. `step` is a verb.
[[noreturn]] void die_in_step(const block& b, const char* step, const char* why) noexcept;

/// Calls f(). If f() throws, because of an error of use or in a handler, ends the process and reports that `step` has
/// failed. Also ends the process if a handler ends the thread, because the unwinding could not pass the frames of
/// compiled code.
///
/// A signal needs different treatment. Every block of d receives its own signal by a jump. So if a signal leaves f() as
/// an exception, d was idle, and the signal belongs to a transaction of a descriptor around d.
template <class F>
TUTTI_ALWAYS_INLINE auto or_die(const block& b, const char* step, F&& f) {
    try {
        return f();
    } catch (const detail::unwind&) {
        // the signal is forwarded after the end of this handler
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
