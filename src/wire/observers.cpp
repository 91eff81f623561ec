#include "wire/observers.hpp"

#include <new>

#include "base/clock.hpp"
#include "wire/bytes.hpp"

namespace tutti::wire {

observers::visit::~visit() {
    if (host_.records_ == this) {
        host_.records_ = nullptr;
        host_.whom_.drop_recording();
    }
    host_.here_.fetch_sub(1, std::memory_order_relaxed);
}

std::string observers::turn_away() {
    refused_.add_one();
    return frame(0, kind::status_told, status_told{.admitted = false, .facts = {}});
}

std::optional<std::size_t> observers::rest_of(std::string_view question) {
    header h;
    if (!decode(question, h) || h.version != protocol_version || h.from != observer_number) return std::nullopt;
    std::size_t size = 0;
    switch (h.kind) {
        case kind::status:
        case kind::doubts: break;
        case kind::timeline: size = timeline::size; break;
        case kind::settle: size = settle::size; break;
        default: return std::nullopt;
    }
    return h.length == size ? std::optional{size} : std::nullopt;
}

std::optional<std::string> observers::answer(const visit& to, std::string_view question, std::string_view body) {
    header h;
    if (!decode(question, h)) return std::nullopt;
    if (h.kind == kind::status)
        return frame(h.call, kind::status_told, status_told{.admitted = true, .facts = whom_.facts()});
    if (h.kind == kind::doubts) return frame(h.call, kind::doubts_told, doubts_told{whom_.doubts()});
    if (h.kind == kind::settle) {
        settle what;
        if (!decode(body, what)) return std::nullopt;
        return frame(h.call, kind::settled, whom_.settle(what));
    }
    timeline asked;
    if (!decode(body, asked)) return std::nullopt;
    return frame(h.call, kind::timeline_told, carry_out(to, asked.order));
}

timeline_told observers::carry_out(const visit& v, timeline_order what) {
    timeline_told told;
    const bool is_another = records_ != nullptr && records_ != &v;
    told.granted = what == timeline_order::look || !is_another;
    if (what == timeline_order::start && told.granted) {
        try {
            whom_.start_recording();
            records_ = &v;
        } catch (const std::bad_alloc&) {
            told.granted = false;
        }
    } else if (what == timeline_order::take && records_ == &v) {
        whom_.take_recorded(told);
    }
    told.now_ns = base::real_now().time_since_epoch().count();  // read last, to be close to the time of sending
    return told;
}

template <class Told>
std::string observers::frame(std::uint64_t call, kind what, const Told& told) const {
    const std::string body = encode(told);
    header h;
    h.length = static_cast<std::uint32_t>(body.size());
    h.kind = what;
    h.from = self_;
    h.call = call;
    return encode(h) + body;
}

void observers::describe(cluster::node_facts& to) const noexcept {
    to.observers = here_.load(std::memory_order_relaxed);
    to.observers_refused = refused_.get();
    to.observers_cut_off = cut_off_.get();
}

}  // namespace tutti::wire
