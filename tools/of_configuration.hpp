// The configuration of nodes, as commands read it.
#pragma once

#include <string>
#include <string_view>

#include <tutti/cluster/configuration.hpp>

#include "cli/program.hpp"

namespace tutti::tools {

/// What `read()` returns, where a configuration that means nothing is the operator's mistake.
/// @throws cli::command_line_error
template <class Read>
auto of_configuration(Read&& read) {
    try {
        return read();
    } catch (const cluster::configuration_error& e) {
        std::string_view why = e.what();
        constexpr std::string_view who = "tutti: ";  // the command says so itself
        if (why.starts_with(who)) why.remove_prefix(who.size());
        throw cli::command_line_error{std::string{why}};
    }
}

}  // namespace tutti::tools
