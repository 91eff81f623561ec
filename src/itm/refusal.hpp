// The end of the process, with a message that names the block: for what cannot be done and cannot be told to compiled
// code, which takes the entries of the ABI for functions that do not throw.
#pragma once

#include <cxxabi.h>

#include <exception>

#include "itm/block.hpp"
#include "itm/passage.hpp"

namespace tutti::itm {

/// The block is to be undone, and cannot be.
[[noreturn]] void refuse_undo(const descriptor& d, const block& b) noexcept;

/// The block cannot do what the verb `step` says, because of the exception that says `why`.
[[noreturn]] void refuse_step(const block& b, const char* step, const char* why) noexcept;

/// f(), but that an exception out of it, an error of use or that of a handler, is a refusal of `step`. So is the end of
/// the thread in a handler: its unwinding could not pass the frames of compiled code.
///
/// A signal is neither: every block of d's receives its own by a jump, so one that leaves by an exception found d idle
/// and goes to the transaction around it.
template <class F>
TUTTI_ALWAYS_INLINE auto or_refuse(const block& b, const char* step, F&& f) {
    try {
        return f();
    } catch (const detail::unwind&) {
        // and over, before the stack is left
    } catch (const std::exception& e) {
        refuse_step(b, step, e.what());
    } catch (const abi::__forced_unwind&) {
        if (api::ends_cancellable_anywhere()) api::refuse_asynchronous_cancel(current());
        refuse_step(b, step, "the thread exits in a handler");
    } catch (...) {
        refuse_step(b, step, "an exception that is no std::exception leaves a handler");
    }
    pass_to_library(current());
}

}  // namespace tutti::itm
