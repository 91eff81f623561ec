// The persistent data of a member, which survive a kill. Writes take effect one after another. When the member is
// killed, some of the oldest writes in progress have taken effect, and the next one perhaps in part.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/replica/raft.hpp"

namespace tutti::cluster::replica::testing {

struct stored_entry {
    raft_term term = 0;
    unsigned short type = 0;
    std::string bytes;
};

struct stored_server {
    raft_id id = 0;
    std::string address;
    int role = 0;
};

struct stored_snapshot {
    raft_index index = 0;
    raft_term term = 0;
    std::vector<stored_server> configuration;
    raft_index configuration_index = 0;
    std::string bytes;
};

struct disk {
    raft_term term = 0;
    raft_id voted_for = 0;
    std::optional<stored_snapshot> snapshot;
    raft_index start = 1;  ///< index of the first entry
    std::vector<stored_entry> entries;

    void truncate(raft_index from);
    /// Stores a snapshot. Removes the entries up to its index, except the last `trailing` ones; 0 removes all.
    void put(stored_snapshot s, unsigned trailing);
};

// Conversions between these types and C-Raft's own.

[[nodiscard]] std::vector<stored_entry> copy_of(const raft_entry* entries, std::size_t n);
[[nodiscard]] std::vector<stored_server> copy_of(const raft_configuration& c);
[[nodiscard]] stored_snapshot copy_of(const raft_snapshot& s);
/// Converts entries into one batch, as messages and disks deliver it. Returns null for an empty vector.
[[nodiscard]] raft_entry* give(const std::vector<stored_entry>& entries);
void give(const std::vector<stored_server>& servers, raft_configuration& into);
[[nodiscard]] raft_buffer give(const std::string& bytes);
[[nodiscard]] raft_snapshot* give(const stored_snapshot& s);

}  // namespace tutti::cluster::replica::testing
