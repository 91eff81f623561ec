// What the environment says of the cluster: to a node, and to those who ask nodes.
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "tutti/cluster/node.hpp"

namespace tutti::cluster {

// Here, because whoever asks nodes needs no more of the library than this file.
connection_error::~connection_error() = default;

namespace {

std::string_view value_of(const char* variable) {
    const char* const value = std::getenv(variable);
    return value != nullptr ? value : "";
}

/// TUTTI_CLUSTER_NODES, at its commas.
std::vector<std::string> nodes() {
    std::vector<std::string> all;
    std::string_view rest = value_of("TUTTI_CLUSTER_NODES");
    while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        all.emplace_back(rest.substr(0, comma));
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return all;
}

}  // namespace

node_options node_options::from_environment() {
    node_options how;
    how.metrics = value_of("TUTTI_CLUSTER_METRICS");
    how.addresses = nodes();
    if (how.addresses.empty()) return how;
    const std::string_view digits = value_of("TUTTI_CLUSTER_SELF");
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), how.self);
    if (failed != std::errc{} || end != digits.data() + digits.size() || digits.empty()) {
        throw connection_error{
            "tutti: TUTTI_CLUSTER_SELF says which of TUTTI_CLUSTER_NODES this process is: give a number from 0 on, not "
            "'" +
            std::string{digits} + "'"};
    }
    return how;
}

observer_options observer_options::from_environment() {
    observer_options how;
    how.addresses = nodes();
    return how;
}

}  // namespace tutti::cluster
