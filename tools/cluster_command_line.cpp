// The command lines of `tutti cluster` and `tutti node`.
#include <memory>

#include "split_list.hpp"
#include "subcommand.hpp"

namespace tutti::tools {
namespace {

struct parsed_options {
    cluster_options options;
    std::string addresses;
    std::string name = "tutti";
};

cluster_options wanted(const parsed_options& parsed, const CLI::App& parser, cluster_options::view what) {
    cluster_options all = parsed.options;
    if (parser.count("--name") != 0) all.cluster = parsed.name;
    all.addresses = split_list(parsed.addresses);
    all.wanted_view = what;
    return all;
}

CLI::App* add(CLI::App& to, const char* name, const char* what, parsed_options& parsed) {
    CLI::App* const one = to.add_subcommand(name, what);
    one->add_option("--config", parsed.options.file, "configuration file of a node, for name, addresses and TLS")
        ->type_name("FILE");
    one->add_option("--nodes", parsed.addresses, "addresses of all nodes, in order, with commas between them")
        ->type_name("ADDRESSES");
    one->add_option("--name", parsed.name, "name of the cluster")->capture_default_str();
    one->add_option("--timeout", parsed.options.timeout, "seconds to wait for a node")
        ->check(CLI::Range(0.01, 3600.0))
        ->capture_default_str();
    return one;
}

struct parsed_doubt_options {
    parsed_options list, commit, abort;
};

CLI::App* add_resolution(CLI::App& to, const char* name, const char* what, parsed_options& parsed) {
    CLI::App* const one = add(to, name, what, parsed);
    one->add_option("ID", parsed.options.transaction, "transaction as 'list' prints it: node.thread.number")
        ->required();
    return one;
}

}  // namespace

subcommand add_cluster(CLI::App& to) {
    CLI::App* const cluster = to.add_subcommand("cluster", "Show the state of a cluster's nodes");
    cluster->require_subcommand(1);
    const auto for_status = std::make_shared<parsed_options>(), for_top = std::make_shared<parsed_options>(),
               for_timeline = std::make_shared<parsed_options>();
    CLI::App* const status = add(
        *cluster, "status", "Show one row for each node; exit status 1 means that a node does not answer", *for_status);
    status->add_flag("--json", for_status->options.json, "print the whole status as JSON");
    CLI::App* const top = add(*cluster, "top", "Show the activity of all nodes periodically", *for_top);
    top->add_option("--interval", for_top->options.schedule.interval, "seconds between two reports")
        ->check(CLI::Range(0.05, 3600.0))
        ->capture_default_str();
    top->add_option("--count", for_top->options.schedule.count, "number of reports; 0: unlimited")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    CLI::App* const timeline =
        add(*cluster, "timeline", "Record the waits of blocks on all nodes, as a table and a trace for Chrome",
            *for_timeline);
    timeline->add_option("--duration", for_timeline->options.duration, "seconds to record")
        ->check(CLI::Range(0.001, 3600.0))
        ->capture_default_str();
    timeline->add_option("--output", for_timeline->options.output, "file for the trace")
        ->type_name("FILE")
        ->capture_default_str();
    const auto for_doubts = std::make_shared<parsed_doubt_options>();
    CLI::App* const doubt =
        cluster->add_subcommand("doubt", "List and resolve commits of a lost node whose outcome is unknown");
    doubt->require_subcommand(1);
    CLI::App* const list =
        add(*doubt, "list", "List such commits and what each node knows; exit status 1 means that there are some",
            for_doubts->list);
    CLI::App* const commit =
        add_resolution(*doubt, "commit", "Commit a transaction at all nodes, unless a node knows that it was aborted",
                       for_doubts->commit);
    CLI::App* const abort =
        add_resolution(*doubt, "abort", "Abort a transaction at all nodes, unless a node knows that it was committed",
                       for_doubts->abort);
    return {cluster, [=] {
                if (list->parsed()) return wanted(for_doubts->list, *list, cluster_options::view::doubts);
                if (commit->parsed()) return wanted(for_doubts->commit, *commit, cluster_options::view::commit_doubt);
                if (abort->parsed()) return wanted(for_doubts->abort, *abort, cluster_options::view::abort_doubt);
                if (top->parsed()) return wanted(*for_top, *top, cluster_options::view::top);
                if (timeline->parsed()) return wanted(*for_timeline, *timeline, cluster_options::view::timeline);
                return wanted(*for_status, *status, cluster_options::view::status);
            }};
}

subcommand add_node(CLI::App& to) {
    CLI::App* const node = to.add_subcommand("node", "Run a node that holds objects of a cluster, until SIGTERM");
    const auto parsed = std::make_shared<node_command_options>();
    node->add_option("--config", parsed->file,
                     "TOML file with the node's configuration; environment variables override it")
        ->type_name("FILE");
    node->add_flag("--check", parsed->only_checks, "check the configuration and exit");
    node->add_option("--log-level", parsed->log_level, "lowest level to print: info, warning or error")
        ->check(CLI::IsMember({"info", "warning", "error"}))
        ->type_name("LEVEL");
    node->add_flag("--log-json", parsed->log_json, "print messages as JSON lines");
    return {node, [parsed] { return *parsed; }};
}

}  // namespace tutti::tools
