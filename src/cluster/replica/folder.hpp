// Reads the content of a member's folder before C-Raft opens it. C-Raft reads a segment as far as it can, and cuts off
// the rest. C-Raft may then continue with less than the member has acknowledged, without reporting this.
//
//   FLD1  A torn end is an incomplete part after all entries that are known to be durable, followed only by zeros or
//         meaningless bytes. A crash leaves a torn end, and the member has never acknowledged it, so it is cut off.
//   FLD2  Damage is an incomplete part followed by a complete one, an entry in the wrong place, or less than is known
//         to be durable (durable_record.hpp). A member does not start with a damaged folder.
//   FLD3  Of the snapshots and segments, only those that a start reads can make a folder damaged: the newest snapshot,
//         and the segments from which C-Raft takes the log. The notes report damage of other snapshots.
//   FLD4  `max_acknowledged` is an upper bound: the member has acknowledged no later entry that has left a trace in the
//         folder. These are traces:
//           - the durable record's `last`, the snapshot's index, and the name of a closed segment
//           - a complete entry after the damage, in a segment in its place
//           - a complete entry that the durable record does not know (unknown_entries.hpp)
//         The last trace leaves out entries that the record knows, because they are not after `last`. So for this trace
//         a segment from another folder adds only entries that this member may have written beyond its record.
//         Therefore `max_acknowledged` stays within the group's log.
//
// Files, as C-Raft 0.15 names them: closed segments `first-last`, open segments `open-count`, and snapshots
// `snapshot-term-index-time` with `.meta`. Of `metadata1` and `metadata2`, the one with the higher version counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/replica/durable_record.hpp"

namespace tutti::cluster::replica {

struct folder_names {
    explicit folder_names(std::string of) : folder{std::move(of)} {}
    std::string folder;
    [[nodiscard]] std::string log() const { return folder + "/log"; }
    [[nodiscard]] std::string durable() const { return folder + "/durable"; }
};

/// A torn end (FLD1).
struct torn_end {
    std::string file;
    std::uint64_t keep = 0;  ///< how many bytes of the file stay; 0: the file is removed
    std::uint64_t bytes = 0;
};

struct folder_contents {
    std::string snapshot;  ///< the snapshot's file, without the folder; empty: there is no snapshot
    std::uint64_t snapshot_term = 0, snapshot_index = 0, snapshot_bytes = 0;
    std::uint64_t term = 0, vote = 0;
    std::uint64_t first = 1, last = 0;   ///< readable consecutive entries; last < first: no entries
    std::uint64_t bytes = 0;             ///< the size of these entries
    std::uint64_t max_acknowledged = 0;  ///< FLD4: the last entry that may have been acknowledged, readable or not
    unsigned voters = 0;                 ///< the number of voters in the newest readable configuration
    std::optional<durable_promises>
        known;                           ///< empty: an earlier release has written the folder, or the file is damaged
    std::vector<std::uint64_t> digests;  ///< of `first` to `last`
    std::vector<torn_end> torn;
    std::vector<std::string> damage, notes;  ///< one line each
    bool metadata_is_sound = false;
    bool snapshot_is_damaged = false;
    /// A segment with entries of `first` to `last`, and the number of bytes that contain them.
    struct piece {
        std::string name;
        std::uint64_t bytes = 0, first = 0, last = 0;
    };
    std::vector<piece> pieces;
};

/// Reads the whole folder without changing it. `promised`: the folder has had a durable_record, so a missing
/// durable_record is damage. Throws backend::engine_error if a file cannot be read at all.
[[nodiscard]] folder_contents read_folder(const std::string& folder, bool promised);

/// Returns why a member does not start with the folder, and what the operator should do.
[[nodiscard]] std::string damage_of_member(const std::string& folder, const folder_contents& found);

struct folder_repair {
    std::string kept_as;  ///< the folder that keeps the former log; empty: nothing was done
    bool awaits_lost_entries =
        false;               ///< true if the leader has to send the lost entries again (RFT5 of raft_node.hpp)
    std::uint64_t lost = 0;  ///< the last entry that is known to have existed
};

/// Replaces a damaged log by a log of all intact entries. If a member could not continue with these entries, changes
/// nothing and throws backend::engine_error.
[[nodiscard]] folder_repair repair_folder(const std::string& folder, bool promised);

/// Cuts torn ends off (FLD1). Throws backend::engine_error.
void cut_torn_ends(const folder_contents& of);

}  // namespace tutti::cluster::replica
