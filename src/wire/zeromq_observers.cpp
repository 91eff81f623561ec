// Observers over ZeroMQ. Their connections cannot be closed, so a disconnected observer's messages are ignored.
#include <algorithm>
#include <utility>

#include "wire/zeromq_peer.hpp"

namespace tutti::wire {

void zeromq::admit_observer(caller_number from) {
    if (observers_.are_enough()) return static_cast<void>(say_to_caller(from, observers_.turn_away()));
    visitors_.try_emplace(from, observers_, std::chrono::steady_clock::now() + how_.silence);
}

/// Handles a message over a connection that is not a node's.
void zeromq::hear_observer(caller_number from, std::string_view question) {
    const auto at = visitors_.find(from);
    if (at == visitors_.end()) return;  // dropped
    visitor& v = at->second;
    const auto more = observers::rest_of(question.substr(0, header::size));
    if (!v.question.empty() || !more || question.size() != header::size + *more) {
        observers_.cut_off();
        visitors_.erase(at);
        return;
    }
    v.question = question;
    v.due = v.listens_at;
}

void zeromq::answer_observers() {
    const auto now = std::chrono::steady_clock::now();
    for (auto at = visitors_.begin(); at != visitors_.end();) {
        auto& [number, v] = *at;
        if (now < v.due) {
            ++at;
            continue;
        }
        bool stays = !v.question.empty();  // else the observer has asked nothing for too long
        if (stays) {
            const std::string question = std::exchange(v.question, {});
            const std::string_view all{question};
            const auto told = observers_.answer(v.here, all.substr(0, header::size), all.substr(header::size));
            if (!told) observers_.cut_off();
            stays = told && say_in_pieces(number, *told);
            v.listens_at = now + rest_of_observer;
            v.due = now + how_.silence;
        }
        at = stays ? std::next(at) : visitors_.erase(at);
    }
}

/// Sends bytes in pieces. Returns false if the observer is gone, or does not read.
bool zeromq::say_in_pieces(caller_number to, std::string_view bytes) noexcept {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), most_of_message))) {
        if (!say_to_caller(to, bytes.substr(0, most_of_message))) return false;
    }
    return true;
}

}  // namespace tutti::wire
