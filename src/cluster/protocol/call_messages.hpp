// Messages about servers' calls, from bytes to whoever handles them. What they say is in tutti/cluster/calls.hpp.
#pragma once

#include <string_view>

#include "cluster/directory/placement.hpp"
#include "tutti/cluster/calls.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

[[nodiscard]] constexpr bool is_about_call(wire::kind k) noexcept {
    return k == wire::kind::run || k == wire::kind::ran || k == wire::kind::recall;
}

/// Hands a message to `whom`; null: no server is here, so `by` declines what it is asked to run. False: the bytes are
/// no such message of a cluster of so many nodes. REQUIRES: is_about_call(h.kind).
[[nodiscard]] bool hand_over(const wire::header& h, std::string_view body, node_number nodes, call_handler* whom,
                             call_carrier& by);

}  // namespace tutti::cluster
