#include "cluster/protocol/site.hpp"

#include <algorithm>
#include <new>

#include "wire/bytes.hpp"

namespace tutti::cluster {
namespace {

/// The largest lead of another node's clock. Clocks count commits, so a larger lead within one beat means that the
/// node's clock is invalid.
constexpr std::uint64_t most_ahead = std::uint64_t{1} << 32;
/// Bytes that a view takes in an answer beside its value, and that an answer takes beside its views.
constexpr std::size_t frame_of_view = 25, frame_of_answer = 4;

template <class T>
bool take(std::string_view body, T& message, bool& sound) {
    sound = wire::decode(body, message);
    return sound;
}

}  // namespace

bool site::hear(const wire::header& h) noexcept {
    if (h.clock > clock.now() + most_ahead) return false;
    clock.raise_to(h.clock);  // rule C
    readers.hear(h.from, h.oldest);
    return true;
}

void site::remember_owners(node_number home) noexcept try {
    for (const wire::owner_update& p : cache.owners()) {
        if (home_of(p.id, nodes) == home) objects.point(p.id, p.owner, p.version);
    }
} catch (const std::bad_alloc&) {
    return;  // the object is unreachable then, as without a copy
}

std::size_t site::most_asked() const noexcept {
    // Most of an answer is reserved for values.
    return std::clamp<std::size_t>(largest / (3 * frame_of_view), 1, wire::max_elements);
}

/// Shows as many objects as the answer has room for.
template <class Show>
wire::fetch_reply site::look(const std::vector<object_id>& ids, Show&& show) const {
    wire::fetch_reply found;
    found.objects.resize(ids.size());
    std::size_t size = frame_of_answer + frame_of_view * ids.size();
    bool given = false, full = false;
    wire::object_view* first_left = nullptr;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        wire::object_view& view = found.objects[i];
        if (!full) show(ids[i], view);
        if (!full && size + view.bytes.size() <= largest) {
            size += view.bytes.size();
            given = true;
            continue;
        }
        const bool alone = frame_of_answer + frame_of_view + view.bytes.size() > largest;
        full = full || (given && !alone);
        view = {};
        view.where = alone ? wire::lookup_result::too_large : wire::lookup_result::later;
        if (!alone && first_left == nullptr) first_left = &view;
    }
    // Asking again for the same objects would give the same answer.
    if (!given && first_left != nullptr) first_left->where = wire::lookup_result::too_large;
    return found;
}

std::optional<site::answer> site::serve(const wire::header& h, std::string_view body, bool& sound) {
    sound = true;
    switch (h.type) {
        case wire::message_type::fetch: {
            wire::fetch asked;
            if (!take(body, asked, sound)) return std::nullopt;
            sound = asked.at == wire::newest || has_been_said(asked.at);
            if (!sound) return std::nullopt;
            const bool may_share = asked.keeps && asked.at == wire::newest;
            const auto show = [&](const object_id& id, wire::object_view& view) {
                if (may_share) objects.look_to_share(id, view, h.from);
                else objects.look(id, view, asked.at);
                objects.explain(id, view);
            };
            return answer{wire::message_type::fetch_reply, wire::encode(look(asked.ids, show))};
        }
        case wire::message_type::reserve: {
            wire::reserve asked;
            if (!take(body, asked, sound)) return std::nullopt;
            sound = is_of(asked.who, h) && has_been_said(asked.as.age);
            if (!sound) return std::nullopt;
            const auto show = [&](const object_id& id, wire::object_view& view) {
                reserved.reserve(id, asked, view);
                objects.explain(id, view);
            };
            return answer{wire::message_type::fetch_reply, wire::encode(look(asked.ids, show))};
        }
        case wire::message_type::validate:
        case wire::message_type::watch: {
            wire::validate asked;
            if (!take(body, asked, sound)) return std::nullopt;
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
            if (!take(body, asked, sound)) return std::nullopt;
            sound = is_of(asked.who, h) && has_been_said(asked.as.age) && are_others(asked.others, h);
            if (!sound) return std::nullopt;
            return answer{wire::message_type::prepare_reply, wire::encode(votes.prepare(std::move(asked)))};
        }
        case wire::message_type::decide: {
            wire::decide told;
            if (!take(body, told, sound)) return std::nullopt;
            sound = is_of(told.who, h) && has_been_said(told.version);
            if (sound) votes.decide(told);
            return std::nullopt;
        }
        case wire::message_type::withdraw: {
            wire::withdraw asked;
            if (!take(body, asked, sound)) return std::nullopt;
            sound = is_of(asked.who, h);
            if (!sound) return std::nullopt;
            return answer{wire::message_type::prepare_reply, wire::encode(votes.withdraw(asked.who))};
        }
        case wire::message_type::fate_query: {
            wire::fate_query asked;
            if (!take(body, asked, sound)) return std::nullopt;
            sound = is_of_third(asked.who, h);
            if (sound) votes.inquire(asked.who, h.from);
            return std::nullopt;
        }
        case wire::message_type::fate_report: {
            wire::fate_report told;
            if (!take(body, told, sound)) return std::nullopt;
            sound = is_of_third(told.who, h) && has_been_said(told.version) &&
                    (told.version != 0 || told.fate != wire::transaction_fate::committed) &&
                    (told.version == 0 || told.fate != wire::transaction_fate::aborted);
            if (sound) votes.hear(told, h.from);
            return std::nullopt;
        }
        case wire::message_type::lost_node: {
            wire::lost_node told;
            if (!take(body, told, sound)) return std::nullopt;
            sound = is_third(told.node, h);
            if (sound) losses.hear(told, h.from);
            return std::nullopt;
        }
        case wire::message_type::invalidate: {
            wire::invalidation asked;
            if (!take(body, asked, sound)) return std::nullopt;
            const auto word = cache.invalidate(asked);
            if (!word) return std::nullopt;
            return answer{wire::message_type::invalidate_reply, wire::encode(*word)};
        }
        case wire::message_type::invalidate_reply: {
            wire::invalidation told;
            if (!take(body, told, sound)) return std::nullopt;
            sound = has_been_said(told.grant);
            if (sound) objects.take_copy_back(told, h.from);
            return std::nullopt;
        }
        case wire::message_type::owner_update: {
            wire::owner_update told;
            if (!take(body, told, sound)) return std::nullopt;
            sound = told.owner < nodes && has_been_said(told.version);
            if (!sound) return std::nullopt;
            if (told.owner == self && home_of(told.id, nodes) == self) objects.take_back(told.id, told.version, h.from);
            else objects.point(told.id, told.owner, told.version);
            return std::nullopt;
        }
        case wire::message_type::claim: {
            wire::claim asked;
            if (!take(body, asked, sound)) return std::nullopt;
            sound = is_of(asked.who, h) && is_of(asked.root_execution, h) && has_been_said(asked.age);
            if (!sound) return std::nullopt;
            return answer{wire::message_type::claim_reply, wire::encode(locks.claim(asked))};
        }
        case wire::message_type::release: {
            wire::release told;
            if (!take(body, told, sound)) return std::nullopt;
            sound = is_of(told.who, h);
            if (!sound) return std::nullopt;
            locks.release(told.who);
            reserved.release(told.who);
            return std::nullopt;
        }
        case wire::message_type::heartbeat: sound = body.empty(); return std::nullopt;
        default: sound = false; return std::nullopt;
    }
}

}  // namespace tutti::cluster
