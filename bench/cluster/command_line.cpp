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
    app.add_option("--workload", p.workload, "Which objects transactions use")
        ->check(cli::one_of(names))
        ->capture_default_str();
    number("--nodes", p.nodes, 1, 1024, "Nodes");
    number("--threads", p.threads, 1, 1024, "Of each node");
    number("--processors", p.processors, 1, 1024, "Of each node");
    number("--reads", p.reads, 0, 100, "Of 100 transactions, those that only look");
    number("--objects", p.objects, 1, 10'000'000,
           "Accounts, keys, buckets, warehouses (default: as many as in the paper; of tpcc 1)");
    number("--inner", p.inner, 1, 1000, "Operations of a transaction");
    app.add_option("--nesting", p.nesting, "What these are to each other")
        ->transform(cli::choice<nesting>({{"flat", nesting::flat},
                                          {"closed", nesting::closed},
                                          {"checkpoint", nesting::checkpoint},
                                          {"open", nesting::open}}));
    number("--checkpoints", p.checkpoints, 1, 1000,
           "Of a transaction, spread evenly (default: one for each operation)");
    app.add_flag("--locks", p.locks,
                 "Open operations hold the abstract lock of their key until their transaction ends,\n"
                 "and are taken back where one cannot be had");
    app.add_flag("--singly", p.singly, "Objects are opened one after the other, and not in one trip");
    app.add_flag("--move", p.moves, "Objects move to the node that writes them");
    number("--share-after", p.share_after, -1, 8192,
           "Looks of other nodes at an object that none writes meanwhile, before they first keep copies; 0: they never "
           "do, as in the paper; -1: as many as for real nodes");
    double milliseconds = 50, warm_up = 5;
    number("--milliseconds", milliseconds, 0.001, 1e6, "Of virtual time, that count");
    number("--warm-up", warm_up, 0, 1e6, "Milliseconds before, that do not");
    number("--seed", p.seed, 0, 1e15, "Two runs with one seed are the same");
    const auto cost = [&](const char* name, std::uint64_t& to, const char* help) { number(name, to, 0, 1e9, help); };
    cost("--attempt", p.each.attempt, "Nanoseconds of one attempt, but for what follows");
    cost("--object", p.each.object, "Nanoseconds for each object that it opens");
    cost("--send", p.each.send, "Nanoseconds of the sender's processor for a message");
    cost("--receive", p.each.receive, "Nanoseconds of the receiver's, serving it included");
    cost("--byte", p.each.byte, "Nanoseconds for each of its bytes");
    cost("--latency", p.each.latency, "Nanoseconds between nodes");
    cost("--spread", p.each.spread, "Nanoseconds more, at most");
    if (auto text = cli::parse(app, argc, argv, "tutti-bench-cluster --help")) return *text;
    p.duration = static_cast<std::uint64_t>(milliseconds * 1e6);
    p.warm_up = static_cast<std::uint64_t>(warm_up * 1e6);
    return p;
}

}  // namespace bench::cluster
