// The abstract locks whose names have their home on this node, and the holds that have them, for as long as a holder's
// outermost block lasts. docs/cluster-protocol.md, "Abstract locks by name".
//
// A *hold* is all that one attempt of a block has taken, of whatever homes; its name is made as a transaction's is, of
// a count of its own. Holds of one *family*, a block and those that are open nested in it, are not in each other's way.
//
// Invariants:
//   N1  No two holds of different families have a name, unless both share it.
//   N2  Every message may come twice, late, or after one that was sent later. A thread has one hold at a time: a claim
//       of a later hold frees what an earlier one of that thread has here, and once a hold is over, no claim of it, or
//       of one before it, takes anything.
//   N3  What a lost node holds is free.
//
// A home lets no claim wait: a block that finds a name taken asks again, and gives way after a while (claims.hpp).
//
// Thread safety: every member.
#pragma once

#include <array>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "cluster/protocol/snapshots.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

using wire::transaction_name;

class named_locks {
public:
    /// Takes names in their order up to the first that is not free.
    [[nodiscard]] wire::claimed claim(const wire::claim& what);
    void release(const transaction_name& who);
    void lose(node_number node);
    /// Names that somebody holds.
    [[nodiscard]] std::size_t held() const;

private:
    struct holding {
        transaction_name who;
        transaction_name family;
        std::uint64_t age = 0;
        bool shared = false;
    };
    struct holder {
        std::uint64_t latest = 0;  ///< of its holds, the one that has `names`
        std::uint64_t over = 0;    ///< holds up to this one take nothing any more
        std::vector<object_id> names;
    };

    [[nodiscard]] static std::uint32_t thread_of(const transaction_name& who) noexcept {
        return std::uint32_t{who.node} << 16 | who.slot;
    }
    /// False: a holding is in the way, which `answer` tells of.
    [[nodiscard]] bool take(holder& by, const wire::claim& what, const wire::claim_item& item, wire::claimed& answer);
    void free_all(holder& by, std::uint32_t thread);

    mutable std::mutex guard_;
    std::unordered_map<object_id, std::vector<holding>, object_id_hash> names_;
    std::unordered_map<std::uint32_t, holder> holders_;
    std::array<bool, most_nodes> lost_{};
};

}  // namespace tutti::cluster
