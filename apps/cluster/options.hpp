// The command line of tutti-cluster.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cli/program.hpp"

namespace cluster_app {

struct program_options {
    std::string workload = "bank";
    unsigned nodes = 2;
    unsigned threads = 1;  ///< of each node
    double seconds = 2;
    unsigned reads = 20;  ///< of 100 transactions
    std::string nesting = "flat";
    unsigned inner = 1;   ///< transfers of one transaction of the bank
    bool singly = false;  ///< their accounts are opened one after the other
    std::uint64_t objects = 10'000;
    std::uint64_t seed = 1;
    bool moves = false;
    bool unix_sockets = false;
    int kill = -1;      ///< the node that the launcher kills half-way
    bool stop = false;  ///< and does not kill it, but stops it
    double patience = 5;

    // Of one process, as the launcher starts it.
    int self = -1;
    std::vector<std::string> addresses;
    int report_to = -1;  ///< a file descriptor
};

/// Throws cli::command_line_error.
std::variant<program_options, cli::help_text> parse_command_line(int argc, const char* const* argv);

}  // namespace cluster_app
