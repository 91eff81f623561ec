// Where a debugger finds what the contexts of a process are doing, without debug information and in a core file:
// tools/gdb/tutti.py reads it. Offsets are from the start of a descriptor unless said otherwise.
//
// A change of the table's own layout is a new version; a member that moves is not.
#include <cstddef>
#include <cstdint>

#include "core/state/descriptor.hpp"

#pragma GCC diagnostic push
// Conditionally supported for a type with base classes, which GCC and Clang do.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace tutti::api {

struct debug_layout {
    std::uint32_t version = 1;
    std::uint32_t bytes = sizeof(debug_layout);
    const memory::directory_view* directory = &memory::directory_for_debuggers;
    /// Of the activity that the directory leads to, which is a base of the descriptor.
    std::uint64_t activity = offsetof(core::descriptor, id) - offsetof(memory::activity, id);
    std::uint64_t state = offsetof(core::descriptor, state);
    std::uint64_t kill_request = offsetof(core::descriptor, kill_request);
    std::uint64_t frame = offsetof(core::descriptor, frame_);
    std::uint64_t rank = offsetof(core::descriptor, rank);
    std::uint64_t age = offsetof(core::descriptor, age);
    std::uint64_t suspended = offsetof(core::descriptor, suspended);
    std::uint64_t waits_for = offsetof(core::descriptor, shows_wait_for);
    std::uint64_t in_retry = offsetof(core::descriptor, shows_retry);
    std::uint64_t thread = offsetof(core::descriptor, shows_thread);
    std::uint64_t attempt = offsetof(core::descriptor, run.attempt);
    std::uint64_t defeats = offsetof(core::descriptor, run.defeats);
    std::uint64_t slot = offsetof(core::descriptor, run.where.slot);
    std::uint64_t place = offsetof(core::descriptor, run.where.at);
    std::uint64_t options = offsetof(core::descriptor, run.how);
    /// Within what `slot` and `options` point to.
    std::uint64_t slot_file = offsetof(detail::site_slot, file);
    std::uint64_t slot_line = offsetof(detail::site_slot, line);
    std::uint64_t options_name = offsetof(tutti::options, name);
};

}  // namespace tutti::api

extern "C" TUTTI_EXPORT const tutti::api::debug_layout tutti_debug_layout;
constinit const tutti::api::debug_layout tutti_debug_layout{};

#pragma GCC diagnostic pop
