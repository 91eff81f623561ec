#include "cluster/observe/metrics.hpp"

#include "exposition/families.hpp"
#include "exposition/process.hpp"
#include "wire/address.hpp"

namespace tutti::cluster {
namespace {

using exposition::family;
using exposition::metric;
using exposition::single;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr MetricType counter = MetricType::Counter;
constexpr MetricType gauge = MetricType::Gauge;

std::string metric_name(const char* figure, MetricType of) {
    return std::string{"tutti_cluster_"} + figure + (of == counter ? "_total" : "");
}

constexpr double seconds(std::uint64_t ms) { return static_cast<double>(ms) / 1000; }

// Counters of events that have not happened yet are exported as zero, so that Prometheus can compute rates from the
// start.
std::vector<MetricFamily> families_of(const node_status& f) {
    std::vector<MetricFamily> all;
#define TUTTI_CLUSTER_COUNTER(name, kind, what) \
    all.push_back(single(metric_name(#name, kind), what, kind, static_cast<double>(f.name)));
    TUTTI_CLUSTER_COUNTERS(TUTTI_CLUSTER_COUNTER)
#undef TUTTI_CLUSTER_COUNTER
    all.push_back(single("tutti_cluster_uptime_seconds", "Since the node began", gauge, seconds(f.uptime_ms)));
    MetricFamily aborts = family("tutti_cluster_rolled_back_total",
                                 "Attempts of blocks that had used objects and were rolled back", counter);
    for (std::size_t i = 0; i < rollback_reasons; ++i) {
        aborts.metric.push_back(metric({{"reason", std::string{name_of(static_cast<rollback_reason>(i))}}},
                                       static_cast<double>(f.rolled_back[i]), counter));
    }
    all.push_back(std::move(aborts));
    MetricFamily connected = family("tutti_cluster_peer_connected", "1 while the other node is connected", gauge);
    MetricFamily silent =
        family("tutti_cluster_peer_silent_seconds",
               "How long the other node has sent nothing, in steps of a heartbeat; or how long it is lost", gauge);
    for (std::size_t i = 0; i < f.peers.size(); ++i) {
        const peer_status& p = f.peers[i];
        if (p.state == peer_state::self) continue;
        const std::string number = std::to_string(i);
        connected.metric.push_back(metric({{"node", number}}, p.state == peer_state::connected ? 1 : 0, gauge));
        silent.metric.push_back(metric({{"node", number}}, seconds(p.silent_ms), gauge));
    }
    if (!connected.metric.empty()) {
        all.push_back(std::move(connected));
        all.push_back(std::move(silent));
    }
    return all;
}

std::vector<MetricFamily> families_of(const member_status& f) {
    std::vector<MetricFamily> all;
    const auto add = [&all](const char* name, const char* what, MetricType is, std::uint64_t value) {
        const std::string ending = is == counter ? "_total" : "";
        all.push_back(single(std::string{"tutti_member_"} + name + ending, what, is, static_cast<double>(value)));
    };
    add("is_leader", "1 while this member leads its group", gauge, f.state == "leader" ? 1 : 0);
    add("is_follower", "1 while this member follows a leader that it knows", gauge,
        f.state == "follower" && f.error.empty() ? 1 : 0);
    add("is_voter", "1 while this member has a vote in its group", gauge, f.votes ? 1 : 0);
    add("term", "The term that this member knows of; it grows with each election", gauge, f.term);
    add("last_index", "The last entry of its log", gauge, f.last_index);
    add("applied_index", "The last entry whose effect its objects show", gauge, f.applied_index);
    add("version", "Of the last commit that it has applied", gauge, f.version);
    add("objects", "Objects that exist", gauge, f.objects);
    add("object_bytes", "Bytes of these", gauge, f.bytes);
    add("connections", "Programs that are connected to it", gauge, f.connections);
    add("prepared", "Transactions of several groups that wait here for their decision", gauge, f.prepared);
    add("connections_rejected", "Connections that it has refused", counter, f.connections_rejected);
    return all;
}

template <class Facts>
std::unique_ptr<exposition::web_server> expose_status(const std::string& address, std::function<Facts()> read_status,
                                                      const char* part) {
    const asio::ip::tcp::endpoint at = wire::parse_tcp(address, true);
    if (!at.address().is_loopback()) {
        throw wire::wire_error{"metrics on '" + address +
                               "': they are neither encrypted nor protected, so give a host of loopback, such as "
                               "127.0.0.1, and bring it to other machines by a tunnel or a proxy that are"};
    }
    const auto show = [read_status = std::move(read_status), part] {
        std::vector<MetricFamily> all = families_of(read_status());
        exposition::add_process(all, TUTTI_CLUSTER_VERSION, part);
        return exposition::page_of(all);
    };
    return std::make_unique<exposition::web_server>(at.address().to_string(), at.port(),
                                                    exposition::web_server::pages{{"/metrics", show}});
}

}  // namespace

std::unique_ptr<exposition::web_server> expose(const std::string& address, std::function<node_status()> read_status) {
    return expose_status(address, std::move(read_status), "node");
}

std::unique_ptr<exposition::web_server> expose_member(const std::string& address,
                                                      std::function<member_status()> read_status) {
    return expose_status(address, std::move(read_status), "member");
}

}  // namespace tutti::cluster
