// Commits that touch several groups. A commit has two phases over replicated logs, and the log of one group holds the
// decision. docs/cluster-replication.md, "Several groups", has the states and the proof.
//
//   prepare   every group but one checks its part, and holds the part's reads and writes
//   decide    the remaining group commits its own part, together with the record of the decision, if that record does
//             not exist yet
//   finish    the other groups write their parts, or release them
//
//   XGC3  At first, the program asks all groups except the deciding one to prepare in parallel. If another transaction
//         blocks this transaction in one of these groups, this transaction does not wait. The program releases
//         everything, and starts again with a new transaction. For the new transaction, the program asks these groups
//         in the order of group_table, each after the previous one has prepared. The new transaction waits for
//         transactions that block it. sharded_engine lets the group of the commit's last write decide. exactly_once
//         always adds a last write, to the last group of the commit (EXO4). So a transaction that waits in a group only
//         holds parts in earlier groups, and no cycle of waiting transactions is possible. If the deciding group is not
//         the last, the transaction does not wait in the deciding group.
//   XGC4  If a request to prepare a transaction gets no answer, the program does not repeat this request. The
//         transaction is released, and never decided. A new transaction with its own id starts instead.
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
        blocked,      ///< another transaction blocked this one while the groups were asked in parallel (XGC3)
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
