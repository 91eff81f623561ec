// What a member has written down, and keeps when it is killed. Writes take effect one after the other; of those that
// are under way when it is killed, some of the first have taken effect.
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
    raft_index start = 1;  ///< of the first entry
    std::vector<stored_entry> entries;

    void truncate(raft_index from);
    /// Entries up to it go, but for the last `trailing`; 0: all go.
    void put(stored_snapshot s, unsigned trailing);
};

// Between these and what C-Raft owns.

[[nodiscard]] std::vector<stored_entry> copy_of(const raft_entry* entries, std::size_t n);
[[nodiscard]] std::vector<stored_server> copy_of(const raft_configuration& c);
[[nodiscard]] stored_snapshot copy_of(const raft_snapshot& s);
/// One batch, as messages and disks bring them. Null for none.
[[nodiscard]] raft_entry* give(const std::vector<stored_entry>& entries);
void give(const std::vector<stored_server>& servers, raft_configuration& into);
[[nodiscard]] raft_buffer give(const std::string& bytes);
[[nodiscard]] raft_snapshot* give(const stored_snapshot& s);

}  // namespace tutti::cluster::replica::testing
