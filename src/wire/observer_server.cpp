#include "wire/observer_server.hpp"

#include <new>

#include "base/clock.hpp"
#include "wire/bytes.hpp"

namespace tutti::wire {

observer_server::observer_session::~observer_session() {
    if (server_.recording_session_ == this) {
        server_.recording_session_ = nullptr;
        server_.node_.drop_recording();
    }
    server_.connected_.fetch_sub(1, std::memory_order_relaxed);
}

std::string observer_server::rejection() {
    refused_.add_one();
    return frame(0, message_type::status_reply, status_reply{.admitted = false, .status = {}});
}

std::optional<std::size_t> observer_server::body_size(std::string_view question) {
    header h;
    if (!decode(question, h) || h.version != protocol_version || h.from != observer_number) return std::nullopt;
    std::size_t size = 0;
    switch (h.type) {
        case message_type::status:
        case message_type::doubts: break;
        case message_type::timeline: size = timeline::size; break;
        case message_type::resolve_doubt: size = resolve_doubt::size; break;
        default: return std::nullopt;
    }
    return h.length == size ? std::optional{size} : std::nullopt;
}

std::optional<std::string> observer_server::reply_to(const observer_session& to, std::string_view question,
                                                     std::string_view body) {
    header h;
    if (!decode(question, h)) return std::nullopt;
    if (h.type == message_type::status)
        return frame(h.call, message_type::status_reply, status_reply{.admitted = true, .status = node_.status()});
    if (h.type == message_type::doubts) return frame(h.call, message_type::doubts_reply, doubts_reply{node_.doubts()});
    if (h.type == message_type::resolve_doubt) {
        resolve_doubt what;
        if (!decode(body, what)) return std::nullopt;
        return frame(h.call, message_type::resolve_reply, node_.resolve_doubt(what));
    }
    timeline asked;
    if (!decode(body, asked)) return std::nullopt;
    return frame(h.call, message_type::timeline_reply, execute(to, asked.order));
}

timeline_reply observer_server::execute(const observer_session& v, timeline_order what) {
    timeline_reply reply;
    const bool is_another = recording_session_ != nullptr && recording_session_ != &v;
    reply.granted = what == timeline_order::read_clock || !is_another;
    if (what == timeline_order::start && reply.granted) {
        try {
            node_.start_recording();
            recording_session_ = &v;
        } catch (const std::bad_alloc&) {
            reply.granted = false;
        }
    } else if (what == timeline_order::take && recording_session_ == &v) {
        node_.take_recorded(reply);
    }
    reply.now_ns = base::real_now().time_since_epoch().count();  // read last, to be close to the time of sending
    return reply;
}

template <class Reply>
std::string observer_server::frame(std::uint64_t call, message_type what, const Reply& reply) const {
    const std::string body = encode(reply);
    header h;
    h.length = static_cast<std::uint32_t>(body.size());
    h.type = what;
    h.from = self_;
    h.call = call;
    return encode(h) + body;
}

void observer_server::describe(cluster::node_status& to) const noexcept {
    to.observers = connected_.load(std::memory_order_relaxed);
    to.observers_refused = refused_.get();
    to.observers_disconnected = disconnected_.get();
}

}  // namespace tutti::wire
