// The channel as the carrier of servers' calls. Servers' calls use three messages that blocks do not use.
#include <new>

#include "cluster/channel.hpp"
#include "cluster/protocol/call_messages.hpp"
#include "wire/bytes.hpp"

namespace tutti::cluster {

void channel::hand_calls_to(call_handler* whom) {
    const std::lock_guard hold{calls_guard_};
    calls_ = whom;
}

std::size_t channel::most_bytes() const noexcept {
    constexpr std::size_t frame = 64;  // an answer has fewer bytes than this beside its payload
    return site_.largest - std::min(site_.largest, frame);
}

bool channel::send(unsigned to, std::uint64_t number, const forwarded_call& what) {
    return send(static_cast<node_number>(to), wire::message_type::run, site_.before_names + number, wire::encode(what));
}

void channel::cancel(unsigned to, std::uint64_t number, bool stranded) {
    send(static_cast<node_number>(to), wire::message_type::cancel_run, site_.before_names + number,
         wire::encode(wire::cancel_run{stranded}));
}

void channel::answer(unsigned to, std::uint64_t number, const forwarded_answer& how) noexcept {
    try {
        send(static_cast<node_number>(to), wire::message_type::run_reply, number, wire::encode(how));
    } catch (const std::bad_alloc&) {
        // The node that waits for the answer must hear of the failure. Giving up the connection tells it that this node
        // is lost.
        transport_->disconnect(static_cast<node_number>(to));
    }
}

bool channel::receive_call(const wire::header& h, std::string_view body) {
    wire::header mine = h;
    if (h.type == wire::message_type::run_reply) {
        if (h.call <= site_.before_names) return true;  // a former process of this node has made that call
        mine.call -= site_.before_names;
    }
    const std::lock_guard hold{calls_guard_};
    return hand_over(mine, body, site_.nodes, calls_, *this);
}

}  // namespace tutti::cluster
