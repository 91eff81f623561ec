// What the C library keeps for a context: lists of what its running transaction did, which lead into the handlers that
// undo it, and which the log of handlers owns.
#pragma once

#include <new>

#include "libc/context.hpp"

namespace tutti::libc {

struct touch;
struct held_guard;
struct pending_close;
struct saved_generator;

/// Lists, the latest first. They, but not `idle`, are empty when `sequence` is not that of the descriptor.
struct context_state {
    detail::word sequence = 0;
    touch* newest = nullptr;               ///< streams (file.hpp)
    pending_close* closing = nullptr;      ///< descriptors that the commit closes (descriptor_table.hpp)
    saved_generator* generator = nullptr;  ///< of random numbers (random.cpp)
    held_guard* guards = nullptr;          ///< of local statics (guards.cpp)
    touch* idle = nullptr;                 ///< touches to be used again; for good, as this
};

/// Null: there is no memory for it.
inline context_state* state_of(descriptor& d) noexcept {
    if (d.c_library == nullptr) d.c_library = new (std::nothrow) context_state;
    auto* const s = static_cast<context_state*>(d.c_library);
    if (s != nullptr && s->sequence != d.own_sequence) *s = {.sequence = d.own_sequence, .idle = s->idle};
    return s;
}

}  // namespace tutti::libc
