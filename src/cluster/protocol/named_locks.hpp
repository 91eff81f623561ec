// The abstract locks whose names have their home on this node, and the holds that have them until the end of the
// holder's outermost block. docs/cluster-protocol.md, "Abstract locks by name".
//
// Holds (holders.hpp) of one *family* do not conflict. A family is a block and the blocks that are open nested in it.
//
// Invariants:
//   N1  Two holds of different families have the same name only if both share it.
//   N2  A claim of a later hold frees what an earlier hold of its thread has here. Once a hold is over, no claim of
//       that hold, or of one before it, takes anything, however late or how often messages come.
//   N3  Names that a lost node holds are free.
//
// A home does not queue claims. A block that finds a name taken asks again, and gives up after a while (claims.hpp).
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "cluster/protocol/holders.hpp"

namespace tutti::cluster {

class named_locks {
public:
    /// Takes the names in their order, up to the first one that is not free.
    [[nodiscard]] wire::claim_reply claim(const wire::claim& what);
    void release(const transaction_name& who);
    void lose(node_number node) noexcept;
    void admit(node_number node) noexcept;
    /// Returns how many names are held.
    [[nodiscard]] std::size_t held() const;

private:
    struct holding {
        transaction_name who;
        transaction_name family;
        std::uint64_t age = 0;
        bool shared = false;
    };

    /// Takes one name. Returns false if another holding conflicts, or the holder is full. `answer` then says which.
    [[nodiscard]] bool take(holder& by, const wire::claim& what, const wire::claim_item& item,
                            wire::claim_reply& answer);
    [[nodiscard]] auto freeing() noexcept {
        return [this](const object_id& name, std::uint32_t thread) { free(name, thread); };
    }
    void free(const object_id& name, std::uint32_t thread) noexcept;

    mutable std::mutex guard_;
    std::unordered_map<object_id, std::vector<holding>, object_id_hash> names_;
    holders holders_;
};

}  // namespace tutti::cluster
