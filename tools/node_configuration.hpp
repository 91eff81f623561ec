// Reads the configuration of nodes for commands.
#pragma once

#include <tutti/cluster/configuration.hpp>

#include "cli/program.hpp"

namespace tutti::tools {

/// Returns the result of `read()`. Reports an invalid configuration like a wrong command line.
/// @throws cli::command_line_error
template <class Read>
auto read_node_configuration(Read&& read) {
    try {
        return read();
    } catch (const cluster::configuration_error& e) {
        throw cli::command_line_error{e.what()};
    }
}

}  // namespace tutti::tools
