// The command line of tutti-cluster.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cli/program.hpp"
#include "cluster/workload.hpp"

namespace cluster_app {

/// The transport of messages between the processes.
enum class transport : std::uint8_t { tcp, unix_sockets, zeromq };

struct program_options {
    std::string workload = "bank";
    unsigned nodes = 2;
    unsigned threads = 1;  ///< of each node
    double seconds = 2;
    unsigned reads = 20;  ///< of 100 transactions
    unsigned inner = 1;   ///< operations of a transaction, in the bank and in workloads on keys
    cluster_app::nesting nesting = nesting::flat;
    bool singly = false;        ///< accounts of the bank are opened one after the other
    std::uint64_t objects = 0;  ///< accounts, keys, …; on the command line, 0 (the default) means the paper's number
    std::uint64_t seed = 1;
    std::string engine;       ///< address of the engine; empty: the nodes hold the objects
    unsigned staleness = 0;   ///< ms; 0: no copies of read objects
    unsigned warehouses = 1;  ///< of TPC-C
    unsigned shrink = 100;    ///< divisor of TPC-C's cardinalities
    bool moves = false;
    cluster_app::transport transport = transport::tcp;
    bool namespaces = false;                  ///< each node has its own network namespace
    std::string tls;                          ///< a folder with the nodes' certificates or keys; empty: no TLS
    std::string certificate, key, authority;  ///< of a program of the group that is the engine; empty: no TLS
    std::string group_name = "tutti";
    int kill = -1;       ///< the node that the launcher kills half-way
    bool stop = false;   ///< stops that node instead of killing it
    int cut = -1;        ///< the node whose network the launcher disconnects half-way
    double cut_for = 0;  ///< seconds; 0: permanently
    double failure_timeout = 5;
    std::size_t cache = 64u << 20;  ///< bytes for copies of other nodes' objects; 0: no copies

    // Options of one process, set by the launcher.
    int node_number = -1;
    std::vector<std::string> addresses;
    double connect_timeout = 10;
    int report_to = -1;  ///< a file descriptor
    std::string prefix;  ///< of the objects in the engine
};

/// Throws cli::command_line_error.
std::variant<program_options, cli::help_text> parse_command_line(int argc, const char* const* argv);

}  // namespace cluster_app
