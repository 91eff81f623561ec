#include "cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cluster_timeline.hpp"
#include "node_configuration.hpp"
#include "refresh.hpp"
#include "write_file.hpp"

namespace tutti::tools {
namespace {

using cluster::node_reply;
using cluster::node_status;
using cluster::peer_state;
using cluster::peer_status;
using cluster::rollback_reason;
using answers = std::vector<node_reply>;

std::uint64_t rolled_back(const node_status& f) {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : f.rolled_back) sum += count;
    return sum;
}

std::string duration_text(std::uint64_t ms) {
    const std::uint64_t s = ms / 1000;
    if (s < 60) return fmt::format("{:.1f} s", static_cast<double>(ms) / 1000);
    if (s < 3600) return fmt::format("{}:{:02} min", s / 60, s % 60);
    return fmt::format("{}:{:02} h", s / 3600, s / 60 % 60);
}

/// Describes the state of the other nodes according to this node: `all` if all are connected, or the number of nodes in
/// each bad state.
std::string peers_text(const node_status& f) {
    const auto count = [&f](peer_state s) { return std::ranges::count(f.peers, s, &peer_status::state); };
    std::string text;
    if (const auto n = count(peer_state::lost)) text += fmt::format("{} lost", n);
    if (const auto n = count(peer_state::connecting))
        text += fmt::format("{}{} connecting", text.empty() ? "" : ", ", n);
    return text.empty() ? "all" : text;
}

/// The first columns of each row: number and address of the node. All addresses have the width of the longest address,
/// or of the heading.
class row_prefixes {
public:
    explicit row_prefixes(const answers& of) : of_{of} {
        for (const node_reply& a : of) width_ = std::max(width_, a.address.size());
    }
    [[nodiscard]] std::string heading() const { return fmt::format("{:>4}  {:<{}}", "node", "address", width_); }
    [[nodiscard]] std::string of(std::size_t number) const {
        return fmt::format("{:>4}  {:<{}}", number, of_[number].address, width_);
    }
    [[nodiscard]] std::string sum() const { return fmt::format("{:>4}  {:<{}}", "all", "", width_); }

private:
    const answers& of_;
    std::size_t width_ = 20;
};

/// Returns the reasons for the roll-backs of each node. Nodes without roll-backs are omitted.
std::string reasons_of(const answers& of) {
    std::string text;
    for (std::size_t i = 0; i < of.size(); ++i) {
        if (!of[i].status || rolled_back(*of[i].status) == 0) continue;
        text += fmt::format("node {} rolled back:", i);
        for (std::size_t r = 0; r < cluster::rollback_reasons; ++r) {
            const std::uint64_t count = of[i].status->rolled_back[r];
            if (count != 0) text += fmt::format(" {} {}", name_of(static_cast<rollback_reason>(r)), count);
        }
        text += '\n';
    }
    return text;
}

/// Describes the contention at each node. Nodes without contention are omitted.
std::string contention_of(const answers& of) {
    std::string text;
    for (std::size_t i = 0; i < of.size(); ++i) {
        if (!of[i].status) continue;
        const node_status& f = *of[i].status;
        if (f.conflict_waits + f.reserving_attempts + f.locks_refused + f.reservations_lost == 0) continue;
        text += fmt::format("node {} in conflicts: waits {}, reserving {}, locks refused {}, reservations lost {}\n", i,
                            f.conflict_waits, f.reserving_attempts, f.locks_refused, f.reservations_lost);
    }
    return text;
}

/// Describes the objects in doubt, which have been unreachable since a node was lost.
std::string doubts_of(const answers& of) {
    std::string text;
    for (std::size_t i = 0; i < of.size(); ++i) {
        if (!of[i].status || of[i].status->in_doubt == 0) continue;
        text += fmt::format("objects in doubt at node {} because a node was lost during a commit: {}\n", i,
                            of[i].status->in_doubt);
        if (of[i].status->transactions_in_doubt != 0)
            text += fmt::format("transactions in doubt at node {}: {}; see 'tutti cluster doubt list'\n", i,
                                of[i].status->transactions_in_doubt);
    }
    return text;
}

/// Describes which nodes receive nothing from which other nodes.
std::string silent_peers_of(const answers& of) {
    std::string text;
    for (std::size_t i = 0; i < of.size(); ++i) {
        if (!of[i].status) continue;
        const node_status& f = *of[i].status;
        for (std::size_t p = 0; p < f.peers.size(); ++p) {
            const peer_status& peer = f.peers[p];
            // Every node sends something eight times within `failure_timeout`, so silence for half of that time is
            // worth a line.
            if (peer.state == peer_state::connected && peer.silent_ms * 2 > f.failure_timeout_ms) {
                text += fmt::format(
                    "node {} has received nothing from node {} for {}; after {} it reports the node as lost\n", i, p,
                    duration_text(peer.silent_ms), duration_text(f.failure_timeout_ms));
            } else if (peer.state == peer_state::lost) {
                text += fmt::format("node {} has lost node {} {} ago\n", i, p, duration_text(peer.silent_ms));
            } else if (peer.state == peer_state::connecting) {
                text += fmt::format("node {} waits for node {} to connect\n", i, p);
            }
        }
    }
    return text;
}

bool all_answered(const answers& of) {
    return std::ranges::all_of(of, [](const node_reply& a) { return a.status.has_value(); });
}

/// Returns the earlier status to compare with, or null if there is no earlier status or if the node has restarted
/// meanwhile.
const node_status* earlier(const answers& before, std::size_t i, const node_status& now) {
    if (i >= before.size() || !before[i].status || before[i].status->uptime_ms > now.uptime_ms) return nullptr;
    return &*before[i].status;
}

constexpr const char* rates_row =
    " {:>10.0f} {:>10.0f} {:>10.0f} {:>10.0f} {:>10.0f} {:>10.0f} {:>12.0f} {:>10.0f} {:>12.0f}";

struct rates {
    double attempts = 0, commits = 0, rolled = 0, waits = 0, refused = 0, sent = 0, sent_bytes = 0, received = 0,
           received_bytes = 0;

    rates() = default;
    rates(const node_status& was, const node_status& is, double seconds) {
        const auto rate = [seconds](std::uint64_t a, std::uint64_t b) {
            return (static_cast<double>(b) - static_cast<double>(a)) / seconds;
        };
        attempts = rate(was.attempts, is.attempts);
        commits = rate(was.commits, is.commits);
        rolled = rate(rolled_back(was), rolled_back(is));
        waits = rate(was.conflict_waits, is.conflict_waits);
        refused = rate(was.locks_refused, is.locks_refused);
        sent = rate(was.messages_sent, is.messages_sent);
        sent_bytes = rate(was.bytes_sent, is.bytes_sent);
        received = rate(was.messages_received, is.messages_received);
        received_bytes = rate(was.bytes_received, is.bytes_received);
    }
    rates& operator+=(const rates& r) {
        attempts += r.attempts, commits += r.commits, rolled += r.rolled, waits += r.waits, refused += r.refused;
        sent += r.sent, sent_bytes += r.sent_bytes;
        received += r.received, received_bytes += r.received_bytes;
        return *this;
    }
    [[nodiscard]] std::string text() const {
        return fmt::format(rates_row, attempts, commits, rolled, waits, refused, sent, sent_bytes, received,
                           received_bytes);
    }
};

}  // namespace

/// The command line takes precedence over the environment, and the environment over the file.
cluster::observer_options nodes_of(const cluster_options& options) {
    cluster::observer_options whom = read_node_configuration([&options] {
        return options.file.empty() ? cluster::observer_options::from_environment()
                                    : cluster::observer_options::from_file(options.file);
    });
    if (options.cluster) whom.cluster = *options.cluster;
    if (!options.addresses.empty()) whom.addresses = options.addresses;
    whom.timeout = std::chrono::milliseconds{static_cast<long>(options.timeout * 1000)};
    if (whom.addresses.empty()) {
        throw cli::command_line_error{
            "no nodes given: give --nodes address,address,... or --config FILE, or set TUTTI_CLUSTER_NODES: all nodes, "
            "in the order of the nodes' own configuration"};
    }
    return whom;
}

std::string status_table(const answers& of) {
    const row_prefixes rows{of};
    std::string text =
        rows.heading() + fmt::format(" {:>10} {:>12} {:>12} {:>12} {:>10} {:>10} {:>8} {:>12} {:>12}  {}\n", "up",
                                     "attempts", "commits", "rolled back", "objects", "old values", "in retry", "sent",
                                     "received", "others");
    for (std::size_t i = 0; i < of.size(); ++i) {
        text += rows.of(i);
        if (!of[i].status) {
            text += fmt::format(" {}\n", of[i].error);
            continue;
        }
        const node_status& f = *of[i].status;
        text += fmt::format(" {:>10} {:>12} {:>12} {:>12} {:>10} {:>10} {:>8} {:>12} {:>12}  {}\n",
                            duration_text(f.uptime_ms), f.attempts, f.commits, rolled_back(f), f.objects,
                            f.old_versions, f.retry_waiters, f.messages_sent, f.messages_received, peers_text(f));
    }
    return text + reasons_of(of) + contention_of(of) + doubts_of(of) + silent_peers_of(of);
}

std::string cluster_rates(const answers& before, const answers& now, double seconds) {
    const row_prefixes rows{now};
    std::string text =
        rows.heading() + fmt::format(" {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>12} {:>10} {:>12} {:>8} {:>10}\n",
                                     "attempts/s", "commits/s", "rolled/s", "waits/s", "refused/s", "sent/s", "bytes/s",
                                     "received/s", "bytes/s", "in retry", "old values");
    rates all;
    for (std::size_t i = 0; i < now.size(); ++i) {
        text += rows.of(i);
        if (!now[i].status) {
            text += fmt::format(" {}\n", now[i].error);
            continue;
        }
        const node_status& f = *now[i].status;
        const node_status* const was = earlier(before, i, f);
        if (was == nullptr) {
            text += fmt::format(" started {} ago, or did not answer before\n", duration_text(f.uptime_ms));
            continue;
        }
        const rates r{*was, f, seconds};
        all += r;
        text += r.text() + fmt::format(" {:>8} {:>10}\n", f.retry_waiters, f.old_versions);
    }
    return text + rows.sum() + all.text() + '\n' + silent_peers_of(now);
}

int cluster_status(const cluster_options& options) {
    const cluster::observer_options whom = nodes_of(options);
    const answers all = cluster::query_nodes(whom);
    fmt::print("{}", options.json ? status_json(whom.cluster, all) : status_table(all));
    return all_answered(all) ? cli::success : cli::failed;
}

void cluster_top(const cluster_options& options) {
    const cluster::observer_options whom = nodes_of(options);
    refresh(options.schedule, [&] { return cluster::query_nodes(whom); }, cluster_rates);
}

int cluster_timeline(const cluster_options& options) {
    const cluster::observer_options whom = nodes_of(options);
    const auto how_long = std::chrono::milliseconds{static_cast<long>(options.duration * 1000)};
    const std::vector<cluster::node_timeline> all = cluster::record_nodes(whom, how_long);
    fmt::print("{}", waits_table(all));
    if (std::ranges::all_of(all, [](const auto& n) { return !n.error.empty(); })) return cli::failed;
    write_file(options.output, trace_of(all));
    fmt::print("{}: open it in https://ui.perfetto.dev or chrome://tracing\n", options.output);
    return std::ranges::all_of(all, [](const auto& n) { return n.error.empty(); }) ? cli::success : cli::failed;
}

}  // namespace tutti::tools
