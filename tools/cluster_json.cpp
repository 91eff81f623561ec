#include <nlohmann/json.hpp>

#include "cluster.hpp"

namespace tutti::tools {
namespace {

using json = nlohmann::ordered_json;

json facts_of(const cluster::node_status& f) {
    json all{{"release", f.release}, {"uptime_ms", f.uptime_ms}, {"failure_timeout_ms", f.failure_timeout_ms}};
#define TUTTI_CLUSTER_COUNTER(name, kind, what) all[#name] = f.name;
    TUTTI_CLUSTER_COUNTERS(TUTTI_CLUSTER_COUNTER)
#undef TUTTI_CLUSTER_COUNTER
    json& rolled_back = all["rolled_back"];
    for (std::size_t r = 0; r < cluster::rollback_reasons; ++r)
        rolled_back[std::string{name_of(static_cast<cluster::rollback_reason>(r))}] = f.rolled_back[r];
    json& peers = all["peers"] = json::array();
    for (const cluster::peer_status& p : f.peers)
        peers.push_back({{"state", std::string{name_of(p.state)}}, {"silent_ms", p.silent_ms}});
    return all;
}

}  // namespace

std::string status_json(const std::string& cluster, const std::vector<cluster::node_reply>& of) {
    json all{{"cluster", cluster}, {"nodes", json::array()}};
    for (std::size_t i = 0; i < of.size(); ++i) {
        json node{{"node", i}, {"address", of[i].address}, {"answered", of[i].status.has_value()}};
        node["took_us"] = of[i].took.count();
        if (of[i].status) node.update(facts_of(*of[i].status));
        else node["error"] = of[i].error;
        all["nodes"].push_back(std::move(node));
    }
    // An address or a system message may contain bytes that are not UTF-8, which must not cause an error.
    return all.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

}  // namespace tutti::tools
