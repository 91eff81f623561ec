// Commits that touch several groups. A commit has two phases over replicated logs, and the log of one group holds the
// decision. docs/cluster-replication.md, "Several groups", has the states and the proof.
//
//   prepare   every group but one checks its part, and holds the part's reads and writes
//   decide    the remaining group commits its own part, together with the record of the decision, if that record does
//             not exist yet
//   finish    the other groups write their parts, or release them
//
//   X3  All groups are asked to prepare at once. A transaction that meets another one there does not wait. The
//       transaction releases everything, and starts again as a new transaction. The new transaction asks the groups in
//       the order of their numbers, each after the one before has prepared. The new transaction waits for transactions
//       that it meets. The deciding group is the last in this order if the last write is in it, as the last write of
//       exactly_once is. So a transaction that waits at a part only holds lower parts, and no circle of waiting
//       transactions is possible. If the deciding group is not the last, the transaction does not wait.
//   X4  A group is asked to prepare a transaction once. If no answer comes, that transaction is released, and never
//       decided. Another one is started instead, with an id of its own.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include "cluster/backend/settling.hpp"

namespace tutti::cluster::backend {

class crossing {
public:
    crossing(const parts& all, settling& others) : parts_{all}, others_{others} {}

    /// Commits `r` as in B3 and B4. `shares` are its shares: at least two, by ascending parts, with one in part
    /// `decides`.
    void commit(request& r, std::vector<share>& shares, std::size_t decides);

private:
    enum class how : std::uint8_t { at_once, in_order };
    enum class ending : std::uint8_t {
        over,  ///< `r` has the result
        lost,  ///< an answer was lost before the decision (X4)
        met,   ///< another transaction was in the way when all were asked at once (X3)
    };
    [[nodiscard]] ending try_commit(request& r, std::vector<share>& shares, std::size_t decides, how asks);
    /// Has each share prepared, except that of the deciding group. Returns false if one fails: `r` has the reason, or
    /// says that an answer was lost. Adds the parts that may have prepared to `prepared`.
    [[nodiscard]] bool prepare_at_once(request& r, const std::vector<share>& shares, const holder& who,
                                       std::vector<std::size_t>& prepared, bool& met);
    [[nodiscard]] bool prepare_in_order(request& r, const std::vector<share>& shares, const holder& who,
                                        std::vector<std::size_t>& prepared);
    void decide(request& r, share s, const holder& who, const std::vector<std::size_t>& prepared);
    /// Returns false if a group does not answer.
    [[nodiscard]] bool finish(const std::vector<std::size_t>& prepared, const std::string& id, bool commits);

    const parts& parts_;
    settling& others_;
};

}  // namespace tutti::cluster::backend
