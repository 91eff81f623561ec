// What is in a member's folder, looked at before C-Raft opens it. C-Raft reads a segment as far as it can, cuts off the
// rest, and goes on with less than the member has acknowledged; nothing says so.
//
//   F1  a torn end: something that is not whole, with nothing but zeros or bytes without meaning behind it, after all
//       that is known to be durable. A crash leaves it; nobody was told that it is on the disk. It is cut off
//   F2  damage: something that is not whole with something whole behind it, an entry that is not where it was, or less
//       than is known to be durable (durable_record.hpp). A member does not start on it
//   F3  only what a start reads counts: the newest snapshot, and the segments from which C-Raft takes the log. Of what
//       else is damaged the notes tell
//   F4  `seen`: the member has acknowledged no entry behind it that has left a trace in the folder. These are traces:
//         - the durable record's `last`, the snapshot's index, and the name of a closed segment
//         - a whole entry behind the damage, in a segment that is in its place
//         - a whole entry that the durable record does not know (unknown_entries.hpp)
//       An entry that the record knows is not behind `last`. So a segment that has come from somewhere else adds
//       only what this member may have written beyond its record, and `seen` stays within the group's log
//
// Files, as C-Raft 0.15 names them: closed segments `first-last`, open ones `open-count`, snapshots
// `snapshot-term-index-time` with `.meta`, `metadata1` and `metadata2`, of which the one with the higher version
// counts.
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

/// F1.
struct torn_end {
    std::string file;
    std::uint64_t keep = 0;  ///< bytes
    std::uint64_t bytes = 0;
};

struct folder_contents {
    std::string snapshot;  ///< its file, without the folder; empty: none
    std::uint64_t snapshot_term = 0, snapshot_index = 0, snapshot_bytes = 0;
    std::uint64_t term = 0, vote = 0;
    std::uint64_t first = 1, last = 0;   ///< entries that can be read one after the other; last < first: none
    std::uint64_t bytes = 0;             ///< of these
    std::uint64_t seen = 0;              ///< F4: the last entry that may have been acknowledged, readable or not
    unsigned voters = 0;                 ///< by the newest configuration that can be read
    std::optional<promises> known;       ///< none: an earlier release has written the folder, or the file is damaged
    std::vector<std::uint64_t> digests;  ///< of `first` to `last`
    std::vector<torn_end> torn;
    std::vector<std::string> damage, notes;  ///< a line each
    bool metadata_is_sound = false;
    bool snapshot_is_damaged = false;
    /// Segments that hold `first` to `last`, and how many bytes of each do.
    struct piece {
        std::string name;
        std::uint64_t bytes = 0, first = 0, last = 0;
    };
    std::vector<piece> pieces;
};

/// Reads all, and changes nothing. `promised`: the folder has had a durable_record, so it is damage if there is none.
/// Throws backend::refusal: something cannot be read at all.
[[nodiscard]] folder_contents look_at_folder(const std::string& folder, bool promised);

/// Why a member does not start on it, and what to do.
[[nodiscard]] std::string damage_of_member(const std::string& folder, const folder_contents& found);

struct folder_repair {
    std::string kept_as;     ///< where the log is as it was; empty: nothing was done
    bool waits = false;      ///< for the leader, which has to give it again what it has lost (S5 of seat.hpp)
    std::uint64_t lost = 0;  ///< the last entry that is known to have been there
};

/// Puts in the place of a damaged log one of all that is whole. Throws backend::refusal: nothing has changed, as a
/// member could not go on with what is left.
[[nodiscard]] folder_repair repair_folder(const std::string& folder, bool promised);

/// F1. Throws backend::refusal.
void cut_torn_ends(const folder_contents& of);

}  // namespace tutti::cluster::replica
