// Describes to a debugger what the contexts of a process are doing. The table needs no debug information, and also
// works for a core file. The script tools/gdb/tutti.py reads this table. Offsets are from the start of a descriptor
// unless stated otherwise.
//
// A change of the table's own layout needs a new version number. A descriptor's member may move without a new version
// number.
#include <cstddef>
#include <cstdint>

#include "core/state/descriptor.hpp"

#pragma GCC diagnostic push
// offsetof is conditionally supported for a type with base classes, and GCC and Clang support it.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace tutti::api {

struct debug_layout {
    std::uint32_t version = 1;
    std::uint32_t bytes = sizeof(debug_layout);
    const memory::directory_view* directory = &memory::directory_for_debuggers;
    /// Offset of the status record to which the directory leads. The status record is a base of the descriptor.
    std::uint64_t status_record = offsetof(core::descriptor, id) - offsetof(memory::status_record, id);
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
    /// Offsets within the objects to which `slot` and `options` point.
    std::uint64_t slot_file = offsetof(detail::site_slot, file);
    std::uint64_t slot_line = offsetof(detail::site_slot, line);
    std::uint64_t options_name = offsetof(tutti::options, name);
};

}  // namespace tutti::api

extern "C" TUTTI_EXPORT const tutti::api::debug_layout tutti_debug_layout;
constinit const tutti::api::debug_layout tutti_debug_layout{};

#pragma GCC diagnostic pop
