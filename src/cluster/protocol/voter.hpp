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
// Thread safety: every member, for different transactions. Two messages of one transaction may come at once only if one
// is a duplicate of the other; `guard_` orders them.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "cluster/directory/store.hpp"

namespace tutti::cluster {

class voter {
public:
    voter(store& objects, logical_clock& clock) noexcept : store_{objects}, clock_{clock} {}

    /// Locks everything or nothing; and commits, if it is the one that decides. `what` may be moved from.
    wire::answered prepare(wire::prepare&& what);
    void decide(const wire::decide& what);
    /// A node is gone: what was decided here for it is carried out, and blocks that sleep over what is in doubt from
    /// now on are told. REQUIRES: the store has lost it.
    void lose(node_number node) noexcept;
    /// Another process has that number: no message of a former one comes any more.
    void admit(node_number node);

private:
    static constexpr std::size_t remembered = 64;

    struct transaction_hash {
        std::size_t operator()(const transaction_name& t) const noexcept {
            return object_id_hash{}({std::uint64_t{t.node} << 16 | t.slot, t.sequence});
        }
    };
    struct pending {
        wire::prepare what;
        wire::answered answer;  ///< with a version if it is decided
        [[nodiscard]] bool decided() const noexcept { return answer.version != 0; }
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
    };

    /// All or nothing.
    [[nodiscard]] wire::obstacle lock_all(const wire::prepare& what);
    void unlock_all(const wire::prepare& what) noexcept;
    void carry_out(wire::prepare& what, std::uint64_t version);
    /// False: it was not decided here, and stays in doubt.
    bool carry_out_for_lost(pending& p) noexcept;
    /// It is not pending any more. The next one.
    all_pending::iterator close(all_pending::iterator at, wire::answered outcome);
    slot_history& history_of(const transaction_name& who);
    /// What a message of a transaction that is over is answered, if it is.
    std::optional<wire::answered> outcome(const transaction_name& who);
    void remember(const transaction_name& who, wire::answered answer);

    store& store_;
    logical_clock& clock_;
    std::mutex guard_;
    all_pending prepared_;
    std::unordered_map<std::uint32_t, slot_history> histories_;
};

}  // namespace tutti::cluster
