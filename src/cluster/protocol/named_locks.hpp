// The abstract locks whose names have their home on this node, and the holds that have them, for as long as a holder's
// outermost block lasts. docs/cluster-protocol.md, "Abstract locks by name".
//
// Holds (holders.hpp) of one *family*, a block and those that are open nested in it, are not in each other's way.
//
// Invariants:
//   N1  No two holds of different families have a name, unless both share it.
//   N2  A claim of a later hold frees what an earlier one of its thread has here, and once a hold is over, no claim of
//       it, or of one before it, takes anything, however late messages come, or how often.
//   N3  What a lost node holds is free.
//
// A home lets no claim wait: a block that finds a name taken asks again, and gives way after a while (claims.hpp).
//
// Thread safety: every member.
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "cluster/protocol/holders.hpp"

namespace tutti::cluster {

class named_locks {
public:
    /// Takes names in their order up to the first that is not free.
    [[nodiscard]] wire::claimed claim(const wire::claim& what);
    void release(const transaction_name& who);
    void lose(node_number node) noexcept;
    void admit(node_number node) noexcept;
    /// Names that somebody holds.
    [[nodiscard]] std::size_t held() const;

private:
    struct holding {
        transaction_name who;
        transaction_name family;
        std::uint64_t age = 0;
        bool shared = false;
    };

    /// False: a holding is in the way, which `answer` tells of.
    [[nodiscard]] bool take(holder& by, const wire::claim& what, const wire::claim_item& item, wire::claimed& answer);
    [[nodiscard]] auto freeing() noexcept {
        return [this](const object_id& name, std::uint32_t thread) { free(name, thread); };
    }
    void free(const object_id& name, std::uint32_t thread) noexcept;

    mutable std::mutex guard_;
    std::unordered_map<object_id, std::vector<holding>, object_id_hash> names_;
    holders holders_;
};

}  // namespace tutti::cluster
