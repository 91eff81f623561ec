#include "cluster/rpc/timeline.hpp"

#include <algorithm>
#include <new>

#include "wire/bytes.hpp"

namespace tutti::cluster {

void timeline::record(timeline_event e) noexcept {
    if (e.began_ns == 0 || !is_recording()) return;
    e.took_ns = now() - e.began_ns;
    const std::lock_guard hold{guard_};
    if (!is_recording()) return;  // its memory may have been freed
    if (events_.size() < events_.capacity()) events_.push_back(e);
    else ++left_out_;
}

void timeline::start() {
    const std::lock_guard hold{guard_};
    is_recording_.store(false, std::memory_order_relaxed);
    events_.clear();
    events_.reserve(max_events);
    taken_ = 0;
    left_out_ = 0;
    is_recording_.store(true, std::memory_order_relaxed);
}

timeline::timeline_chunk timeline::take_events(std::size_t max_count) {
    const std::lock_guard hold{guard_};
    is_recording_.store(false, std::memory_order_relaxed);
    timeline_chunk p;
    const auto from = events_.begin() + static_cast<std::ptrdiff_t>(taken_);
    const std::size_t count = std::min(max_count, events_.size() - taken_);
    p.events.assign(from, from + static_cast<std::ptrdiff_t>(count));
    taken_ += count;
    p.left_out = left_out_;
    p.more = taken_ != events_.size();
    return p;
}

void timeline::drop() noexcept {
    const std::lock_guard hold{guard_};
    is_recording_.store(false, std::memory_order_relaxed);
    std::vector<timeline_event>{}.swap(events_);
    taken_ = 0;
}

timeline_operation operation_of(wire::message_type kind, std::string_view body) noexcept {
    switch (kind) {
        case wire::message_type::reserve: return timeline_operation::reserve;
        case wire::message_type::validate: return timeline_operation::validate;
        case wire::message_type::watch: return timeline_operation::watch;
        case wire::message_type::prepare: {
            wire::reader from{body};
            wire::prepare head;  // the header only, because its lists may be long
            from(head.who), from(head.as), from(head.decides);
            // Unless the receiver decides, its locks stay until the decision of another node arrives.
            return head.decides == wire::decider::receiver ? timeline_operation::commit : timeline_operation::lock;
        }
        case wire::message_type::decide:
        case wire::message_type::withdraw: return timeline_operation::decide;
        case wire::message_type::claim: return timeline_operation::claim;
        case wire::message_type::release: return timeline_operation::release;
        case wire::message_type::owner_update: return timeline_operation::place;
        case wire::message_type::invalidate:
        case wire::message_type::invalidate_reply: return timeline_operation::drop;
        default: return timeline_operation::open;
    }
}

wire::transaction_name attempt_of(wire::message_type kind, std::string_view body) noexcept {
    wire::transaction_name who{.slot = no_node};
    switch (kind) {
        case wire::message_type::prepare:
        case wire::message_type::decide:
        case wire::message_type::withdraw: wire::reader{body}(who); break;
        case wire::message_type::claim:
        case wire::message_type::release:
        case wire::message_type::reserve:
            wire::reader{body}(who);
            who.sequence = 0;  // the number is that of a hold, and holds are counted separately
            break;
        default: break;
    }
    return who;
}

timeline_outcome outcome_of(wire::message_type kind, std::string_view body) noexcept try {
    if (kind == wire::message_type::prepare_reply) {
        wire::prepare_reply refusal;
        if (!wire::decode(body, refusal) || refusal.yes) return timeline_outcome::done;
        switch (refusal.why) {
            case wire::lock_refusal::outranked: return timeline_outcome::outranked;
            case wire::lock_refusal::shared:
            case wire::lock_refusal::locked: return timeline_outcome::locked;
            default: return timeline_outcome::stale;
        }
    }
    wire::fetch_reply found;
    const auto is_busy = [](const wire::object_view& v) { return v.where == wire::lookup_result::busy; };
    if (kind == wire::message_type::fetch_reply && wire::decode(body, found) &&
        std::ranges::any_of(found.objects, is_busy))
        return timeline_outcome::busy;
    return timeline_outcome::done;
} catch (const std::bad_alloc&) {
    return timeline_outcome::done;
}

}  // namespace tutti::cluster
