// Commits that touch several groups. A commit has two phases over replicated logs, and the log of one group holds the
// decision. docs/cluster-replication.md, "Several groups", has the states and the proof.
//
//   prepare   every group but one checks its part, and holds the part's reads and writes
//   decide    the remaining group commits its own part, together with the record of the decision, if that record does
//             not exist yet
//   finish    the other groups write their parts, or release them
//
//   XGC3  All groups are asked to prepare at once. A transaction that is blocked by another one does not wait. The
//         transaction releases everything, and starts again as a new transaction. The new transaction asks the groups
//         in the order of their numbers, each one after the previous group has prepared. The new transaction waits for
//         transactions that block it. The deciding group is the last in this order if it has the last write.
//         exactly_once always adds such a last write. So a transaction that waits in a group only holds parts in lower
//         groups, and no cycle of waiting transactions is possible. If the deciding group is not the last, the
//         transaction does not wait.
//   XGC4  A group is asked to prepare a transaction once. If no answer arrives, that transaction is released, and never
//         decided. A new transaction with its own id starts instead.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include "cluster/backend/prepared_resolver.hpp"

namespace tutti::cluster::backend {

class two_phase_commit {
public:
    two_phase_commit(const group_table& all, prepared_resolver& resolver) : groups_{all}, resolver_{resolver} {}

    /// Commits `r` as in ENG3 and ENG4. `requests` has one request for each group, in ascending order of the groups.
    /// There are at least two requests, and one of them is for group `deciding_group`.
    void commit(request& r, std::vector<group_request>& requests, std::size_t deciding_group);

private:
    enum class prepare_mode : std::uint8_t { at_once, in_order };
    enum class attempt_result : std::uint8_t {
        finished,     ///< `r` contains the result
        answer_lost,  ///< an answer was lost before the decision (XGC4)
        blocked,      ///< another transaction blocked this one when all groups were asked at once (XGC3)
    };
    [[nodiscard]] attempt_result try_commit(request& r, std::vector<group_request>& requests,
                                            std::size_t deciding_group, prepare_mode mode);
    /// Asks all groups except the deciding one to prepare their requests. Returns false if a group fails. In this case
    /// `r` contains the reason, or states that an answer was lost. Adds the groups that may have prepared to
    /// `prepared`.
    [[nodiscard]] bool prepare_at_once(request& r, const std::vector<group_request>& requests,
                                       const blocking_transaction& transaction, std::vector<std::size_t>& prepared,
                                       bool& blocked);
    [[nodiscard]] bool prepare_in_order(request& r, const std::vector<group_request>& requests,
                                        const blocking_transaction& transaction, std::vector<std::size_t>& prepared);
    void decide(request& r, group_request s, const blocking_transaction& transaction,
                const std::vector<std::size_t>& prepared);
    /// Returns false if a group does not answer.
    [[nodiscard]] bool finish(const std::vector<std::size_t>& prepared, const std::string& id, bool commits);

    const group_table& groups_;
    prepared_resolver& resolver_;
};

}  // namespace tutti::cluster::backend
