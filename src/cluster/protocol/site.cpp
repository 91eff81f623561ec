#include "cluster/protocol/site.hpp"

#include <algorithm>

#include "wire/bytes.hpp"

namespace tutti::cluster {
namespace {

template <class T>
bool take(std::string_view body, T& message, bool& sound) {
    sound = wire::decode(body, message);
    return sound;
}

}  // namespace

std::optional<site::answer> site::serve(wire::kind kind, node_number from, std::string_view body, bool& sound) {
    sound = true;
    switch (kind) {
        case wire::kind::fetch: {
            wire::fetch asked;
            if (!take(body, asked, sound)) return std::nullopt;
            wire::fetched found;
            found.objects.resize(asked.ids.size());
            for (std::size_t i = 0; i < asked.ids.size(); ++i) objects.look(asked.ids[i], found.objects[i], asked.at);
            return answer{wire::kind::fetched, wire::encode(found)};
        }
        case wire::kind::validate: {
            wire::validate asked;
            if (!take(body, asked, sound)) return std::nullopt;
            wire::answered all{.yes = true};
            for (const wire::read_item& r : asked.reads) all.yes = all.yes && objects.is_current(r.id, r.version);
            return answer{wire::kind::answered, wire::encode(all)};
        }
        case wire::kind::watch: {
            wire::validate asked;
            if (!take(body, asked, sound)) return std::nullopt;
            wire::answered all{.yes = true};
            for (const wire::read_item& r : asked.reads) all.yes = all.yes && objects.watch(r.id, r.version, from);
            return answer{wire::kind::answered, wire::encode(all)};
        }
        case wire::kind::prepare: {
            wire::prepare asked;
            if (!take(body, asked, sound)) return std::nullopt;
            return answer{wire::kind::answered, wire::encode(votes.prepare(std::move(asked)))};
        }
        case wire::kind::decide: {
            wire::decide told;
            if (take(body, told, sound)) votes.decide(told);
            return std::nullopt;
        }
        case wire::kind::place: {
            wire::place told;
            if (take(body, told, sound)) objects.point(told.id, told.owner, told.version);
            return std::nullopt;
        }
        case wire::kind::beat: sound = body.empty(); return std::nullopt;
        default: sound = false; return std::nullopt;
    }
}

}  // namespace tutti::cluster
