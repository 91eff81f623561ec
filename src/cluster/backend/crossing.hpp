// Commits that touch several groups: two phases over replicated logs, of which one group's log holds the decision
// (docs/cluster-replication.md, "Several groups", has the states and the proof).
//
//   prepare   every group but one judges its part, and holds what that has read and writes
//   decide    the one that is left commits its own part, and with it the record of the decision, if there is none yet
//   finish    the others write what they have held back, or let it go
//
//   X3  all groups are asked to prepare at once, and a transaction that meets another there waits for none: it lets
//       everything go, and begins anew, as another one, which asks the groups in the order of their numbers, each when
//       the one before has prepared; that one waits. The group that decides is the last of all if the last write is
//       in the last of them, as that of exactly_once is. So a transaction that waits for another holds parts below
//       the one that it waits at, and none waits in a circle; where the order is another, it does not wait
//   X4  a group is asked to prepare a transaction once. If no answer comes, that one is let go, and never decided, and
//       another is begun in its place, with an id of its own
//
// Thread safety: every member.
#pragma once

#include "cluster/backend/settling.hpp"

namespace tutti::cluster::backend {

class crossing {
public:
    crossing(const parts& all, settling& others) : parts_{all}, others_{others} {}

    /// B3 and B4, of `r`, whose shares these are: two at least, by ascending parts, and one of them in `decides`.
    void commit(request& r, std::vector<share>& shares, std::size_t decides);

private:
    enum class how : std::uint8_t { at_once, in_order };
    enum class ending : std::uint8_t {
        over,  ///< `r` says what became of it
        lost,  ///< an answer was, before the decision (X4)
        met,   ///< another transaction was in the way, at once (X3)
    };
    [[nodiscard]] ending try_commit(request& r, std::vector<share>& shares, std::size_t decides, how asks);
    /// Has each share judged but that of the group that decides. False: `r` says why not, or that an answer was lost.
    /// Those that may have prepared are in `prepared`.
    [[nodiscard]] bool prepare_at_once(request& r, const std::vector<share>& shares, const holder& who,
                                       std::vector<std::size_t>& prepared, bool& met);
    [[nodiscard]] bool prepare_in_order(request& r, const std::vector<share>& shares, const holder& who,
                                        std::vector<std::size_t>& prepared);
    void decide(request& r, share s, const holder& who, const std::vector<std::size_t>& prepared);
    /// False: one does not answer.
    [[nodiscard]] bool finish(const std::vector<std::size_t>& prepared, const std::string& id, bool commits);

    const parts& parts_;
    settling& others_;
};

}  // namespace tutti::cluster::backend
