#include "node.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <thread>

#include "node_configuration.hpp"
#include "operator_log.hpp"
#include "operator_signals.hpp"
#include "peer_monitor.hpp"
#include "systemd_notify.hpp"

namespace tutti::tools {
namespace {

using server::severity;

constexpr const char* sighup_refusal =
    "SIGHUP changes nothing: a node keeps its configuration until it ends, and reloads changed certificates before the "
    "next connection. To change the list of nodes, end all nodes and start them with the new list";

severity level_of(const std::string& name) {
    if (name == "warning") return severity::warning;
    return name == "error" ? severity::error : severity::info;
}

cluster::configuration read(const node_command_options& options) {
    return read_node_configuration([&options] {
        return options.file.empty() ? cluster::configuration::from_environment()
                                    : cluster::configuration::from_file(options.file);
    });
}

}  // namespace

void run_node(const node_command_options& options) {
    const cluster::configuration how = read(options);
    const operator_log log{options.log_json || how.log.json, level_of(options.log_level.value_or(how.log.level))};
    const flush_at_end at_end{log};
    const auto say = [&](const std::string& line) { log.write(severity::info, line); };
    if (how.engine) {
        throw cli::command_line_error{
            "[engine] names an engine, which holds the objects in place of nodes: leave [engine] out, or "
            "start a program that uses the engine"};
    }
    if (how.node.addresses.empty()) {
        throw cli::command_line_error{
            "a cluster of one node has no other node to share objects with: write nodes and node-number into the file "
            "of --config, or set TUTTI_CLUSTER_NODES and TUTTI_CLUSTER_NODE_NUMBER"};
    }
    how.check();
    const std::string name = fmt::format("node {} of {}", how.node.node_number, how.node.addresses.size());
    if (options.only_checks) return say(fmt::format("{} can be started", name));

    std::optional<systemd_notifier> supervisor{std::in_place};  // constructed before other threads exist
    operator_signals signals{log, sighup_refusal};
    say(fmt::format("{} waits for the others, on {}", name, how.node.addresses[how.node.node_number]));
    const cluster::node here{how};
    signals.begin_serving();
    if (here.metrics_port() != 0) say(fmt::format("metrics on port {} of loopback", here.metrics_port()));
    say(fmt::format("{} is connected to all", name));
    supervisor->ready();
    supervisor->start_watchdog([] { return true; });
    peer_monitor others{here, how.node, log};
    while (!signals.end_requested()) {
        std::this_thread::sleep_for(std::chrono::milliseconds{100});
        others.report_changes();
    }
    supervisor->stopping();
    say("ended");
}

}  // namespace tutti::tools
