// Sends a member the entries that the member lacks, piece by piece. C-Raft 0.15 puts all these entries into one
// AppendEntries message, however many they are. While C-Raft probes a member, it sends the same message at each
// heartbeat until an answer arrives. The sender stands between C-Raft and its network, cuts these messages, and holds
// back entries in progress.
//
// A *piece* consists of the first entries of one message: up to `piece_bytes`, or a single larger entry. A piece is *in
// progress* from its sending until the member acknowledges its last entry, or until SND5 ends it.
//
//   SND1  A message has one piece, or no entry. Its leader_commit names no entry behind the piece. C-Raft's followers
//         commit up to the end of their own log, where entries of an earlier leader may follow the compared ones.
//   SND2  C-Raft's next_index is the index after the last piece that was sent in C-Raft's pipeline state. A message
//         that was cut or held back ends that state: C-Raft then sends only at heartbeats, until the next
//         acknowledgement. C-Raft sends the next piece when the acknowledgement arrives.
//   SND3  Entries of a piece in progress are not sent again. Further entries are not sent while pieces with `window`
//         bytes are in progress. Instead, the member receives an empty message if a heartbeat is due, and nothing
//         otherwise.
//   SND4  So C-Raft's log and the connection to a member hold at most `window` and one piece of entries for that
//         member.
//   SND5  A piece is no longer in progress when sending it has failed, or when the time of an election has passed since
//         it was written to the connection. No piece to a member is in progress after a rejection by that member, after
//         a snapshot was sent to it, or in another term. So lost entries are sent again after an election's time.
//   SND6  next_index is after all entries that the member has acknowledged, even if the shim reports less to C-Raft. If
//         a piece ends before the first entry of the leader's term, C-Raft would otherwise send the same piece forever.
//
// Progress does not depend on what the sender remembers, because SND5 ends all pieces, and C-Raft knows match_index and
// next_index.
//
// Not thread-safe, like the shim that the sender belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "cluster/replica/raft.hpp"

namespace tutti::cluster::replica {

class entry_sender {
public:
    /// Sends through `under`. `of` and `under` outlive the sender.
    entry_sender(raft& of, const raft_io& under, std::size_t piece_bytes);
    entry_sender(const entry_sender&) = delete;
    entry_sender& operator=(const entry_sender&) = delete;

    /// Sends an AppendEntries message in C-Raft's place, or a part of it. Returns RAFT_NOCONNECTION if the message was
    /// held back; C-Raft then continues as if it had not tried to send. REQUIRES: C-Raft makes the call, as the leader
    /// of the message's term.
    [[nodiscard]] int send(raft_io* io, raft_io_send* request, const raft_message& message, raft_io_send_cb done);
    /// Records that the member has the leader's entries up to `last`. Call this function when C-Raft has processed the
    /// answer.
    void acknowledge(raft_id member, raft_term term, raft_index last) noexcept;
    /// Ends the progress of all pieces to the member (SND5).
    void forget(raft_id member) noexcept;

private:
    struct piece {
        raft_index first = 0, last = 0;
        std::size_t bytes = 0;
        std::uint64_t number = 0;
        raft_time since = 0;  // when the piece was sent, or written to the connection
        bool written = false;
    };
    struct outgoing;
    /// The number of entries in the next piece, and their bytes.
    struct length {
        unsigned entries = 0;
        std::size_t bytes = 0;
    };
    [[nodiscard]] length first_piece(const raft_append_entries& all) const noexcept;
    /// Returns null if this member does not lead, or the group does not have that member.
    [[nodiscard]] raft_progress* progress_of(raft_id member) noexcept;
    [[nodiscard]] bool holds_back(std::vector<piece>& sent, raft_index first, raft_index acknowledged, raft_time now);
    void written(raft_id to, std::uint64_t number, int status) noexcept;

    raft& raft_;
    const raft_io& under_;
    const std::size_t piece_bytes_, window_;
    raft_term term_ = 0;  // the term of the pieces
    std::uint64_t last_number_ = 0;
    std::map<raft_id, std::vector<piece>> in_progress_;  // in the order in which they were sent
};

}  // namespace tutti::cluster::replica
