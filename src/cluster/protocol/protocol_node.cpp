#include "cluster/protocol/protocol_node.hpp"

#include <algorithm>
#include <new>

#include "wire/bytes.hpp"

namespace tutti::cluster {
namespace {

/// The largest lead of another node's clock. Clocks count commits, so a larger lead within one heartbeat means that the
/// node's clock is invalid.
constexpr std::uint64_t max_clock_lead = std::uint64_t{1} << 32;
/// The size of a view in an answer without its value, and the size of an answer without its views, in bytes.
constexpr std::size_t frame_of_view = 25, frame_of_answer = 4;

template <class T>
bool decode(std::string_view body, T& message, bool& sound) {
    sound = wire::decode(body, message);
    return sound;
}

}  // namespace

bool protocol_node::receive_header(const wire::header& h) noexcept {
    if (h.clock > clock.now() + max_clock_lead) return false;
    clock.raise_to(h.clock);  // rule C
    snapshots.merge(h.from, h.oldest);
    return true;
}

void protocol_node::remember_owners(node_number home) noexcept try {
    for (const wire::owner_update& p : cache.owners()) {
        if (home_of(p.id, nodes) == home) objects.set_pointer(p.id, p.owner, p.version);
    }
} catch (const std::bad_alloc&) {
    return;  // the object is then unreachable, as if there were no copy
}

std::size_t protocol_node::max_asked() const noexcept {
    // Most of an answer is reserved for values.
    return std::clamp<std::size_t>(max_message_bytes / (3 * frame_of_view), 1, wire::max_elements);
}

/// Shows as many objects as the answer has room for.
template <class Show>
wire::fetch_reply protocol_node::view_objects(const std::vector<object_id>& ids, Show&& show) const {
    wire::fetch_reply found;
    found.objects.resize(ids.size());
    std::size_t size = frame_of_answer + frame_of_view * ids.size();
    bool given = false, full = false;
    wire::object_view* first_left = nullptr;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        wire::object_view& view = found.objects[i];
        if (!full) show(ids[i], view);
        if (!full && size + view.bytes.size() <= max_message_bytes) {
            size += view.bytes.size();
            given = true;
            continue;
        }
        const bool alone = frame_of_answer + frame_of_view + view.bytes.size() > max_message_bytes;
        full = full || (given && !alone);
        view = {};
        view.where = alone ? wire::lookup_result::too_large : wire::lookup_result::later;
        if (!alone && first_left == nullptr) first_left = &view;
    }
    // If the answer has no value at all, a request for the same objects would only have the same answer.
    if (!given && first_left != nullptr) first_left->where = wire::lookup_result::too_large;
    return found;
}

std::optional<protocol_node::answer> protocol_node::serve(const wire::header& h, std::string_view body, bool& sound) {
    sound = true;
    switch (h.type) {
        case wire::message_type::fetch: {
            wire::fetch asked;
            if (!decode(body, asked, sound)) return std::nullopt;
            sound = asked.at == wire::newest || has_reached(asked.at);
            if (!sound) return std::nullopt;
            const bool may_grant_copy = asked.keeps && asked.at == wire::newest;
            const auto show = [&](const object_id& id, wire::object_view& view) {
                if (may_grant_copy) objects.read_and_grant_copy(id, view, h.from);
                else objects.read(id, view, asked.at);
                objects.report_transfer_lost(id, view);
            };
            return answer{wire::message_type::fetch_reply, wire::encode(view_objects(asked.ids, show))};
        }
        case wire::message_type::reserve: {
            wire::reserve asked;
            if (!decode(body, asked, sound)) return std::nullopt;
            sound = is_of_sender(asked.who, h) && has_reached(asked.as.age);
            if (!sound) return std::nullopt;
            const auto show = [&](const object_id& id, wire::object_view& view) {
                reserved_objects.reserve(id, asked, view);
                objects.report_transfer_lost(id, view);
            };
            return answer{wire::message_type::fetch_reply, wire::encode(view_objects(asked.ids, show))};
        }
        case wire::message_type::validate:
        case wire::message_type::watch: {
            wire::validate asked;
            if (!decode(body, asked, sound)) return std::nullopt;
            wire::validate_reply found;
            for (const wire::read_item& r : asked.reads) {
                const bool same = h.type == wire::message_type::watch ? objects.watch(r.id, r.version, h.from)
                                                                      : objects.is_current(r.id, r.version);
                if (!same) break;
                ++found.current;
            }
            return answer{wire::message_type::validate_reply, wire::encode(found)};
        }
        case wire::message_type::prepare: {
            wire::prepare asked;
            if (!decode(body, asked, sound)) return std::nullopt;
            sound = is_of_sender(asked.who, h) && has_reached(asked.as.age) && are_third_nodes(asked.others, h);
            if (!sound) return std::nullopt;
            return answer{wire::message_type::prepare_reply, wire::encode(commits.prepare(std::move(asked)))};
        }
        case wire::message_type::decide: {
            wire::decide received;
            if (!decode(body, received, sound)) return std::nullopt;
            sound = is_of_sender(received.who, h) && has_reached(received.version);
            if (sound) commits.decide(received);
            return std::nullopt;
        }
        case wire::message_type::withdraw: {
            wire::withdraw asked;
            if (!decode(body, asked, sound)) return std::nullopt;
            sound = is_of_sender(asked.who, h);
            if (!sound) return std::nullopt;
            return answer{wire::message_type::prepare_reply, wire::encode(commits.withdraw(asked.who))};
        }
        case wire::message_type::fate_query: {
            wire::fate_query asked;
            if (!decode(body, asked, sound)) return std::nullopt;
            sound = is_of_third_node(asked.who, h);
            if (sound) commits.receive_query(asked.who, h.from);
            return std::nullopt;
        }
        case wire::message_type::fate_report: {
            wire::fate_report received;
            if (!decode(body, received, sound)) return std::nullopt;
            sound = is_of_third_node(received.who, h) && has_reached(received.version) &&
                    (received.version != 0 || received.fate != wire::transaction_fate::committed) &&
                    (received.version == 0 || received.fate != wire::transaction_fate::aborted);
            if (sound) commits.receive_report(received, h.from);
            return std::nullopt;
        }
        case wire::message_type::lost_node: {
            wire::lost_node received;
            if (!decode(body, received, sound)) return std::nullopt;
            sound = is_third_node(received.node, h);
            if (sound) losses.receive(received, h.from);
            return std::nullopt;
        }
        case wire::message_type::invalidate: {
            wire::invalidation asked;
            if (!decode(body, asked, sound)) return std::nullopt;
            const auto message = cache.invalidate(asked);
            if (!message) return std::nullopt;
            return answer{wire::message_type::invalidate_reply, wire::encode(*message)};
        }
        case wire::message_type::invalidate_reply: {
            wire::invalidation received;
            if (!decode(body, received, sound)) return std::nullopt;
            sound = has_reached(received.grant);
            if (sound) objects.on_copy_dropped(received, h.from);
            return std::nullopt;
        }
        case wire::message_type::owner_update: {
            wire::owner_update received;
            if (!decode(body, received, sound)) return std::nullopt;
            sound = received.owner < nodes && has_reached(received.version);
            if (!sound) return std::nullopt;
            if (received.owner == self && home_of(received.id, nodes) == self)
                objects.adopt_erased(received.id, received.version, h.from);
            else objects.set_pointer(received.id, received.owner, received.version);
            return std::nullopt;
        }
        case wire::message_type::claim: {
            wire::claim asked;
            if (!decode(body, asked, sound)) return std::nullopt;
            sound = is_of_sender(asked.who, h) && is_of_sender(asked.root_execution, h) && has_reached(asked.age);
            if (!sound) return std::nullopt;
            return answer{wire::message_type::claim_reply, wire::encode(locks.claim(asked))};
        }
        case wire::message_type::release: {
            wire::release received;
            if (!decode(body, received, sound)) return std::nullopt;
            sound = is_of_sender(received.who, h);
            if (!sound) return std::nullopt;
            locks.release(received.who);
            reserved_objects.release(received.who);
            return std::nullopt;
        }
        case wire::message_type::heartbeat: sound = body.empty(); return std::nullopt;
        default: sound = false; return std::nullopt;
    }
}

}  // namespace tutti::cluster
