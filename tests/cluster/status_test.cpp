// The operator's view of nodes that are processes: the status after known events, nodes that were killed or stopped,
// `tutti cluster`, and the metrics.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <tutti/cluster/timeline.hpp>

#include "cluster/processes.hpp"
#include "cluster/raw_peer.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using namespace tutti::cluster;
using namespace tutti::cluster::testing;

std::uint64_t rolled_back(const node_status& f, rollback_reason r) {
    return f.rolled_back[static_cast<std::size_t>(r)];
}

std::uint64_t ended(const node_status& f) {
    return std::accumulate(f.rolled_back.begin(), f.rolled_back.end(), f.commits);
}

TEST(cluster_status, counts_what_has_happened) {
    support::watchdog guard{"counts_what_has_happened"};
    process_cluster c{3};
    ASSERT_EQ(c.nodes[0]->ask("commit 100"), "done");
    ASSERT_EQ(c.nodes[1]->ask("commit 7"), "done");
    ASSERT_EQ(c.nodes[1]->ask("cancel 5"), "done");
    ASSERT_EQ(c.nodes[2]->ask("look 64"), "done");
    ASSERT_EQ(c.nodes[2]->ask("doze"), "done");
    ASSERT_EQ(c.nodes[2]->ask("doze"), "done");
    const auto all = c.ask();
    ASSERT_EQ(all.size(), 3u);
    std::uint64_t objects = 0, sent = 0, received = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_TRUE(all[i].status) << all[i].error;
        const node_status& f = *all[i].status;
        EXPECT_EQ(f.number, i);
        EXPECT_EQ(f.nodes, 3);
        EXPECT_FALSE(f.release.empty());
        EXPECT_GT(f.uptime_ms, 0u);
        EXPECT_EQ(f.failure_timeout_ms, 30'000u);
        EXPECT_EQ(f.attempts, ended(f)) << i;
        EXPECT_EQ(f.observers, 1u);
        EXPECT_EQ(std::ranges::count(f.peers, peer_state::connected, &peer_status::state), 2) << i;
        EXPECT_GE(f.clock, f.snapshot_low_watermark);
        objects += f.objects;
        sent += f.messages_sent;
        received += f.messages_received;
    }
    EXPECT_EQ(all[0].status->commits, 100u);
    EXPECT_EQ(all[1].status->commits, 7u);
    EXPECT_EQ(rolled_back(*all[1].status, rollback_reason::other), 5u);
    EXPECT_EQ(all[2].status->commits, 64u);
    EXPECT_EQ(objects, 2u) << "two counters, wherever their homes are";
    EXPECT_GT(all[2].status->round_trips, 0u);
    EXPECT_EQ(all[2].status->retry_waiters, 2u);
    EXPECT_EQ(all[0].status->retry_waiters, 0u);
    EXPECT_GE(std::max({all[0].status->clock, all[1].status->clock, all[2].status->clock}), 100u);
    EXPECT_GT(sent, 64u);
    EXPECT_GT(received, 64u);
}

// Every message that one node reports as sent has arrived at the other. Within ten minutes no heartbeat is on its way.
TEST(cluster_status, counts_what_is_received) {
    support::watchdog guard{"counts_what_is_received"};
    process_cluster c{2, 600'000};
    ASSERT_EQ(c.nodes[0]->ask("look 50"), "done");
    const auto all = c.ask();
    ASSERT_TRUE(all[0].status && all[1].status);
    EXPECT_EQ(all[1].status->messages_received, all[0].status->messages_sent);
    EXPECT_EQ(all[1].status->bytes_received, all[0].status->bytes_sent);
    EXPECT_EQ(all[0].status->messages_received, all[1].status->messages_sent);
    EXPECT_EQ(all[0].status->bytes_received, all[1].status->bytes_sent);
    EXPECT_GT(all[0].status->messages_received, 0u);
}

TEST(cluster_status, names_a_killed_node) {
    support::watchdog guard{"names_a_killed_node"};
    process_cluster c{2};
    c.nodes[1]->end(SIGKILL);
    ASSERT_EQ(c.nodes[0]->ask("look 64"), "lost");
    const auto all = c.ask();
    ASSERT_TRUE(all[0].status) << all[0].error;
    EXPECT_EQ(all[0].status->peers[1].state, peer_state::lost);
    EXPECT_GT(rolled_back(*all[0].status, rollback_reason::node_lost) +
                  rolled_back(*all[0].status, rollback_reason::outcome_unknown),
              0u);
    EXPECT_EQ(all[0].status->attempts, ended(*all[0].status));
    EXPECT_FALSE(all[1].status);
    EXPECT_NE(all[1].error.find("cannot be reached"), std::string::npos) << all[1].error;
}

// Catches a status request that waits for a stopped node whose connections the kernel still accepts. Catches a node
// that does not report how long a peer has been silent.
TEST(cluster_status, reports_a_stopped_node_in_time) {
    support::watchdog guard{"reports_a_stopped_node_in_time"};
    process_cluster c{2};
    c.nodes[1]->stop();
    // On a busy machine this process may not have connected yet, and asks again.
    std::vector<node_reply> all;
    do all = c.ask(std::chrono::milliseconds{500});
    while (all[1].error.find("does not accept") != std::string::npos);
    EXPECT_FALSE(all[1].status);
    EXPECT_NE(all[1].error.find("it is stopped"), std::string::npos) << all[1].error;
    // A heartbeat is an eighth of 30 s, so the node is not lost yet. A busy machine may need several requests.
    auto now = c.ask(std::chrono::milliseconds{500});
    while (!now[0].status) now = c.ask(std::chrono::milliseconds{500});
    EXPECT_EQ(now[0].status->peers[1].state, peer_state::connected);
    c.nodes[1]->go_on();
    const auto later = c.ask();
    EXPECT_TRUE(later[1].status) << later[1].error;
}

TEST(cluster_status, shows_the_silence_of_a_node) {
    support::watchdog guard{"shows_the_silence_of_a_node"};
    constexpr std::uint64_t failure_timeout_ms = 8000;
    process_cluster c{2, failure_timeout_ms};
    c.nodes[1]->stop();
    // A healthy node sends something in each heartbeat. The test has six seconds to see the silence.
    peer_status seen{.state = peer_state::connected, .silent_ms = 0};
    while (seen.state == peer_state::connected && seen.silent_ms < failure_timeout_ms / 4) {
        const auto all = c.ask(std::chrono::milliseconds{300});
        if (all[0].status) seen = all[0].status->peers[1];
    }
    EXPECT_EQ(seen.state, peer_state::connected);
}

// Catches times on two different axes, and attempts whose names differ on the serving node. Catches a wait that is
// charged to the wrong node, and a request that is charged to another running block.
TEST(cluster_timeline, shows_a_block_on_both_nodes) {
    support::watchdog guard{"shows_a_block_on_both_nodes"};
    process_cluster c{2};
    ASSERT_EQ(c.nodes[0]->ask("storm"), "done");
    std::size_t commits = 0;
    while (commits == 0) {  // a busy machine may run none in so short a time
        const auto all = record_nodes({.addresses = c.addresses, .timeout = std::chrono::seconds{20}},
                                      std::chrono::milliseconds{50});
        ASSERT_EQ(all[0].error + all[1].error, "");
        const auto error = (all[0].clock_error + all[1].clock_error).count();
        std::map<std::uint64_t, timeline_event> served, runs;
        for (const timeline_event& e : all[1].events) {
            ASSERT_EQ(e.role, timeline_role::serves) << "node 1 runs nothing";
            if (e.question != 0) served.emplace(e.question, e);
        }
        for (const timeline_event& e : all[0].events) {
            if (e.role == timeline_role::runs) runs.emplace(e.sequence, e);
        }
        for (const timeline_event& e : all[0].events) {
            EXPECT_GE(e.took_ns, 0);
            if (e.role == timeline_role::runs) continue;
            EXPECT_EQ(e.node, 1);
            const auto within = runs.find(e.sequence);
            if (within != runs.end()) {
                EXPECT_GE(e.began_ns, within->second.began_ns);
                // A request that was sent ahead may be answered after the block has ended, because the block does not
                // wait for the answer.
                if (e.role == timeline_role::waits) {
                    EXPECT_LE(e.began_ns + e.took_ns, within->second.began_ns + within->second.took_ns);
                }
            }
            if (e.role != timeline_role::asks || !served.contains(e.question)) continue;
            const timeline_event& there = served.at(e.question);
            EXPECT_EQ(there.operation, e.operation);
            EXPECT_EQ(there.node, 0);
            EXPECT_EQ(there.sequence, e.sequence);
            EXPECT_EQ(there.thread, e.thread);
            EXPECT_GE(there.began_ns + error, e.began_ns);
            EXPECT_LE(there.began_ns + there.took_ns, e.began_ns + e.took_ns + error);
            if (e.operation == timeline_operation::commit && e.outcome == timeline_outcome::done) ++commits;
        }
    }
}

/// A node of a one-node cluster whose clock is half an hour ahead and a little fast. The node answers an observer and
/// records one event.
class clocked_node {
public:
    explicit clocked_node(const node_options& how) {
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        how.addresses[0].copy(at.sun_path, sizeof at.sun_path - 1, 5);
        EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
        EXPECT_EQ(::listen(listener_, 1), 0);
        thread_ = std::thread{[this, how] { serve(raw_peer{::accept(listener_, nullptr, nullptr)}, how); }};
    }
    ~clocked_node() {
        thread_.join();
        ::close(listener_);
    }
    clocked_node(const clocked_node&) = delete;
    clocked_node& operator=(const clocked_node&) = delete;
    /// Time of the event by the true clock; 0: the node was not asked to record.
    std::atomic<std::int64_t> happened{0};

private:
    static std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
    [[nodiscard]] std::int64_t wrong(std::int64_t t) const { return t + 1'800'000'000'000 + (t - began_) / 100; }
    void serve(raw_peer to, const node_options& how) {
        wire::header h;
        std::string body;
        to.receive(h, body);
        to.send_hello(how, 0);
        while (to.receive(h, body)) {
            wire::timeline asked;
            EXPECT_TRUE(wire::decode(body, asked));
            wire::timeline_reply told;
            if (asked.order == wire::timeline_order::start) happened = now();
            if (asked.order == wire::timeline_order::take) {
                told.events.emplace_back();
                told.events.back().began_ns = wrong(happened);
            }
            told.now_ns = wrong(now());
            to.send({.type = wire::message_type::timeline_reply, .from = 0}, wire::encode(told));
        }
    }

    const int listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const std::int64_t began_ = now();
    std::thread thread_;
};

// Catches clocks that are not compared, or compared only once, and a reported error that is too small.
TEST(cluster_timeline, aligns_differing_clocks) {
    support::watchdog guard{"aligns_differing_clocks"};
    const node_options how{.addresses = some_addresses(1)};
    std::int64_t happened = 0;
    std::vector<node_timeline> all;
    {
        clocked_node one{how};
        all = record_nodes({.addresses = how.addresses, .timeout = std::chrono::seconds{20}},
                           std::chrono::milliseconds{100});
        happened = one.happened;
    }
    ::unlink(how.addresses[0].c_str() + 5);
    ASSERT_EQ(all[0].error, "");
    ASSERT_EQ(all[0].events.size(), 1u);
    const std::int64_t error = all[0].clock_error.count();
    EXPECT_LE(std::abs(all[0].events[0].began_ns - happened), error + error / 50 + 1000) << "it drifts as it answers";
}

TEST(cluster_command, shows_the_timeline_of_nodes) {
    support::watchdog guard{"shows_the_timeline_of_nodes"};
    process_cluster c{2};
    ASSERT_EQ(c.nodes[0]->ask("storm"), "done");
    ASSERT_EQ(c.nodes[1]->ask("storm"), "done");
    const std::string file = ::testing::TempDir() + "tutti-timeline-" + std::to_string(::getpid()) + ".json";
    const std::string command = TUTTI_COMMAND " cluster timeline --duration 0.2 --nodes " + c.addresses[0] + "," +
                                c.addresses[1] + " --output ";
    const command_result both = run_command(command + file + " --timeout 20");
    EXPECT_EQ(both.status, 0) << both.output;
    EXPECT_NE(both.output.find("waits for"), std::string::npos) << both.output;
    // Two slices of one track either do not overlap or are nested, and every arrow has two ends.
    const command_result checked = run_command("python3 - " + file + R"( <<'PYTHON'
import collections, json, sys
events = json.load(open(sys.argv[1], encoding="utf-8"))["traceEvents"]
tracks, ends = collections.defaultdict(list), collections.Counter()
for e in events:
    if e["ph"] == "X": tracks[e["pid"], e["tid"]].append((e["ts"], -e["dur"]))
    if e["ph"] in "sf": ends[e["id"], e["ph"]] += 1
assert {p for p, _ in tracks} == {1, 2}, tracks.keys()
for slices in tracks.values():
    open_until = []
    for ts, dur in sorted(slices):
        while open_until and open_until[-1] <= ts + 0.0015: open_until.pop()
        assert not open_until or ts - dur <= open_until[-1] + 0.0015, slices
        open_until.append(ts - dur)
assert ends and set(ends.values()) == {1} and len(ends) % 2 == 0, ends
assert any(e["name"].startswith("commit: waits for node") for e in events)
PYTHON
)");
    EXPECT_EQ(checked.status, 0) << checked.output;
    c.nodes[1]->end(SIGKILL);
    const command_result one = run_command(command + file);
    ::unlink(file.c_str());
    EXPECT_EQ(one.status, 1) << one.output;
    EXPECT_NE(one.output.find("cannot be reached"), std::string::npos) << one.output;
    const command_result nowhere = run_command(command + "/nonexistent/file");
    EXPECT_EQ(nowhere.status, 1) << nowhere.output;
    EXPECT_NE(nowhere.output.find("/nonexistent/file cannot be written"), std::string::npos) << nowhere.output;
}

TEST(cluster_command, shows_a_row_for_each_node) {
    support::watchdog guard{"shows_a_row_for_each_node"};
    process_cluster c{2};
    ASSERT_EQ(c.nodes[0]->ask("commit 12"), "done");
    ASSERT_EQ(c.nodes[0]->ask("cancel 3"), "done");
    const std::string nodes = " --timeout 20 --nodes " + c.addresses[0] + "," + c.addresses[1];
    const std::string command = TUTTI_COMMAND " cluster ";
    const command_result plain = run_command(command + "status" + nodes);
    EXPECT_EQ(plain.status, 0) << plain.output;
    EXPECT_NE(plain.output.find(c.addresses[1]), std::string::npos) << plain.output;
    EXPECT_NE(plain.output.find("node 0 rolled back: other 3"), std::string::npos) << plain.output;
    const command_result json = run_command(command + "status --json" + nodes);
    EXPECT_EQ(json.status, 0) << json.output;
    EXPECT_NE(json.output.find("\"commits\": 12"), std::string::npos) << json.output;
    EXPECT_NE(json.output.find("\"state\": \"connected\""), std::string::npos) << json.output;
    const command_result by_environment =
        run_command("TUTTI_CLUSTER_NODES=" + c.addresses[0] + "," + c.addresses[1] + " " + command + "status");
    EXPECT_NE(by_environment.output.find(c.addresses[1]), std::string::npos) << by_environment.output;
    const std::string file = ::testing::TempDir() + "tutti-status-" + std::to_string(::getpid()) + ".toml";
    std::ofstream{file} << "cluster = \"tutti\"\nnodes = [\"" << c.addresses[0] << "\", \"" << c.addresses[1]
                        << "\"]\n";
    const command_result by_file = run_command(command + "status --timeout 20 --config " + file);
    ::unlink(file.c_str());
    EXPECT_EQ(by_file.status, 0) << by_file.output;
    const command_result top = run_command(command + "top --count 2 --interval 0.1" + nodes);
    EXPECT_EQ(top.status, 0) << top.output;
    EXPECT_NE(top.output.find("commits/s"), std::string::npos) << top.output;
    EXPECT_NE(top.output.find("\n all"), std::string::npos) << top.output;
    c.nodes[1]->end(SIGKILL);
    const command_result after = run_command(command + "status" + nodes);
    EXPECT_EQ(after.status, 1) << after.output;
    EXPECT_NE(after.output.find("cannot be reached"), std::string::npos) << after.output;
    const command_result top_after = run_command(command + "top --count 1 --interval 0.1" + nodes);
    EXPECT_NE(top_after.output.find("cannot be reached"), std::string::npos) << top_after.output;
}

std::string page_of(const std::string& port) {
    const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoul(port)));
    EXPECT_EQ(::connect(s, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    const std::string ask = "GET /metrics HTTP/1.0\r\n\r\n";
    EXPECT_EQ(::send(s, ask.data(), ask.size(), MSG_NOSIGNAL), static_cast<ssize_t>(ask.size()));
    std::string page;
    char some[4096];
    for (ssize_t n = 0; (n = ::recv(s, some, sizeof some, 0)) > 0;) page.append(some, static_cast<std::size_t>(n));
    ::close(s);
    return page;
}

TEST(cluster_metrics, match_the_status) {
    support::watchdog guard{"match_the_status"};
    process_cluster c{2, 30'000, "127.0.0.1:0"};
    ASSERT_EQ(c.nodes[0]->ask("commit 12"), "done");
    ASSERT_EQ(c.nodes[0]->ask("cancel 3"), "done");
    const std::string page = page_of(c.ready[0].substr(6));
    const auto has = [&page](const std::string& line) { return page.find('\n' + line) != std::string::npos; };
    EXPECT_TRUE(has("tutti_cluster_commits_total 12\n")) << page;
    EXPECT_TRUE(has("tutti_cluster_attempts_total 15\n"));
    EXPECT_TRUE(has("# TYPE tutti_cluster_attempts_total counter\n"));
    EXPECT_TRUE(has("# TYPE tutti_cluster_objects gauge\n"));
    EXPECT_TRUE(has("tutti_cluster_rolled_back_total{reason=\"other\"} 3\n"));
    EXPECT_TRUE(has("tutti_cluster_rolled_back_total{reason=\"prepare_refused\"} 0\n"))
        << "also what has not happened yet";
    EXPECT_TRUE(has("tutti_cluster_observers_disconnected_total 0\n"));
    EXPECT_TRUE(has("tutti_cluster_peer_connected{node=\"1\"} 1\n"));
    EXPECT_TRUE(has("tutti_cluster_peer_silent_seconds{node=\"1\"}"));
    EXPECT_TRUE(has("process_cpu_seconds_total "));
    EXPECT_TRUE(has("process_open_fds "));
    EXPECT_TRUE(has("tutti_build_info{version=\""));
#define TUTTI_CLUSTER_COUNTER(name, kind, what) EXPECT_NE(page.find("# HELP tutti_cluster_" #name), std::string::npos);
    TUTTI_CLUSTER_COUNTERS(TUTTI_CLUSTER_COUNTER)
#undef TUTTI_CLUSTER_COUNTER
}

}  // namespace
