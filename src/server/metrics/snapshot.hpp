// What a server is doing, gathered from its I/O threads and its executor; INFO and the metrics are made from it.
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

struct snapshot {
    struct of_priority {
        int priority;
        turnaround_sum turnaround;
    };
    struct of_procedure {
        std::string name;
        int own_priority;
        std::vector<of_priority> priorities;  ///< that it was called with
        std::array<std::uint64_t, ending_count> endings{};
    };
    std::chrono::seconds up{0};
    unsigned workers = 0;
    std::string_view executor = {};
    load busy;
    std::uint64_t clients = 0, clients_in_all = 0, clients_refused = 0, logins_failed = 0;
    std::uint64_t commands = 0, malformed = 0, resident_bytes = 0, held_bytes = 0, bytes_read = 0, bytes_written = 0;
    std::uint64_t logins_turned_away = 0, clients_evicted = 0, clients_displaced = 0, requests_timed_out = 0;
    std::uint64_t commands_delayed = 0, held_by_clients = 0, held_by_calls = 0, calls_beyond_share = 0;
    std::string latest_eviction{};  ///< who, and why; empty: nobody
    std::uint64_t stand_ins = 0, stand_ins_called_off = 0;
    std::vector<of_procedure> procedures;

    struct of_block {
        std::uint64_t commits = 0;
        std::array<std::uint64_t, abort_cause_count> aborts{};
    };
    // Of all transactions of the process, where they are counted (enable_statistics). By name, which blocks may share,
    // or else by file and line.
    std::map<std::string, of_block> blocks;

    std::optional<cluster_figures> cluster;
    std::optional<forwarding_figures> elsewhere;
    std::optional<journal::figures> log;  // where calls are logged
    std::optional<journal::replication_figures> others;
};

void add(turnaround_sum& to, const turnaround_sum& more) noexcept;

/// Adds what one I/O thread counted. REQUIRES: `to.procedures` has one for each that there is.
void add(snapshot& to, const counters& from);

/// Adds what the engine counts.
void add_transactions(snapshot& to);

/// Of this process, of which the library is a part; 0 where the system does not say.
[[nodiscard]] std::uint64_t resident_bytes();

/// As INFO shows it: lines of `key:value`, under headings.
[[nodiscard]] std::string to_text(const snapshot& s);

}  // namespace tutti::server
