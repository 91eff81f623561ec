#include "promote.hpp"

#include <fmt/format.h>

#include "connection.hpp"

namespace tutti::tools {

void promote(const promote_options& options) {
    static_cast<void>(connection{options.to}.ask({"REPLICAOF", "NO", "ONE"}));
    fmt::print("this server leads now\n");
}

}  // namespace tutti::tools
