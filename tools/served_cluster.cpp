#include "served_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <tutti/cluster/serving.hpp>

#include "node_configuration.hpp"
#include "peer_monitor.hpp"

namespace tutti::tools {

struct served_cluster::impl {
    impl(cluster::configuration given, const operator_log& to)
        : how{std::move(given)}, node{how}, objects{node}, others{node, how.node, to} {}

    const cluster::configuration how;
    cluster::node node;
    cluster::serving objects;
    peer_monitor others;
    std::jthread watcher{[this](const std::stop_token& ends) {
        std::mutex unused;
        std::condition_variable_any nobody;
        std::unique_lock hold{unused};
        while (!ends.stop_requested()) {
            nobody.wait_for(hold, ends, std::chrono::milliseconds{100}, [] { return false; });
            others.report_changes();
        }
    }};
};

served_cluster::served_cluster(const std::string& file, bool only_checks, const operator_log& log) {
    cluster::configuration how = read_node_configuration([&file] { return cluster::configuration::from_file(file); });
    how.check();
    const auto say = [&](const std::string& line) { log.write(server::severity::info, line); };
    if (only_checks) {
        how = {};
    } else if (!how.engine && how.node.addresses.size() > 1) {
        say(fmt::format("node {} of {} waits for the others, on {}", how.node.node_number, how.node.addresses.size(),
                        how.node.addresses[how.node.node_number]));
    }
    const std::string of = how.engine ? "objects are in the engine " + how.engine->address
                                      : fmt::format("node {} of {} is connected to all", how.node.node_number,
                                                    std::max<std::size_t>(how.node.addresses.size(), 1));
    impl_ = std::make_unique<impl>(std::move(how), log);
    access_ = &impl_->objects;
    if (!only_checks) say(of);
}

served_cluster::~served_cluster() = default;

server::cluster_access& served_cluster::access() noexcept { return *access_; }

}  // namespace tutti::tools
