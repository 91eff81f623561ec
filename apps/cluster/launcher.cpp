#include "cluster/launcher.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/port.hpp"
#include "cluster/member.hpp"
#include "cluster/network_namespaces.hpp"

namespace cluster_app {
namespace {

using clock = std::chrono::steady_clock;

struct child {
    pid_t process = 0;
    int from = -1;  // pipe for its report
    int status = 0;
    clock::time_point ended{};
    bool reported = false;
    measured what;
};

child start(const program_options& how, const char* program, unsigned number,
            const std::vector<std::string>& addresses) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error{"no file descriptor is left"};
    constexpr int report_to = 3;
    std::vector<std::string> words{program,
                                   "--workload",
                                   how.workload,
                                   "--nodes",
                                   std::to_string(how.nodes),
                                   "--threads",
                                   std::to_string(how.threads),
                                   "--seconds",
                                   std::to_string(how.seconds),
                                   "--reads",
                                   std::to_string(how.reads),
                                   "--objects",
                                   std::to_string(how.objects),
                                   "--seed",
                                   std::to_string(how.seed),
                                   "--failure-timeout",
                                   std::to_string(how.failure_timeout),
                                   "--node-number",
                                   std::to_string(number),
                                   "--report-to",
                                   std::to_string(report_to)};
    if (how.moves) words.emplace_back("--move");
    const auto add = [&words](const char* name, const std::string& value) {
        words.emplace_back(name);
        words.push_back(value);
    };
    add("--inner", std::to_string(how.inner));
    add("--nesting", std::to_string(static_cast<unsigned>(how.nesting)));
    if (how.singly) words.emplace_back("--singly");
    add("--warehouses", std::to_string(how.warehouses));
    add("--shrink", std::to_string(how.shrink));
    if (how.engine.empty()) add("--cache", std::to_string(how.cache));
    if (how.engine.empty()) add("--transport", std::to_string(static_cast<unsigned>(how.transport)));
    if (!how.tls.empty()) add("--tls", how.tls);
    if (!how.engine.empty()) {
        add("--engine", how.engine);
        add("--prefix", how.prefix);
        add("--staleness", std::to_string(how.staleness));
        if (!how.certificate.empty()) add("--certificate", how.certificate);
        if (!how.key.empty()) add("--key", how.key);
        if (!how.authority.empty()) add("--authority", how.authority);
        add("--name", how.group_name);
    }
    for (const std::string& a : addresses) add("--address", a);
    std::vector<char*> arguments;
    for (std::string& w : words) arguments.push_back(w.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], report_to);
    child c;
    c.from = ends[0];
    const int failed = ::posix_spawn(&c.process, program, &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (failed != 0) throw std::runtime_error{fmt::format("{} cannot be started", program)};
    return c;
}

/// Waits until that node is under load or has failed; a failed node has printed the reason.
void await_load(const child& c) {
    char sign = 0;
    while (::read(c.from, &sign, 1) < 0 && errno == EINTR) continue;
}

void collect(child& c) {
    auto* to = reinterpret_cast<char*>(&c.what);
    std::size_t got = 0;
    while (got < sizeof c.what) {
        const ssize_t n = ::read(c.from, to + got, sizeof c.what - got);
        if (n <= 0) break;
        got += static_cast<std::size_t>(n);
    }
    c.reported = got == sizeof c.what;
    ::close(c.from);
    ::waitpid(c.process, &c.status, 0);
    c.ended = clock::now();
}

std::string what_runs(const program_options& how) {
    if (how.workload == "tpcc") return fmt::format("{} warehouses shrunk by {}", how.warehouses, how.shrink);
    return fmt::format("{} objects, {} % reads", how.objects, how.reads);
}

std::string where_it_runs(const program_options& how) {
    const std::string copies = how.staleness == 0 ? "" : fmt::format(", copies of at most {} ms ago", how.staleness);
    if (!how.engine.empty()) return fmt::format("in {} under the prefix {}{}", how.engine, how.prefix, copies);
    const bool zeromq = how.transport == transport::zeromq;
    const std::string_view transport_name = zeromq                            ? "ZeroMQ"
                                            : how.transport == transport::tcp ? "TCP"
                                                                              : "Unix sockets";
    return fmt::format("objects {}, {}{}{}", how.moves ? "move" : "stay", transport_name,
                       how.tls.empty() ? ""
                       : zeromq        ? " under CURVE"
                                       : " under TLS",
                       how.namespaces ? ", each node in a network namespace of its own" : "");
}

void print(const program_options& how, const std::vector<child>& nodes) {
    measured all;
    for (const child& c : nodes) {
        all.seconds = std::max(all.seconds, c.what.seconds);
        all.transactions += c.what.transactions;
        all.aborts += c.what.aborts;
        all.round_trips += c.what.round_trips;
        all.messages += c.what.messages;
        all.bytes += c.what.bytes;
        all.system_calls += c.what.system_calls;
        all.read_only_aborts += c.what.read_only_aborts;
        all.partial_rollbacks += c.what.partial_rollbacks;
        all.cached_reads += c.what.cached_reads;
        all.latency.merge(c.what.latency);
    }
    const auto each = [&all](std::uint64_t what) {
        return static_cast<double>(what) / static_cast<double>(std::max<std::uint64_t>(all.transactions, 1));
    };
    const auto us = [&all](double q) { return static_cast<double>(all.latency.percentile(q)) / 1000; };
    fmt::print("{}: {} nodes of {} threads, {}, {}\n", how.workload, how.nodes, how.threads, what_runs(how),
               where_it_runs(how));
    fmt::print("  transactions/s     {:>12.0f}\n", static_cast<double>(all.transactions) / all.seconds);
    fmt::print("  latency, us        {:>12.1f} median, {:.1f} of 99 %, {:.1f} of 99.9 %\n", us(0.5), us(0.99),
               us(0.999));
    fmt::print("  readers overtaken  {:>12}\n", all.read_only_aborts);
    fmt::print("  per transaction:\n");
    fmt::print("  aborted attempts   {:>12.4f}\n", each(all.aborts));
    fmt::print("  partial roll-backs {:>12.4f}\n", each(all.partial_rollbacks));
    fmt::print("  round trips        {:>12.3f}\n", each(all.round_trips));
    fmt::print("  reads in copies    {:>12.3f}\n", each(all.cached_reads));
    if (!how.engine.empty()) return;  // messages of the engine's own library are not counted
    fmt::print("  messages           {:>12.3f}\n", each(all.messages));
    fmt::print("  bytes              {:>12.1f}\n", each(all.bytes));
    fmt::print("  sends              {:>12.3f}\n", each(all.system_calls));
}

void sleep_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>{seconds}); }

/// Disconnects that node's network permanently half-way, and reports the reactions of all nodes.
int launch_and_cut(const program_options& how, network_namespaces& network, std::vector<child>& nodes) {
    sleep_for(how.seconds / 2);
    network.set_connected(static_cast<unsigned>(how.cut), false);
    const auto cut = clock::now();
    bool right = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        collect(nodes[i]);
        const double after = std::chrono::duration<double>{nodes[i].ended - cut}.count();
        fmt::print("node {} ended {:.3f} s after node {} was cut off, with status {}\n", i, after, how.cut,
                   WIFEXITED(nodes[i].status) ? WEXITSTATUS(nodes[i].status) : -1);
        right = right && WIFEXITED(nodes[i].status) && WEXITSTATUS(nodes[i].status) == cli::failed;
    }
    return right ? cli::success : cli::failed;
}

/// Kills or stops that node half-way, and reports the reactions of the other nodes.
int launch_and_kill(const program_options& how, std::vector<child>& nodes) {
    const auto victim = static_cast<std::size_t>(how.kill);
    sleep_for(how.seconds / 2);
    ::kill(nodes[victim].process, how.stop ? SIGSTOP : SIGKILL);
    const auto killed = clock::now();
    bool right = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (i == victim) continue;
        collect(nodes[i]);
        const double after = std::chrono::duration<double>{nodes[i].ended - killed}.count();
        fmt::print("node {} ended {:.3f} s after node {} was {}, with status {}\n", i, after, victim,
                   how.stop ? "stopped" : "killed", WIFEXITED(nodes[i].status) ? WEXITSTATUS(nodes[i].status) : -1);
        right = right && WIFEXITED(nodes[i].status) && WEXITSTATUS(nodes[i].status) == cli::failed;
    }
    ::kill(nodes[victim].process, SIGKILL);
    collect(nodes[victim]);
    return right ? cli::success : cli::failed;
}

}  // namespace

int launch(const program_options& given, const char* program) {
    program_options how = given;
    std::vector<std::string> addresses;
    std::optional<network_namespaces> network;
    if (!how.engine.empty()) {
        // A prefix for this run only: objects of an earlier run may still exist.
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        how.prefix =
            fmt::format("run-{:x}-{}", std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), ::getpid());
    } else if (how.namespaces) {
        network.emplace();
        for (unsigned i = 0; i < how.nodes; ++i) addresses.push_back(network_namespaces::address(i));
    } else if (how.transport == transport::unix_sockets) {
        for (unsigned i = 0; i < how.nodes; ++i)
            addresses.push_back(fmt::format("unix:/tmp/tutti-cluster-{}-{}", ::getpid(), i));
    } else {
        const std::string_view over = how.transport == transport::zeromq ? "zmq:" : "";
        for (unsigned i = 0; i < how.nodes; ++i)
            addresses.push_back(fmt::format("{}127.0.0.1:{}", over, cli::free_port()));
    }
    std::vector<child> nodes;
    for (unsigned i = 0; i < how.nodes; ++i) {
        const auto start_it = [&] { return start(how, program, i, addresses); };
        nodes.push_back(network ? network->in_next(start_it) : start_it());
    }
    for (const child& c : nodes) await_load(c);
    if (how.kill >= 0) return launch_and_kill(how, nodes);
    if (how.cut >= 0 && how.cut_for == 0) return launch_and_cut(how, *network, nodes);
    if (how.cut >= 0) {
        sleep_for(how.seconds / 2);
        network->set_connected(static_cast<unsigned>(how.cut), false);
        sleep_for(how.cut_for);
        network->set_connected(static_cast<unsigned>(how.cut), true);
    }
    bool right = true;
    for (child& c : nodes) {
        collect(c);
        right = right && c.reported && WIFEXITED(c.status) && WEXITSTATUS(c.status) == 0;
    }
    if (!right) return cli::failed;  // they have printed the reasons
    print(how, nodes);
    fmt::print("the invariant holds\n");
    return cli::success;
}

}  // namespace cluster_app
