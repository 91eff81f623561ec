#include "promote.hpp"

#include <fmt/format.h>

#include <string>

#include "connection.hpp"
#include "tutti/server/endpoint.hpp"

namespace tutti::tools {

void promote(const promote_options& options) {
    static_cast<void>(connection{options.to}.request({"REPLICAOF", "NO", "ONE"}));
    fmt::print("this server is now the leader\n");
}

void hand_over(const handover_options& options) {
    const std::string time = std::to_string(options.timeout_ms);
    connection leader{options.to};
    if (options.successor.empty()) {
        static_cast<void>(leader.request({"FAILOVER", "TIMEOUT", time}));
    } else {
        const server::endpoint successor = server::parse_endpoint(options.successor).value();
        static_cast<void>(
            leader.request({"FAILOVER", "TO", successor.host, std::to_string(successor.port), "TIMEOUT", time}));
    }
    fmt::print("the lead was handed over; this server is now a follower\n");
}

}  // namespace tutti::tools
