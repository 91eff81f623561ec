// Servers of a cluster ask each other to run calls. This file passes the messages about such calls to the node's call
// handler. tutti/cluster/calls.hpp defines the content of these messages.
#pragma once

#include <string_view>

#include "cluster/directory/placement.hpp"
#include "tutti/cluster/calls.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

[[nodiscard]] constexpr bool is_about_call(wire::message_type k) noexcept {
    return k == wire::message_type::run || k == wire::message_type::run_reply || k == wire::message_type::cancel_run;
}

/// Hands a message to `handler`. If `handler` is null, no server runs here, and `by` declines requests to run a call.
/// Returns false if the bytes are not a valid call message of a cluster of `nodes` nodes. REQUIRES:
/// is_about_call(h.type).
[[nodiscard]] bool dispatch_call_message(const wire::header& h, std::string_view body, node_number nodes,
                                         call_handler* handler, call_transport& by);

}  // namespace tutti::cluster
