// The command lines of `tutti cluster` and `tutti node`.
#include <memory>

#include "at_commas.hpp"
#include "subcommand.hpp"

namespace tutti::tools {
namespace {

struct words {
    cluster_options options;
    std::string addresses;
    std::string name = "tutti";
};

cluster_options wanted(const words& said, const CLI::App& parser, cluster_options::view what) {
    cluster_options all = said.options;
    if (parser.count("--name") != 0) all.cluster = said.name;
    all.addresses = at_commas(said.addresses);
    all.what = what;
    return all;
}

CLI::App* add(CLI::App& to, const char* name, const char* what, words& said) {
    CLI::App* const one = to.add_subcommand(name, what);
    one->add_option("--config", said.options.file,
                    "The configuration file of a node, of which name, addresses and TLS are taken")
        ->type_name("FILE");
    one->add_option("--nodes", said.addresses, "Addresses of all nodes, in their order, with commas between")
        ->type_name("ADDRESSES");
    one->add_option("--name", said.name, "The name that the nodes were given (node_options::cluster)")
        ->capture_default_str();
    one->add_option("--within", said.options.within, "Seconds in which a node has to answer")
        ->check(CLI::Range(0.01, 3600.0))
        ->capture_default_str();
    return one;
}

struct doubt_words {
    words list, commit, abort;
};

CLI::App* add_settling(CLI::App& to, const char* name, const char* what, words& said) {
    CLI::App* const one = add(to, name, what, said);
    one->add_option("ID", said.options.transaction, "The transaction, as 'list' prints it: node.thread.number")
        ->required();
    return one;
}

}  // namespace

subcommand add_cluster(CLI::App& to) {
    CLI::App* const cluster = to.add_subcommand("cluster", "Show what the nodes of a cluster do");
    cluster->require_subcommand(1);
    const auto for_status = std::make_shared<words>(), for_top = std::make_shared<words>(),
               for_timeline = std::make_shared<words>();
    CLI::App* const status = add(
        *cluster, "status", "Ask each node, and show a row for it; ends with 1 if one does not answer", *for_status);
    status->add_flag("--json", for_status->options.json, "All that they say, as JSON");
    CLI::App* const top = add(*cluster, "top", "Ask again and again, and show what happens each second", *for_top);
    top->add_option("--seconds", for_top->options.every.seconds, "Time between two looks")
        ->check(CLI::Range(0.05, 3600.0))
        ->capture_default_str();
    top->add_option("--looks", for_top->options.every.looks, "End after so many; 0: never")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    CLI::App* const timeline = add(*cluster, "timeline",
                                   "Record on all nodes at once what blocks wait for, and show it on one time axis: a "
                                   "table, and a trace\nof Chrome's format; ends with 1 if one has not recorded",
                                   *for_timeline);
    timeline->add_option("--seconds", for_timeline->options.record, "Time to record")
        ->check(CLI::Range(0.001, 3600.0))
        ->capture_default_str();
    timeline->add_option("--output", for_timeline->options.output, "File for the trace")
        ->type_name("FILE")
        ->capture_default_str();
    const auto for_doubts = std::make_shared<doubt_words>();
    CLI::App* const doubt = cluster->add_subcommand(
        "doubt", "Show, and settle by hand, commits of a node that is gone whose outcome no other node knows");
    doubt->require_subcommand(1);
    CLI::App* const list =
        add(*doubt, "list", "Show them, and what each node knows; ends with 1 if there is one", for_doubts->list);
    CLI::App* const commit = add_settling(
        *doubt, "commit", "Commit one at all nodes; refused if a node knows that it was aborted", for_doubts->commit);
    CLI::App* const abort = add_settling(
        *doubt, "abort", "Abort one at all nodes; refused if a node knows that it has committed", for_doubts->abort);
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
    CLI::App* const node = to.add_subcommand("node", "Hold objects of a cluster as one of its nodes, until SIGTERM");
    const auto said = std::make_shared<node_command_options>();
    node->add_option("--config", said->file,
                     "The configuration file of the node: TOML; variables of the environment go before it")
        ->type_name("FILE");
    node->add_flag("--check", said->only_checks, "Look whether there could be such a node, and end");
    node->add_option("--level", said->level, "Say nothing below this: info, warning or error")
        ->check(CLI::IsMember({"info", "warning", "error"}))
        ->type_name("LEVEL");
    node->add_flag("--json", said->json, "Say what is said in lines of JSON: time, level, message");
    return {node, [said] { return *said; }};
}

}  // namespace tutti::tools
