// Serves observers over ZeroMQ. libzmq cannot close their connections, so the messages of a disconnected observer are
// ignored.
#include <algorithm>
#include <utility>

#include "wire/zeromq_peer.hpp"

namespace tutti::wire {

void zeromq_transport::admit_observer(connection_number from) {
    if (observer_server_.is_full()) return static_cast<void>(send_on_connection(from, observer_server_.rejection()));
    observers_by_connection_.try_emplace(from, observer_server_,
                                         std::chrono::steady_clock::now() + options_.failure_timeout);
}

/// Handles a message from a connection that does not belong to a node.
void zeromq_transport::receive_from_observer(connection_number from, std::string_view question) {
    const auto at = observers_by_connection_.find(from);
    if (at == observers_by_connection_.end()) return;  // the observer was disconnected, so its message is dropped
    observer& v = at->second;
    const auto more = observer_server::body_size(question.substr(0, header::size));
    if (!v.question.empty() || !more || question.size() != header::size + *more) {
        observer_server_.count_disconnected();
        observers_by_connection_.erase(at);
        return;
    }
    v.question = question;
    v.due = v.listens_at;
}

void zeromq_transport::answer_observers() {
    const auto now = std::chrono::steady_clock::now();
    for (auto at = observers_by_connection_.begin(); at != observers_by_connection_.end();) {
        auto& [number, v] = *at;
        if (now < v.due) {
            ++at;
            continue;
        }
        bool stays = !v.question.empty();  // otherwise the observer has sent no request for too long
        if (stays) {
            const std::string question = std::exchange(v.question, {});
            const std::string_view all{question};
            const auto reply =
                observer_server_.reply_to(v.session, all.substr(0, header::size), all.substr(header::size));
            if (!reply) observer_server_.count_disconnected();
            stays = reply && send_in_pieces(number, *reply);
            v.listens_at = now + observer_pause;
            v.due = now + options_.failure_timeout;
        }
        at = stays ? std::next(at) : observers_by_connection_.erase(at);
    }
}

/// Sends bytes in pieces. Returns false if the observer has disconnected, or does not read.
bool zeromq_transport::send_in_pieces(connection_number to, std::string_view bytes) noexcept {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), max_zeromq_message_bytes))) {
        if (!send_on_connection(to, bytes.substr(0, max_zeromq_message_bytes))) return false;
    }
    return true;
}

}  // namespace tutti::wire
