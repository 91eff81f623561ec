// The channel as the carrier of servers' calls: three messages beside those of blocks.
#include "cluster/channel.hpp"
#include "wire/bytes.hpp"

namespace tutti::cluster {

void channel::hand_calls_to(call_handler* whom) {
    const std::lock_guard hold{calls_guard_};
    calls_ = whom;
}

std::size_t channel::most_bytes() const noexcept {
    constexpr std::size_t frame = 64;  // more than an answer has beside its bytes
    return site_.largest - std::min(site_.largest, frame);
}

bool channel::send(unsigned to, std::uint64_t number, const forwarded_call& what) {
    return send(static_cast<node_number>(to), wire::kind::run, number, wire::encode(what));
}

void channel::recall(unsigned to, std::uint64_t number, bool stranded) {
    send(static_cast<node_number>(to), wire::kind::recall, number, wire::encode(wire::recall{stranded}));
}

void channel::answer(unsigned to, std::uint64_t number, const forwarded_answer& how) {
    send(static_cast<node_number>(to), wire::kind::ran, number, wire::encode(how));
}

bool channel::receive_call(const wire::header& h, std::string_view body) {
    const std::lock_guard hold{calls_guard_};
    switch (h.kind) {
        case wire::kind::run: {
            forwarded_call what;
            if (!wire::decode(body, what)) return false;
            if (calls_ != nullptr) calls_->run(h.from, h.call, std::move(what));
            else answer(h.from, h.call, {.fate = forwarded_fate::declined, .answer = {}});
            return true;
        }
        case wire::kind::ran: {
            forwarded_answer how;
            if (!wire::decode(body, how) || how.owner >= site_.nodes) return false;
            if (calls_ != nullptr) calls_->answered(h.from, h.call, std::move(how));
            return true;
        }
        default: {
            wire::recall told;
            if (!wire::decode(body, told)) return false;
            if (calls_ != nullptr) calls_->recall(h.from, h.call, told.stranded);
            return true;
        }
    }
}

}  // namespace tutti::cluster
