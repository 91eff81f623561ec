#include "promote.hpp"

#include <fmt/format.h>

#include <string>

#include "connection.hpp"
#include "tutti/server/endpoint.hpp"

namespace tutti::tools {

void promote(const promote_options& options) {
    static_cast<void>(connection{options.to}.ask({"REPLICAOF", "NO", "ONE"}));
    fmt::print("this server leads now\n");
}

void hand_over(const handover_options& options) {
    const std::string time = std::to_string(options.milliseconds);
    connection leader{options.to};
    if (options.heir.empty()) {
        static_cast<void>(leader.ask({"FAILOVER", "TIMEOUT", time}));
    } else {
        const server::endpoint heir = server::parse_endpoint(options.heir).value();
        static_cast<void>(leader.ask({"FAILOVER", "TO", heir.host, std::to_string(heir.port), "TIMEOUT", time}));
    }
    fmt::print("the lead was handed over; this server follows now\n");
}

}  // namespace tutti::tools
