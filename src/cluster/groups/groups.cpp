// The public interface to groups that together keep the objects of a prefix.
#include "tutti/cluster/groups.hpp"

#include "cluster/backend/engine_settings.hpp"
#include "cluster/backend/rebalancer.hpp"
#include "tutti/cluster/errors.hpp"

namespace tutti::cluster {
namespace {

groups_status status_of(const backend::rebalancer::progress& from) {
    groups_status all;
    for (const backend::rebalancer::slot_owner& g : from.groups) {
        groups_status::group& one = all.groups.emplace_back();
        one.number = g.group.number;
        one.slots = g.slots;
        one.has_left = g.group.left;
        for (const std::string& a : g.group.addresses) one.addresses += (one.addresses.empty() ? "" : ",") + a;
    }
    all.slots = from.slots;
    all.moved = from.moved;
    all.copied = from.copied;
    all.bytes = from.bytes;
    return all;
}

template <class Deed>
groups_status carry_out(const engine_options& where, Deed&& deed) {
    try {
        backend::rebalancer groups{where.address, settings_of(where)};
        return status_of(deed(groups));
    } catch (const backend::engine_error& r) {
        throw connection_error{std::string{"tutti: "} + r.what()};
    }
}

}  // namespace

groups_status query_groups(const engine_options& where) {
    return carry_out(where, [](backend::rebalancer& groups) { return groups.read_progress(); });
}

groups_status rebalance(const engine_options& where, const rebalance_request& what,
                        const std::function<void(const groups_status&)>& report) {
    return carry_out(where, [&](backend::rebalancer& groups) {
        return groups.rebalance(what.add, what.remove, [&](const backend::rebalancer::progress& now) {
            if (report) report(status_of(now));
        });
    });
}

}  // namespace tutti::cluster
