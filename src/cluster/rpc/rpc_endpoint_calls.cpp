// The part of the RPC endpoint that transports calls between servers. These calls use three messages that blocks do not
// use.
#include <new>

#include "cluster/protocol/call_messages.hpp"
#include "cluster/rpc/rpc_endpoint.hpp"
#include "wire/bytes.hpp"

namespace tutti::cluster {

void rpc_endpoint::set_call_handler(call_handler* handler) {
    const std::lock_guard hold{call_handler_guard_};
    call_handler_ = handler;
}

std::size_t rpc_endpoint::max_bytes() const noexcept {
    constexpr std::size_t frame = 64;  // an answer has fewer bytes than this in addition to its payload
    return node_.max_message_bytes - std::min(node_.max_message_bytes, frame);
}

bool rpc_endpoint::send(unsigned to, std::uint64_t number, const forwarded_call& what) {
    return send(static_cast<node_number>(to), wire::message_type::run, node_.last_former_name + number,
                wire::encode(what));
}

void rpc_endpoint::cancel(unsigned to, std::uint64_t number, bool stranded) {
    send(static_cast<node_number>(to), wire::message_type::cancel_run, node_.last_former_name + number,
         wire::encode(wire::cancel_run{stranded}));
}

void rpc_endpoint::send_reply(unsigned to, std::uint64_t number, const forwarded_reply& how) noexcept {
    try {
        send(static_cast<node_number>(to), wire::message_type::run_reply, number, wire::encode(how));
    } catch (const std::bad_alloc&) {
        // The node that waits for the answer must learn of the failure. If this node closes the connection, the other
        // node treats this node as lost.
        transport_->disconnect(static_cast<node_number>(to));
    }
}

bool rpc_endpoint::receive_call(const wire::header& h, std::string_view body) {
    wire::header mine = h;
    if (h.type == wire::message_type::run_reply) {
        if (h.call <= node_.last_former_name) return true;  // a former process of this node has made that call
        mine.call -= node_.last_former_name;
    }
    const std::lock_guard hold{call_handler_guard_};
    return dispatch_call_message(mine, body, node_.nodes, call_handler_, *this);
}

}  // namespace tutti::cluster
