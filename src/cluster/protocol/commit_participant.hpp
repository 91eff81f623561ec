// The owner's side of a commit: acquires the locks that a transaction requests, remembers these locks until the
// decision, and carries the decision out.
//
// Invariants:
//   CMT1  A transaction that was answered yes holds all of its locks until its decision arrives, and no longer.
//   CMT2  Every message may arrive twice, late, or after a message that was sent later. The first message determines
//       the outcome. For each slot (a thread of a node), the last `remembered_outcomes` outcomes are known. An older
//       prepare belongs to a transaction that its sender has given up long ago. It is rejected, and nothing is
//       recorded.
//   CMT3  A decision to abort that overtakes its prepare is remembered, so that the prepare finds the decision.
//   CMT4  Consider a transaction that was decided here, and that also has a part at its sender. The part here is not
//       shown until the sender has the decision, or is lost. So if this node is lost before the sender learns the
//       decision, no transaction has seen the part here.
//
// Invariants for the transactions of a lost node (docs/cluster-protocol.md, "What is in doubt"):
//   CMT5  A transaction that was prepared here is decided only by the knowledge of another participant. A participant
//       reports `aborted` if it was told so, has answered no, or will answer no. A participant will answer no once it
//       has lost the process that runs the transaction, because it then rejects a prepare. A participant that may have
//       known the decision, but has forgotten it, reports that it does not know.
//   CMT6  The fate report of a participant that was lost since the prepare is ignored. A new process with the number of
//       that participant does not know the transaction.
//   CMT7  Read locks stay until every remaining participant has reported what it knows. The clock in such a report is
//       no less than that participant's clock when it took its own locks. So a transaction that overwrites one of the
//       read objects later gets a version above these clocks. This version is also above the time of every reader of an
//       object that the transaction in doubt was to overwrite.
//   CMT8  A node sends an ownership report to a succeeding process only once the node waits for no answer to its
//       queries about the lost process. After that, only CMT9 and CMT10 decide transactions of the lost process.
//   CMT9  An operator may resolve a transaction that stays in doubt once every remaining participant has reported that
//       it does not know. Only the participant with the lowest number resolves it, and tells the others. So two
//       operators cannot resolve it in two ways. A commit gets a version above the clocks at which the participants had
//       locked the written objects. The version is no higher than that of any writer that has overwritten the read
//       objects (CMT7). An object that was to move to the lost node ends instead, so that ownership reports stay true.
//   CMT10 In some transactions, all participants decide together. Such a transaction has committed once each
//       participant has said yes. So a participant that has lost the coordinator commits when every other participant
//       reports that it has prepared, too. The participant commits with the coordinator's version: one above the
//       highest clock at which a participant had all its locks. The coordinator takes a yes back only by `withdraw`,
//       and reports that nothing has happened only after a no. A lost participant may have answered no, so without its
//       answer only the coordinator or an operator decides. A commit that all participants decide moves no object, so
//       an ownership report stays true when the commit ends later (CMT8).
//
// Thread safety: every member may be called from any thread, for different transactions. Two messages of one
// transaction may arrive at the same time only if one is a duplicate of the other; `guard_` orders such messages.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "cluster/directory/object_directory.hpp"
#include "cluster/protocol/network.hpp"

namespace tutti::cluster {

class commit_participant {
public:
    commit_participant(node_number self, object_directory& objects, logical_clock& clock) noexcept
        : self_{self}, objects_{objects}, clock_{clock} {}

    /// Sets the port through which participants ask each other. Call this function before any other member. Without a
    /// port, this participant asks no other one.
    void set_sender(message_sender& to_others) noexcept { sender_ = &to_others; }

    /// Locks everything or nothing. Commits if this participant decides. The content of `what` may be moved out.
    wire::prepare_reply prepare(wire::prepare&& what);
    void decide(const wire::decide& what);
    /// Withdraws an undecided yes on request of the coordinator (CMT10). Returns a yes if the transaction has
    /// committed.
    wire::prepare_reply withdraw(const transaction_name& who);
    /// Handles the loss of a node. Carries out its transactions that were decided here. Asks the other participants
    /// about its transactions that are now in doubt. Wakes the blocks that sleep on objects that these transactions
    /// write. REQUIRES: the object directory has lost the node.
    void on_node_lost(node_number node) noexcept;
    /// Admits another process of that node. No message of a former process arrives any more.
    void admit(node_number node);

    /// Handles the query of a participant that has lost the deciding node. Reports to that participant what is known
    /// here, as soon as that is final.
    void receive_query(const transaction_name& who, node_number from);
    /// Handles the answer of a participant.
    void receive_report(const wire::fate_report& report, node_number from);
    /// Ends the queries about a former process of that node (CMT8). Returns false if participants still have to answer.
    [[nodiscard]] bool end_queries(node_number node);

    /// Returns the transactions in doubt, and the latest ones that were resolved here, sorted by name (CMT9).
    [[nodiscard]] std::vector<doubt> list_doubts();
    /// Resolves a transaction as an operator orders (CMT9).
    [[nodiscard]] resolve_reply resolve(const transaction_name& who, bool commits);

    struct statistics {
        std::uint64_t in_doubt = 0;                ///< objects that are locked for a lost node
        std::uint64_t transactions = 0;            ///< transactions in doubt, even if they have only read here
        std::uint64_t by_operator = 0;             ///< transactions that an operator of any participant resolved
        std::uint64_t committed = 0, aborted = 0;  ///< transactions in doubt that the participants decided
    };
    [[nodiscard]] statistics count();

private:
    static constexpr std::size_t remembered_outcomes = 64;
    static constexpr std::size_t max_waiting = 4096;
    static constexpr std::size_t max_resolved = 64;

    struct transaction_hash {
        std::size_t operator()(const transaction_name& t) const noexcept {
            return object_id_hash{}({std::uint64_t{t.node} << 16 | t.slot, t.sequence});
        }
    };
    struct pending {
        wire::prepare request;                    ///< CMT6: its `others` have not been lost since the prepare
        wire::prepare_reply answer;               ///< has a version if the transaction is decided
        std::uint64_t latest;                     ///< highest known clock of a participant when it prepared
        std::vector<node_number> participants{};  ///< CMT9: the other participants not lost since the prepare
        base::deadline since{};                   ///< when the node that runs the transaction was lost
        bool decided_by_all = false;              ///< CMT10: all yeses together decide, and none of `unconfirmed` was
                                                  ///< lost
        std::vector<node_number> unconfirmed{};   ///< CMT10: participants that have not reported their prepare yet
        [[nodiscard]] bool is_decided() const noexcept { return answer.version != 0; }
        /// Returns true if the transaction's outcome has an effect once the node that runs it is lost.
        [[nodiscard]] bool has_effect() const noexcept { return !request.writes.empty() || !participants.empty(); }
    };
    using all_pending = std::unordered_map<transaction_name, pending, transaction_hash>;
    struct past_outcome {
        std::uint64_t sequence = 0;
        wire::prepare_reply answer;
    };
    struct slot_history {
        std::uint64_t latest = 0;
        std::size_t open = 0;  ///< undecided prepares: at most one, unless messages overtake each other
        std::array<past_outcome, remembered_outcomes> outcomes;
        [[nodiscard]] bool has_forgotten(std::uint64_t sequence) const noexcept {
            return latest > remembered_outcomes && sequence <= latest - remembered_outcomes;
        }
    };
    struct waiter {
        transaction_name who;
        node_number node;
    };

    /// Takes all locks or none.
    [[nodiscard]] wire::lock_refusal lock_all(const wire::prepare& what);
    void unlock_all(const wire::prepare& what) noexcept;
    void unlock_reads(const wire::prepare& what) noexcept;
    void apply_decision(wire::prepare& what, std::uint64_t version);
    /// Returns false if the transaction was not decided here.
    bool apply_decision_for_lost(pending& p) noexcept;
    /// Ends a pending transaction. Returns the next one.
    all_pending::iterator finish(all_pending::iterator at, wire::prepare_reply outcome);
    slot_history& history_of(const transaction_name& who);
    /// Returns the answer to a message of a transaction that has ended, or nothing if it has not.
    std::optional<wire::prepare_reply> outcome_of(const transaction_name& who);
    void remember(const transaction_name& who, wire::prepare_reply answer);

    // ---- CMT5 to CMT8 (in_doubt_resolution.cpp)

    void begin_doubt(const transaction_name& who, pending& p) noexcept;
    /// Asks the other participants. Returns false if there is no participant to ask.
    [[nodiscard]] bool query_others(const transaction_name& who, const pending& p) noexcept;
    /// Records that the node will report nothing more about the transaction.
    void drop_reply_of(node_number node, const transaction_name& who) noexcept;
    void forget_participant(node_number node) noexcept;
    /// Commits a transaction that each participant has prepared (CMT10).
    void commit_by_all(all_pending::iterator at);
    void send_fate(const wire::fate_report& what, std::span<const node_number> participants, node_number but);
    /// Returns the final verdict, or nothing if the transaction may still be decided.
    [[nodiscard]] std::optional<wire::fate_report> fate_of(const transaction_name& who) const;
    void answer_waiters() noexcept;
    void send_report(node_number to, const wire::fate_report& what);

    // ---- CMT9 (operator_resolution.cpp)

    struct resolved_doubt {
        transaction_name who;
        std::uint64_t version;  ///< 0: aborted
        bool by_operator;
        base::deadline since;
        std::size_t objects;
    };
    void record_resolved(const transaction_name& who, const pending& p, std::uint64_t version,
                         bool by_operator) noexcept;
    [[nodiscard]] const resolved_doubt* find_resolved(const transaction_name& who) const noexcept;
    /// Resolves a transaction in doubt: commits it at `version`, or aborts it if `version` is 0.
    void end_doubt(all_pending::iterator at, std::uint64_t version, bool by_operator);

    const node_number self_;
    object_directory& objects_;
    logical_clock& clock_;
    message_sender* sender_ = nullptr;
    std::mutex guard_;
    all_pending prepared_;
    std::unordered_map<std::uint32_t, slot_history> histories_;
    /// The transactions in doubt, and the participants that have not answered yet.
    std::unordered_map<transaction_name, std::vector<node_number>, transaction_hash> asked_;
    std::vector<waiter> waiting_;  ///< nodes that have asked before the answer was final
    std::uint64_t committed_ = 0, aborted_ = 0, by_operator_ = 0;
    std::vector<resolved_doubt> resolved_;  ///< oldest first
};

}  // namespace tutti::cluster
