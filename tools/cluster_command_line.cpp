// The command line of `tutti cluster`, and the file and the environment that may stand for a part of it.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <cstdlib>
#include <memory>

#include "subcommand.hpp"

namespace tutti::tools {
namespace {

struct words {
    cluster_options options;
    std::string file;
    std::string addresses;
};

std::vector<std::string> at_commas(std::string_view all) {
    std::vector<std::string> parts;
    while (!all.empty()) {
        const std::size_t comma = std::min(all.find(','), all.size());
        parts.emplace_back(all.substr(0, comma));
        all.remove_prefix(std::min(comma + 1, all.size()));
    }
    return parts;
}

/// Takes what the command line does not say from the file.
void read(const std::string& file, cluster_options& into, bool named) {
    const auto refuse = [&file](const toml::node& at, std::string_view what) {
        throw cli::command_line_error{fmt::format("--config: {}:{}: {}", file, at.source().begin.line, what)};
    };
    toml::table all;
    try {
        all = toml::parse_file(file);
    } catch (const toml::parse_error& e) {
        throw cli::command_line_error{fmt::format("--config: {}:{}: {}", file, e.source().begin.line, e.description())};
    }
    for (const auto& [key, value] : all) {
        if (key.str() == "cluster") {
            if (!value.is_string()) refuse(value, "cluster is text, the name of the cluster");
            if (!named) into.cluster = value.ref<std::string>();
        } else if (key.str() == "nodes") {
            const toml::array* const nodes = value.as_array();
            if (nodes == nullptr || !nodes->is_homogeneous<std::string>())
                refuse(value, "nodes is a list of texts, the addresses of all nodes in their order");
            if (!into.addresses.empty()) continue;
            for (const toml::node& n : *nodes) into.addresses.push_back(n.ref<std::string>());
        } else {
            refuse(value, fmt::format("'{}' is nothing that is known; there are cluster and nodes", key.str()));
        }
    }
}

cluster_options wanted(const words& said, const CLI::App& parser, bool top) {
    cluster_options all = said.options;
    all.addresses = at_commas(said.addresses);
    all.top = top;
    if (!said.file.empty()) read(said.file, all, parser.count("--name") != 0);
    if (const char* const nodes = std::getenv("TUTTI_CLUSTER_NODES"); nodes != nullptr && all.addresses.empty())
        all.addresses = at_commas(nodes);
    if (all.addresses.empty()) {
        throw cli::command_line_error{
            "which nodes? give --nodes address,address,... or --config FILE, or set TUTTI_CLUSTER_NODES: all of them, "
            "as the nodes were given them"};
    }
    return all;
}

CLI::App* add(CLI::App& to, const char* name, const char* what, words& said) {
    CLI::App* const one = to.add_subcommand(name, what);
    one->add_option("--config", said.file, "File of TOML with `nodes`, a list of addresses, and `cluster`, a name")
        ->type_name("FILE");
    one->add_option("--nodes", said.addresses, "Addresses of all nodes, in their order, with commas between")
        ->type_name("ADDRESSES");
    one->add_option("--name", said.options.cluster, "The name that the nodes were given (node_options::cluster)")
        ->capture_default_str();
    one->add_option("--within", said.options.within, "Seconds in which a node has to answer")
        ->check(CLI::Range(0.01, 3600.0))
        ->capture_default_str();
    return one;
}

}  // namespace

subcommand add_cluster(CLI::App& to) {
    CLI::App* const cluster = to.add_subcommand("cluster", "Show what the nodes of a cluster do");
    cluster->require_subcommand(1);
    const auto for_status = std::make_shared<words>(), for_top = std::make_shared<words>();
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
    return {cluster,
            [=] { return top->parsed() ? wanted(*for_top, *top, true) : wanted(*for_status, *status, false); }};
}

}  // namespace tutti::tools
