#include "cluster/protocol/call_messages.hpp"

#include <utility>

#include "wire/bytes.hpp"

namespace tutti::cluster {

bool hand_over(const wire::header& h, std::string_view body, node_number nodes, call_handler* whom, call_carrier& by) {
    switch (h.type) {
        case wire::message_type::run: {
            forwarded_call what;
            if (!wire::decode(body, what)) return false;
            if (whom != nullptr) whom->run(h.from, h.call, std::move(what));
            else by.answer(h.from, h.call, {.fate = forwarded_fate::declined, .answer = {}});
            return true;
        }
        case wire::message_type::run_reply: {
            forwarded_answer how;
            if (!wire::decode(body, how) || how.owner >= nodes) return false;
            if (whom != nullptr) whom->answered(h.from, h.call, std::move(how));
            return true;
        }
        default: {
            wire::cancel_run told;
            if (!wire::decode(body, told)) return false;
            if (whom != nullptr) whom->cancel(h.from, h.call, told.stranded);
            return true;
        }
    }
}

}  // namespace tutti::cluster
