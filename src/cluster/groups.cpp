// The public interface to groups that together keep the objects of a prefix.
#include "tutti/cluster/groups.hpp"

#include "cluster/backend/evening.hpp"
#include "cluster/engine_settings.hpp"
#include "tutti/cluster/errors.hpp"

namespace tutti::cluster {
namespace {

groups_facts facts_of(const backend::evening::facts& from) {
    groups_facts all;
    for (const backend::evening::owner& g : from.groups) {
        groups_facts::one& one = all.groups.emplace_back();
        one.number = g.is.number;
        one.slots = g.slots;
        one.left = g.is.left;
        for (const std::string& a : g.is.addresses) one.addresses += (one.addresses.empty() ? "" : ",") + a;
    }
    all.slots = from.slots;
    all.moved = from.moved;
    all.copied = from.copied;
    all.bytes = from.bytes;
    return all;
}

template <class Deed>
groups_facts carry_out(const engine_options& where, Deed&& deed) {
    try {
        backend::evening groups{where.address, settings_of(where)};
        return facts_of(deed(groups));
    } catch (const backend::refusal& r) {
        throw connection_error{std::string{"tutti: "} + r.what()};
    }
}

}  // namespace

groups_facts ask_groups(const engine_options& where) {
    return carry_out(where, [](backend::evening& groups) { return groups.look(); });
}

groups_facts move_objects(const engine_options& where, const groups_change& what,
                          const std::function<void(const groups_facts&)>& tell) {
    return carry_out(where, [&](backend::evening& groups) {
        return groups.even_out(what.joins, what.leaves, [&](const backend::evening::facts& now) {
            if (tell) tell(facts_of(now));
        });
    });
}

}  // namespace tutti::cluster
