// Commits that touch several groups: two phases over replicated logs, of which one group's log holds the decision
// (docs/cluster-replication.md, "Several groups", has the states and the proof).
//
//   prepare   every group but one judges its part, and holds what that has read and writes
//   decide    the one that is left commits its own part, and with it the record of the decision, if there is none yet
//   finish    the others write what they have held back, or let it go
//
//   X3  groups are asked in the order of their numbers, the one that decides last of all if the last write is in the
//       last of them, as that of exactly_once is. So a transaction that waits for another holds parts below the
//       one that it waits at, and none waits in a circle; where the order is another, it does not wait
//   X4  a group is asked to prepare a transaction once. If no answer comes, that one is let go, and never decided, and
//       another is begun in its place, with an id of its own
//
// Thread safety: every member.
#pragma once

#include "cluster/backend/settling.hpp"

namespace tutti::cluster::backend {

class crossing {
public:
    crossing(std::span<const part> parts, settling& others) : parts_{parts}, others_{others} {}

    /// B3 and B4, of `r`, whose shares these are: two at least, by ascending parts, and one of them in `decides`.
    void commit(request& r, std::vector<share>& shares, std::size_t decides);

private:
    /// False: an answer was lost before the decision (X4).
    [[nodiscard]] bool try_commit(request& r, std::vector<share>& shares, std::size_t decides);
    /// Judges one share: good, unknown, or what `r` is to say.
    [[nodiscard]] bool prepare(request& r, const share& s, const holder& who, meeting& waits);
    void decide(request& r, share& s, const holder& who, const std::vector<std::size_t>& prepared, meeting& waits);

    const std::span<const part> parts_;
    settling& others_;
};

}  // namespace tutti::cluster::backend
