// The C library's state of a context: lists of actions of the running transaction. Each list refers to handlers that
// undo actions. The log of handlers owns the handlers.
#pragma once

#include <new>

#include "libc/context.hpp"

namespace tutti::libc {

struct owned_stream;
struct held_guard;
struct pending_close;
struct saved_generator;

/// Lists in which the latest entry comes first. All lists except `idle` are empty if `sequence` differs from that of
/// the descriptor.
struct context_state : detail::layer_data {
    static constexpr core::layer of_layer = core::layer::c_library;

    detail::word sequence = 0;
    owned_stream* newest = nullptr;        ///< streams (file.hpp)
    pending_close* closing = nullptr;      ///< descriptors that the commit closes (descriptor_table.hpp)
    saved_generator* generator = nullptr;  ///< states of random number generators (random_numbers.cpp)
    held_guard* guards = nullptr;          ///< guards of local statics (guards.cpp)
    owned_stream* idle = nullptr;          ///< records of owned streams for reuse; never freed, like this object
};

/// Returns the state of `d`, or null if there is no memory for it.
inline context_state* state_of(descriptor& d) noexcept {
    if (!d.has_data_of(core::layer::c_library)) d.set_data_of_layer(new (std::nothrow) context_state);
    auto* const s = d.data_of_layer<context_state>();
    if (s != nullptr && s->sequence != d.own_sequence) {
        owned_stream* const idle = s->idle;
        *s = {};
        s->sequence = d.own_sequence;
        s->idle = idle;
    }
    return s;
}
/// Returns the state of `d`, or null if the running attempt has not used the C library.
inline context_state* state_of_attempt(const descriptor& d) noexcept {
    auto* const s = d.data_of_layer<context_state>();
    return s != nullptr && s->sequence == d.own_sequence ? s : nullptr;
}

}  // namespace tutti::libc
