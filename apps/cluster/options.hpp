// The command line of tutti-cluster.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cli/program.hpp"
#include "cluster/workload.hpp"

namespace cluster_app {

/// What carries messages between the processes.
enum class transport : std::uint8_t { tcp, unix_sockets, zeromq };

struct program_options {
    std::string workload = "bank";
    unsigned nodes = 2;
    unsigned threads = 1;  ///< of each node
    double seconds = 2;
    unsigned reads = 20;  ///< of 100 transactions
    unsigned inner = 1;   ///< operations of one transaction of the bank, or of keys
    cluster_app::nesting nesting = nesting::flat;
    bool singly = false;        ///< accounts of the bank are opened one after the other
    std::uint64_t objects = 0;  ///< accounts, keys, …; on the command line 0, which is not said, stands for the paper's
    std::uint64_t seed = 1;
    std::string engine;       ///< its address; empty: the nodes hold the objects
    unsigned staleness = 0;   ///< ms; 0: no copies of what is read
    unsigned warehouses = 1;  ///< of TPC-C
    unsigned shrink = 100;    ///< what TPC-C's cardinalities are divided by
    bool moves = false;
    cluster_app::transport transport = transport::tcp;
    bool namespaces = false;                  ///< each node in a network namespace of its own
    std::string tls;                          ///< a folder of nodes' certificates, or keys; empty: in the clear
    std::string certificate, key, authority;  ///< of a program of the group that is the engine; empty: in the clear
    std::string group_name = "tutti";
    int kill = -1;       ///< the node that the launcher kills half-way
    bool stop = false;   ///< and does not kill it, but stops it
    int cut = -1;        ///< the node whose cable the launcher unplugs half-way
    double cut_for = 0;  ///< seconds; 0: for good
    double patience = 5;
    std::size_t cache = 64u << 20;  ///< bytes of copies of other nodes' objects; 0: none

    // Of one process, as the launcher starts it.
    int self = -1;
    std::vector<std::string> addresses;
    double connect_within = 10;
    int report_to = -1;  ///< a file descriptor
    std::string prefix;  ///< of the objects in the engine
};

/// Throws cli::command_line_error.
std::variant<program_options, cli::help_text> parse_command_line(int argc, const char* const* argv);

}  // namespace cluster_app
