#include "served_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <tutti/cluster/serving.hpp>

#include "node_watch.hpp"
#include "of_configuration.hpp"

namespace tutti::tools {

struct served_cluster::body {
    body(cluster::configuration given, const messages& to)
        : how{std::move(given)}, node{how}, objects{node}, others{node, how.node, to} {}

    const cluster::configuration how;
    cluster::node node;
    cluster::serving objects;
    node_watch others;
    std::jthread watcher{[this](const std::stop_token& ends) {
        std::mutex unused;
        std::condition_variable_any nobody;
        std::unique_lock hold{unused};
        while (!ends.stop_requested()) {
            nobody.wait_for(hold, ends, std::chrono::milliseconds{100}, [] { return false; });
            others.look();
        }
    }};
};

served_cluster::served_cluster(const std::string& file, bool only_checks, const messages& operators) {
    cluster::configuration how = of_configuration([&file] { return cluster::configuration::from_file(file); });
    how.check();
    const auto say = [&](const std::string& line) { operators.say(server::severity::info, line); };
    if (only_checks) {
        how = {};
    } else if (!how.engine && how.node.addresses.size() > 1) {
        say(fmt::format("node {} of {} waits for the others, on {}", how.node.self, how.node.addresses.size(),
                        how.node.addresses[how.node.self]));
    }
    const std::string of = how.engine ? "objects are in the engine " + how.engine->address
                                      : fmt::format("node {} of {} is connected to all", how.node.self,
                                                    std::max<std::size_t>(how.node.addresses.size(), 1));
    body_ = std::make_unique<body>(std::move(how), operators);
    access_ = &body_->objects;
    if (!only_checks) say(of);
}

served_cluster::~served_cluster() = default;

server::cluster_access& served_cluster::access() noexcept { return *access_; }

}  // namespace tutti::tools
