#include "cluster/member.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <tutti/tutti.hpp>

#include "cluster/workloads.hpp"

namespace cluster_app {
namespace {

using clock = std::chrono::steady_clock;
using tutti::cluster::node;
using tutti::cluster::ref;

/// Waits until all nodes have arrived here. A killed node never arrives, and all objects that the wait reads may be on
/// other nodes. So the loop also checks that the other nodes are reachable.
void meet(const program_options& how, node& here, const char* where) {
    constexpr std::chrono::seconds max_wait{45};
    const clock::time_point late = clock::now() + max_wait;
    const ref<unsigned> arrived{here, where};
    tutti::atomically([&](tutti::tx& t) {
        if (arrived.find(t) == nullptr) arrived.publish(t, 1);
        else arrived.write(t) += 1;
    });
    while (tutti::atomically([&](tutti::tx& t) { return arrived.read(t); }) < how.nodes) {
        for (unsigned n = 0; n < here.nodes(); ++n) {  // with an engine, there is only one node, this one
            if (here.lost(n)) throw tutti::cluster::node_lost{fmt::format("node {} is gone, near '{}'", n, where), n};
        }
        if (clock::now() > late) throw std::runtime_error{fmt::format("not all nodes have come to '{}'", where)};
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
}

measured run_threads(const program_options& how, node& here, workload& work) {
    const tutti::cluster::node_statistics before = here.statistics();
    std::atomic<bool> stop{false};
    std::mutex guard;
    std::exception_ptr failure;
    measured all;
    std::vector<std::thread> threads;
    const auto start = clock::now();
    for (unsigned i = 0; i < how.threads; ++i) {
        threads.emplace_back([&, i] {
            random_source dice{how.seed * 1'000'003 + static_cast<unsigned>(how.node_number) * 1009 + i};
            cli::histogram mine;
            try {
                while (!stop.load(std::memory_order_relaxed)) {
                    const auto begin = clock::now();
                    work.run_one(dice);
                    mine.add(static_cast<std::uint64_t>((clock::now() - begin).count()));
                }
            } catch (...) {
                stop.store(true, std::memory_order_relaxed);
                const std::lock_guard hold{guard};
                if (!failure) failure = std::current_exception();
            }
            const std::lock_guard hold{guard};
            all.latency.merge(mine);
        });
    }
    const auto end = start + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>{how.seconds});
    while (clock::now() < end && !stop.load(std::memory_order_relaxed))
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
    stop.store(true, std::memory_order_relaxed);
    for (std::thread& t : threads) t.join();
    if (failure) std::rethrow_exception(failure);
    const tutti::cluster::node_statistics after = here.statistics();
    all.seconds = std::chrono::duration<double>{clock::now() - start}.count();
    all.transactions = all.latency.total();
    all.aborts = after.aborts - before.aborts;
    all.round_trips = after.round_trips - before.round_trips;
    all.messages = after.messages_sent - before.messages_sent;
    all.bytes = after.bytes_sent - before.bytes_sent;
    all.read_only_aborts = after.read_only_aborts - before.read_only_aborts;
    all.partial_rollbacks = after.partial_rollbacks - before.partial_rollbacks;
    all.system_calls = after.system_calls - before.system_calls;
    all.cached_reads = after.cached_reads - before.cached_reads;
    return all;
}

template <class What>
void report(int to, const What& m) {
    const auto* from = reinterpret_cast<const char*>(&m);
    for (std::size_t done = 0; done < sizeof m;) {
        const ssize_t wrote = ::write(to, from + done, sizeof m - done);
        if (wrote <= 0) throw std::runtime_error{"the launcher is gone"};
        done += static_cast<std::size_t>(wrote);
    }
}

node join(const program_options& how) {
    const std::chrono::milliseconds timeout{static_cast<long>(how.failure_timeout * 1000)};
    if (!how.engine.empty()) {
        tutti::cluster::engine_options options;
        options.address = how.engine;
        options.prefix = how.prefix;
        options.request_timeout = timeout;
        options.staleness = std::chrono::milliseconds{how.staleness};
        options.tls = {.certificate = how.certificate, .key = how.key, .authority = how.authority};
        options.group_name = how.group_name;
        return node{options};
    }
    tutti::cluster::node_options options;
    options.cluster = "tutti-cluster";
    options.node_number = static_cast<unsigned>(how.node_number);
    options.addresses = how.addresses;
    options.placement = how.moves ? tutti::cluster::placement::writer : tutti::cluster::placement::home;
    options.failure_timeout = timeout;
    options.cache = how.cache;
    options.connect_timeout = std::chrono::milliseconds{static_cast<long>(how.connect_timeout * 1000)};
    if (how.transport == transport::zeromq && !how.tls.empty()) {
        options.curve = {.key = fmt::format("{}/curve-{}.key", how.tls, how.node_number),
                         .nodes = how.tls + "/curve-nodes.pem"};
    } else if (!how.tls.empty()) {
        const std::string mine = fmt::format("{}/node-{}", how.tls, how.node_number);
        options.tls = {.certificate = mine + ".pem", .key = mine + ".key", .authority = how.tls + "/ca.pem"};
    }
    return node{options};
}

}  // namespace

int run_member(const program_options& how) {
    try {
        node here = join(how);
        const auto work = make_workload(
            how.workload,
            {how.objects, how.reads, how.warehouses, how.shrink, how.seed, how.inner, how.nesting, how.singly}, here);
        // For an engine all processes are alike, and one of them fills it.
        if (how.engine.empty() || how.node_number == 0) work->fill();
        meet(how, here, "filled");
        report(how.report_to, under_load);
        const measured m = run_threads(how, here, *work);
        work->publish_counts();
        meet(how, here, "run");
        if (const std::string wrong = how.node_number == 0 ? work->check() : std::string{}; !wrong.empty()) {
            fmt::print(stderr, "tutti-cluster: INCONSISTENT: {}\n", wrong);
            return cli::failed;
        }
        report(how.report_to, m);
        try {
            meet(how, here, "checked");
        } catch (const tutti::cluster::node_lost&) {
            // Another node has seen that all nodes are here, and has left first.
        }
        return cli::success;
    } catch (const std::exception& e) {
        fmt::print(stderr, "tutti-cluster: node {}: {}\n", how.node_number, e.what());
        return cli::failed;
    }
}

}  // namespace cluster_app
