// The configuration of nodes, as commands read it.
#pragma once

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
        throw cli::command_line_error{e.what()};
    }
}

}  // namespace tutti::tools
