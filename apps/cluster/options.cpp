#include "cluster/options.hpp"

#include <map>

#include "cli/options.hpp"
#include "cluster/workloads.hpp"

namespace cluster_app {
namespace {

constexpr std::string_view description =
    "Starts a cluster of real processes on this machine, runs a workload on it, checks its invariant and prints\n"
    "throughput, aborts, latencies, and the network traffic of each transaction.";

constexpr std::string_view footer =
    "Exit status: 0 all is well, 1 the invariant is broken or the run failed, 2 bad usage.\n"
    "Examples: tutti-cluster --nodes 3 --threads 2\n"
    "          tutti-cluster --workload skiplist --threads 4 --reads 80\n"
    "          tutti-cluster --workload tpcc --engine etcd://127.0.0.1:2379 --threads 4\n"
    "          tutti-cluster --kill 1            the errors of the others when a node fails\n"
    "          tutti-cluster --tls FOLDER --namespaces --cut 1    or when the network fails";

}  // namespace

std::variant<program_options, cli::help_text> parse_command_line(int argc, const char* const* argv) {
    program_options options;
    CLI::App app{std::string{description}, "tutti-cluster"};
    app.footer(std::string{footer});
    const auto number = [&app](const char* name, auto& value, auto low, auto high, const char* help) {
        return app.add_option(name, value, help)->check(cli::within(low, high, "a number"))->capture_default_str();
    };
    const std::vector<std::string> names = workload_names();
    app.add_option("--workload", options.workload, fmt::format("One of {}", fmt::join(names, ", ")))
        ->check(cli::one_of(names))
        ->capture_default_str();
    number("--nodes", options.nodes, 1, 64, "Number of processes");
    number("--threads", options.threads, 1, 256, "Threads of each process");
    number("--seconds", options.seconds, 0.05, 1e6, "Seconds to run");
    number("--reads", options.reads, 0, 100, "Percentage of transactions that only read");
    app.add_option("--objects", options.objects,
                   "Accounts, keys, buckets of the hash table, or vacation's customers and offers; the "
                   "default is that of the paper")
        ->check(cli::within(2, 10'000'000, "a number"));
    number("--inner", options.inner, 1, 1000,
           "Operations of a transaction, one after the other: transfers of the bank, or operations on keys of the\n"
           "other workloads except loan, vacation and tpcc");
    const std::map<std::string, nesting> ways{{"flat", nesting::flat},
                                              {"closed", nesting::closed},
                                              {"checkpoint", nesting::checkpoint},
                                              {"open", nesting::open}};
    app.add_option("--nesting", options.nesting,
                   "What a conflict of an operation repeats: flat, the transaction; closed, the unfinished operation\n"
                   "or the transaction; checkpoint, that operation and those after it; open, that operation alone,\n"
                   "because each commits at once, and keeps the abstract lock of its key until the transaction ends")
        ->transform(cli::choice(ways))
        ->type_name("flat|closed|checkpoint|open");
    app.add_flag("--singly", options.singly,
                 "Open the accounts of the bank one after the other, instead of in one round trip");
    number("--warehouses", options.warehouses, 1, 1000, "Warehouses of tpcc");
    number("--shrink", options.shrink, 1, 100, "Divisor of the items, customers and orders of tpcc");
    CLI::Option* const engine =
        app.add_option("--engine", options.engine,
                       "Address of an engine that holds the objects: tutti://..., etcd://..., postgres://...,\n"
                       "redis://... or memory:, as engine_options takes it. The objects stay there, under the printed\n"
                       "prefix")
            ->type_name("ADDRESS");
    number("--staleness", options.staleness, 0, 600'000,
           "Maximum age, in ms, of the state that read-only blocks may see in copies; 0: no copies")
        ->needs(engine);
    const auto file = [&](const char* name, std::string& value, const char* help) {
        app.add_option(name, value, help)->type_name("FILE")->needs(engine);
    };
    file("--certificate", options.certificate, "Certificate (PEM) for TLS to a group, made for program.NAME");
    file("--key", options.key, "Key of the certificate (PEM)");
    file("--authority", options.authority,
         "Certificate (PEM) of the authority that has signed the certificates of the members");
    app.add_option("--name", options.group_name, "Name of the group in its certificates")
        ->needs(engine)
        ->capture_default_str();
    number("--seed", options.seed, std::uint64_t{0}, ~std::uint64_t{0}, "Seed of the threads' random numbers");
    app.add_flag("--move", options.moves, "Move objects to the node that writes them")->excludes(engine);
    const std::map<std::string, transport> transports{
        {"tcp", transport::tcp}, {"unix", transport::unix_sockets}, {"zeromq", transport::zeromq}};
    app.add_option("--transport", options.transport,
                   "Transport of messages: tcp, TCP on loopback; unix, Unix sockets; zeromq, ZeroMQ over TCP, as in\n"
                   "HyflowCPP")
        ->transform(cli::choice(transports))
        ->type_name("tcp|unix|zeromq")
        ->excludes(engine);
    app.add_option("--tls", options.tls,
                   "Encrypt and authenticate, with ca.pem, node-<n>.pem and node-<n>.key of this folder;\n"
                   "apps/cluster/certificates.sh FOLDER NODES tutti-cluster makes them. Over ZeroMQ with\n"
                   "curve-nodes.pem and curve-<n>.key; with one word more, curve, it makes those")
        ->excludes(engine);
    number("--kill", options.kill, 0, 63, "Kill this node half-way: the others must end with an error that names it")
        ->excludes(engine);
    app.add_flag("--stop", options.stop,
                 "Let --kill stop the node (SIGSTOP), so that the node exists but sends nothing")
        ->needs("--kill");
    CLI::Option* const namespaces =
        app.add_flag(
               "--namespaces", options.namespaces,
               "Put each node into a network namespace of its own, with a cable to a bridge, as if it were a machine;\n"
               "needs --tls, because nodes beyond loopback use nothing else")
            ->needs("--tls")
            ->excludes("--transport")
            ->excludes(engine);
    number("--cut", options.cut, 0, 63,
           "Unplug the cable of this node half-way: all nodes must end with an error that names a lost node")
        ->needs(namespaces)
        ->excludes("--kill");
    number("--cut-for", options.cut_for, 0.001, 3600.0,
           "Seconds after which the cable is plugged in again. Below the failure timeout, the run only takes longer")
        ->needs("--cut");
    number("--failure-timeout", options.failure_timeout, 0.05, 3600.0,
           "Seconds without an answer after which a node counts as lost");
    number("--cache", options.cache, std::size_t{0}, std::size_t{1} << 40,
           "Bytes of copies that a node keeps of objects of other nodes; 0: none")
        ->excludes(engine);
    // Options for the processes that the launcher starts.
    app.add_option("--node-number", options.node_number)->group("");
    app.add_option("--address", options.addresses)->group("");
    app.add_option("--connect-timeout", options.connect_timeout)->group("");
    app.add_option("--report-to", options.report_to)->group("");
    app.add_option("--prefix", options.prefix)->group("");
    if (auto text = cli::parse(app, argc, argv, "tutti-cluster --help")) return *text;
    if (options.engine.starts_with("memory:") && options.nodes > 1)
        throw cli::command_line_error{"--engine memory: is in one process: give --nodes 1"};
    if (options.inner > 1 && !has_steps(options.workload))
        throw cli::command_line_error{fmt::format("--inner: a transaction of {} has one operation", options.workload)};
    if (options.nesting == nesting::open && !options.engine.empty() && options.workload != "bank") {
        throw cli::command_line_error{
            "--nesting open: nodes that hold the objects themselves have abstract locks of keys, an engine has none: "
            "leave --engine out, or run the bank, which needs none"};
    }
    if (options.objects == 0) options.objects = usual_objects(options.workload);
    for (const auto& [name, node] : {std::pair{"--kill", options.kill}, std::pair{"--cut", options.cut}}) {
        if (node >= static_cast<int>(options.nodes))
            throw cli::command_line_error{
                fmt::format("{} {}: nodes are numbered from 0 to {}", name, node, options.nodes - 1)};
    }
    return options;
}

}  // namespace cluster_app
