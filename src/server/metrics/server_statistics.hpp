// The state of a server, gathered from its I/O threads and its executor. INFO and the metrics show this state.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/calls/forwarding.hpp"
#include "server/journal/journal.hpp"
#include "server/metrics/counters.hpp"
#include "tutti/errors.hpp"
#include "tutti/server/cluster.hpp"

namespace tutti::server {

struct server_statistics {
    struct priority_statistics {
        int priority;
        turnaround_sum turnaround;
    };
    struct procedure_statistics {
        std::string name;
        int own_priority;
        std::vector<priority_statistics> priorities;  ///< one for each priority that has turnaround times
        std::array<std::uint64_t, call_outcome_count> outcomes{};
    };
    std::chrono::seconds up{0};
    unsigned workers = 0;
    std::string_view executor = {};
    load busy;
    std::uint64_t clients = 0, total_connections_received = 0, rejected_connections = 0, logins_failed = 0;
    std::uint64_t commands = 0, malformed = 0, resident_bytes = 0, buffered_bytes = 0, total_net_input_bytes = 0,
                  total_net_output_bytes = 0;
    std::uint64_t logins_rejected = 0, clients_evicted = 0, clients_displaced = 0, requests_timed_out = 0;
    std::uint64_t commands_delayed = 0, buffered_bytes_of_clients = 0, buffered_bytes_of_calls = 0,
                  calls_beyond_share = 0;
    std::string latest_eviction{};  ///< the client and the reason; empty: no eviction
    std::uint64_t io_handoffs = 0, io_handoffs_reclaimed = 0;
    std::vector<procedure_statistics> procedures;

    struct block_statistics {
        std::uint64_t commits = 0;
        std::array<std::uint64_t, abort_cause_count> aborts{};
    };
    // Statistics of all transactions of the process, if enabled (enable_statistics). The key is the block's name, which
    // several blocks may share, or else its file and line.
    std::map<std::string, block_statistics> blocks;

    std::optional<cluster_statistics> cluster;
    std::optional<forwarding_statistics> forwarded_calls;
    std::optional<journal::journal_statistics> log;  // unset: calls are not logged
    std::optional<journal::replication_statistics> replication;
};

void add(turnaround_sum& to, const turnaround_sum& more) noexcept;

/// Adds the counts of one I/O thread. REQUIRES: `to.procedures` has an element for each procedure.
void add(server_statistics& to, const counters& from);

/// Adds the counts of the engine.
void add_transactions(server_statistics& to);

/// Returns the resident memory of this process, which the library is a part of; 0 if the system does not report it.
[[nodiscard]] std::uint64_t resident_bytes();

/// Returns the text of INFO: lines of `key:value` under headings.
[[nodiscard]] std::string to_text(const server_statistics& s);

}  // namespace tutti::server
