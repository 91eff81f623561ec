#include "cluster/command_line.hpp"

#include "cli/options.hpp"
#include "cluster/patterns.hpp"

namespace bench::cluster {

std::variant<plan, cli::help_text> parse(int argc, const char* const* argv) {
    plan p;
    CLI::App app{"One point of a chart: a simulated cluster under a workload, in virtual time; prints JSON.",
                 "tutti-bench-cluster"};
    const auto number = [&app](const char* name, auto& to, double low, double high, const char* help) {
        return app.add_option(name, to, help)->check(cli::within(low, high, "a number"))->capture_default_str();
    };
    std::vector<std::string> names;
    for (const pattern_name& n : patterns()) names.emplace_back(n.name);
    app.add_option("--workload", p.workload, "Workload: the objects that transactions use")
        ->check(cli::one_of(names))
        ->capture_default_str();
    number("--nodes", p.nodes, 1, 1024, "Number of nodes");
    number("--threads", p.threads, 1, 1024, "Threads of each node");
    number("--processors", p.processors, 1, 1024, "Processors of each node");
    number("--reads", p.reads, 0, 100, "Percentage of transactions that only read");
    number("--objects", p.objects, 1, 10'000'000,
           "Accounts, keys, buckets, warehouses (default: the number in the paper; tpcc: 1)");
    number("--inner", p.inner, 1, 1000, "Operations of a transaction");
    app.add_option("--nesting", p.nesting, "Nesting of these operations")
        ->transform(cli::choice<nesting>({{"flat", nesting::flat},
                                          {"closed", nesting::closed},
                                          {"checkpoint", nesting::checkpoint},
                                          {"open", nesting::open}}));
    number("--checkpoints", p.checkpoints, 1, 1000,
           "Checkpoints of a transaction, evenly spaced (default: one for each operation)");
    app.add_flag("--locks", p.locks,
                 "Let open operations keep the abstract lock of their key until their transaction ends,\n"
                 "and be undone if a lock is not free");
    app.add_flag("--singly", p.singly, "Open objects one after the other, instead of in one round trip");
    app.add_flag("--move", p.moves, "Move objects to the node that writes them");
    number("--share-after", p.share_after, -1, 8192,
           "Reads by other nodes, without a write in between, before they first keep copies of an object; 0: never, as "
           "in the paper; -1: the value of real nodes");
    double milliseconds = 50, warm_up = 5;
    number("--milliseconds", milliseconds, 0.001, 1e6, "Virtual milliseconds to measure");
    number("--warm-up", warm_up, 0, 1e6, "Virtual milliseconds before the measurement");
    number("--seed", p.seed, 0, 1e15, "Seed; two runs with the same seed are the same");
    const auto cost = [&](const char* name, std::uint64_t& to, const char* help) { number(name, to, 0, 1e9, help); };
    cost("--attempt", p.each.attempt, "Nanoseconds of one attempt, without the costs below");
    cost("--object", p.each.object, "Nanoseconds for each object that the attempt opens");
    cost("--send", p.each.send, "Nanoseconds of the sender's processor for a message");
    cost("--receive", p.each.receive, "Nanoseconds of the receiver's processor, including the service");
    cost("--byte", p.each.byte, "Nanoseconds for each byte of a message");
    cost("--latency", p.each.latency, "Nanoseconds of a message between nodes");
    cost("--spread", p.each.spread, "Maximum of the random additional nanoseconds");
    if (auto text = cli::parse(app, argc, argv, "tutti-bench-cluster --help")) return *text;
    p.duration = static_cast<std::uint64_t>(milliseconds * 1e6);
    p.warm_up = static_cast<std::uint64_t>(warm_up * 1e6);
    return p;
}

}  // namespace bench::cluster
