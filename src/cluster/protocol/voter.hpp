// The owner's half of a commit: takes the locks that a transaction asks for, remembers them until the decision, and
// carries it out.
//
// Invariants:
//   V1  A transaction that was answered yes holds all of its locks until its decision arrives, and only then.
//   V2  Every message may come twice, late, or after one that was sent later: the outcome is that of the first. Of each
//       slot (a thread of a node) the last `remembered` outcomes are known; a prepare older than those is from a
//       transaction that its sender has given up long ago, and is refused without a trace.
//   V3  A decision to abort that overtakes its prepare is remembered, so that the prepare finds it.
//   V4  Of what was decided here, and of which the sender has a part, nothing shows until the sender has the decision,
//       or is gone. So nobody has seen this part if the sender never learns of the decision, because this node is gone.
//
// And of the transactions of a node that is gone (docs/cluster-protocol.md, "What is in doubt"):
//   V5  Only what another participant knows decides one that was prepared here. A participant says `aborted` of what it
//       was told so, or has answered no, or will: once the process that runs the transaction is lost here, a prepare of
//       it is refused. Where it may have known and has forgotten, it says that it does not know.
//   V6  A participant that was lost since the prepare is not believed: another process with that number knows nothing
//       of it.
//   V7  Read locks stay until every participant that is left has said what it knows, with a clock of no less than it
//       had when it took its own locks. So a writer that overwrites what was read has a version above the time of every
//       reader that has read what the transaction was to overwrite.
//   V8  Nothing changes any more once a survey was given to a process that follows; but for V9.
//   V9  An operator may settle what stays in doubt once every participant that is left has said that it does not know.
//       One participant does it, that of the lowest number, and tells the others: so two operators cannot settle it in
//       two ways. A commit gets a version above the clocks at which the participants had locked what it writes, and no
//       higher than the version of any writer that has overwritten what it read (V7). What was to move to the node that
//       is gone ends instead, so that what a survey has said stays true.
//   V10 A transaction that all of several participants decide has committed once each of them has said yes. So a
//       participant that has lost the coordinator commits when every other participant says that it has prepared, too.
//       Its version is the coordinator's: one above the highest clock at which a participant had all its locks. The
//       coordinator takes a yes back only by `withdraw`, and reports that nothing has happened only after a no. A lost
//       participant may have said no: without its word only the coordinator, or an operator, decides. Such a commit
//       moves no object, so a survey stays true when it ends later (V8).
//
// Thread safety: every member, for different transactions. Two messages of one transaction may come at once only if one
// is a duplicate of the other; `guard_` orders them.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "cluster/directory/store.hpp"
#include "cluster/protocol/network.hpp"

namespace tutti::cluster {

class voter {
public:
    voter(node_number self, store& objects, logical_clock& clock) noexcept
        : self_{self}, store_{objects}, clock_{clock} {}

    /// What participants ask each other through. Before anything comes; without one this participant asks none.
    void speak_through(speaker& to_others) noexcept { speaker_ = &to_others; }

    /// Locks everything or nothing; and commits, if it is the one that decides. `what` may be moved from.
    wire::answered prepare(wire::prepare&& what);
    void decide(const wire::decide& what);
    /// V10. Its node asks for no yes any more: one that was given and not decided is taken back. A yes: it has
    /// committed.
    wire::answered withdraw(const transaction_name& who);
    /// A node is gone: what was decided here for it is carried out. Of what is in doubt from now on other participants
    /// are asked, and blocks that sleep over it are told. REQUIRES: the store has lost it.
    void lose(node_number node) noexcept;
    /// Another process has that number: no message of a former one comes any more.
    void admit(node_number node);

    /// A participant has lost the node that decides. It is told what is known here, as soon as that is the last word.
    void inquire(const transaction_name& who, node_number from);
    /// What a participant knows.
    void hear(const wire::verdict& told, node_number from);
    /// V8, of a former process of that node. False: others have still to say what they know.
    [[nodiscard]] bool end_inquiries(node_number node);

    /// V9. Those in doubt, and the latest that were settled here, by their names.
    [[nodiscard]] std::vector<doubt> list_doubts();
    /// V9. An operator's word.
    [[nodiscard]] settling_answer settle(const transaction_name& who, bool commits);

    struct figures {
        std::uint64_t in_doubt = 0;                ///< objects that are locked for a node that is gone
        std::uint64_t transactions = 0;            ///< that these are of, or that have only read
        std::uint64_t by_hand = 0;                 ///< that an operator has settled, here or at another participant
        std::uint64_t committed = 0, aborted = 0;  ///< transactions of such nodes that other participants knew of
    };
    [[nodiscard]] figures count();

private:
    static constexpr std::size_t remembered = 64;
    static constexpr std::size_t most_waiting = 4096;
    static constexpr std::size_t most_settled = 64;

    struct transaction_hash {
        std::size_t operator()(const transaction_name& t) const noexcept {
            return object_id_hash{}({std::uint64_t{t.node} << 16 | t.slot, t.sequence});
        }
    };
    struct pending {
        wire::prepare what;     ///< V6: its `others` are those that were not lost since
        wire::answered answer;  ///< with a version if it is decided
        std::uint64_t latest;   ///< clock of a participant that has prepared it, when it did: the highest known
        std::vector<node_number> participants{};  ///< V9: that were not lost since
        base::deadline since{};                   ///< when the node that runs it was lost
        bool by_all = false;                      ///< V10: the yeses decide it, and none of those below was lost
        std::vector<node_number> unconfirmed{};   ///< V10: that have not said yet that they have prepared it
        [[nodiscard]] bool decided() const noexcept { return answer.version != 0; }
        /// Whether anything depends on the outcome, once the node that runs it is gone.
        [[nodiscard]] bool matters() const noexcept { return !what.writes.empty() || !participants.empty(); }
    };
    using all_pending = std::unordered_map<transaction_name, pending, transaction_hash>;
    struct past {
        std::uint64_t sequence = 0;
        wire::answered answer;
    };
    struct slot_history {
        std::uint64_t latest = 0;
        std::size_t open = 0;  ///< prepared, and not decided: one, but for messages that overtake others
        std::array<past, remembered> outcomes;
        [[nodiscard]] bool has_forgotten(std::uint64_t sequence) const noexcept {
            return latest > remembered && sequence <= latest - remembered;
        }
    };
    struct waiter {
        transaction_name who;
        node_number node;
    };

    /// All or nothing.
    [[nodiscard]] wire::obstacle lock_all(const wire::prepare& what);
    void unlock_all(const wire::prepare& what) noexcept;
    void unlock_reads(const wire::prepare& what) noexcept;
    void carry_out(wire::prepare& what, std::uint64_t version);
    /// False: it was not decided here.
    bool carry_out_for_lost(pending& p) noexcept;
    /// It is not pending any more. The next one.
    all_pending::iterator close(all_pending::iterator at, wire::answered outcome);
    slot_history& history_of(const transaction_name& who);
    /// What a message of a transaction that is over is answered, if it is.
    std::optional<wire::answered> outcome(const transaction_name& who);
    void remember(const transaction_name& who, wire::answered answer);

    // ---- V5 to V8 (voter_doubts.cpp)

    void begin_doubt(const transaction_name& who, pending& p) noexcept;
    /// False: there is no other participant to ask.
    [[nodiscard]] bool ask_others(const transaction_name& who, const pending& p) noexcept;
    /// That node says nothing of it any more.
    void miss_word_of(node_number node, const transaction_name& who) noexcept;
    void forget_participant(node_number node) noexcept;
    /// V10: each participant has prepared it.
    void commit_by_all(all_pending::iterator at);
    void tell_fate(const wire::verdict& what, std::span<const node_number> participants, node_number but);
    /// Nothing: it may be decided yet.
    [[nodiscard]] std::optional<wire::verdict> fate_of(const transaction_name& who) const;
    void answer_those_who_wait() noexcept;
    void say(node_number to, const wire::verdict& what);

    // ---- V9 (voter_settling.cpp)

    struct settled_doubt {
        transaction_name who;
        std::uint64_t version;  ///< 0: aborted
        bool by_hand;
        base::deadline since;
        std::size_t objects;
    };
    void note_settled(const transaction_name& who, const pending& p, std::uint64_t version, bool by_hand) noexcept;
    [[nodiscard]] const settled_doubt* find_settled(const transaction_name& who) const noexcept;
    /// It commits in that version, or is aborted if that is 0.
    void end_doubt(all_pending::iterator at, std::uint64_t version, bool by_hand);

    const node_number self_;
    store& store_;
    logical_clock& clock_;
    speaker* speaker_ = nullptr;
    std::mutex guard_;
    all_pending prepared_;
    std::unordered_map<std::uint32_t, slot_history> histories_;
    /// In doubt, and which participants have not said what they know.
    std::unordered_map<transaction_name, std::vector<node_number>, transaction_hash> asked_;
    std::vector<waiter> waiting_;  ///< nodes that have asked too early
    std::uint64_t committed_ = 0, aborted_ = 0, by_hand_ = 0;
    std::vector<settled_doubt> settled_;  ///< oldest first
};

}  // namespace tutti::cluster
