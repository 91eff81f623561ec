// The abstract locks whose names have their home on this node, and the holds that have them until the end of the
// holder's outermost block. docs/cluster-protocol.md, "Abstract locks by name".
//
// Holds (hold_table.hpp) of one execution do not conflict. An execution is a block and the blocks that are open nested
// in it.
//
// Invariants:
//   NLK1  Two holds of different executions have the same name only if both hold it shared.
//   NLK2  A claim of a later hold frees the names that an earlier hold of its thread has here. Once a hold is over, no
//       claim of that hold, or of an earlier one, acquires a name, even if messages arrive late or repeatedly.
//   NLK3  Names that a lost node holds are free.
//
// A home does not queue claims. A block that finds a name taken repeats its claim, and gives up after a while
// (named_lock_client.hpp).
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "cluster/protocol/hold_table.hpp"

namespace tutti::cluster {

class named_lock_table {
public:
    /// Acquires the names in their order, up to the first one that is not free.
    [[nodiscard]] wire::claim_reply claim(const wire::claim& what);
    void release(const transaction_name& who);
    void on_node_lost(node_number node) noexcept;
    void admit(node_number node) noexcept;
    /// Returns how many names are held.
    [[nodiscard]] std::size_t held() const;

private:
    struct holding {
        transaction_name who;
        transaction_name root_execution;
        std::uint64_t age = 0;
        bool shared = false;
    };

    /// Acquires one name. Returns false if another hold conflicts, or the holder has the maximum number of names.
    /// `answer` then contains the reason.
    [[nodiscard]] bool acquire(thread_holds& by, const wire::claim& what, const wire::claim_item& item,
                               wire::claim_reply& answer);
    [[nodiscard]] auto free_callback() noexcept {
        return [this](const object_id& name, std::uint32_t thread) { free(name, thread); };
    }
    void free(const object_id& name, std::uint32_t thread) noexcept;

    mutable std::mutex guard_;
    std::unordered_map<object_id, std::vector<holding>, object_id_hash> names_;
    hold_table holds_;
};

}  // namespace tutti::cluster
