#include "cluster/protocol/call_messages.hpp"

#include <utility>

#include "wire/bytes.hpp"

namespace tutti::cluster {

bool dispatch_call_message(const wire::header& h, std::string_view body, node_number nodes, call_handler* handler,
                           call_transport& by) {
    switch (h.type) {
        case wire::message_type::run: {
            forwarded_call what;
            if (!wire::decode(body, what)) return false;
            if (handler != nullptr) handler->run(h.from, h.call, std::move(what));
            else by.send_reply(h.from, h.call, {.result = forwarded_outcome::declined, .reply = {}});
            return true;
        }
        case wire::message_type::run_reply: {
            forwarded_reply how;
            if (!wire::decode(body, how) || how.owner >= nodes) return false;
            if (handler != nullptr) handler->on_reply(h.from, h.call, std::move(how));
            return true;
        }
        default: {
            wire::cancel_run message;
            if (!wire::decode(body, message)) return false;
            if (handler != nullptr) handler->cancel(h.from, h.call, message.stranded);
            return true;
        }
    }
}

}  // namespace tutti::cluster
