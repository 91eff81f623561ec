// The names that each thread holds at one node, in addition to the locks of its transactions. A name is that of an
// abstract lock or of a reserved object.
//
// A *hold* consists of all names that one attempt of a block has acquired, at all nodes. Holds are named like
// transactions, but have their own count. A thread has one hold at a time.
//
// Every message may arrive twice, late, or after a message that was sent later. Therefore a message of a later hold
// frees the names that an earlier hold of that thread has here. Once a hold is over, no message of that hold, or of an
// earlier one, acquires a name. Names that a lost node holds are free.
//
// Not thread-safe: the owner of the table locks it.
#pragma once

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "cluster/ordering/snapshot_tracker.hpp"
#include "wire/bytes.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

using wire::transaction_name;

struct thread_holds {
    std::uint64_t latest = 0;  ///< the thread's latest hold, which has `names`
    std::uint64_t ended = 0;   ///< holds up to this one acquire no names any more
    std::vector<object_id> names;
    /// Returns true if the thread has the maximum number of names at this node.
    [[nodiscard]] bool is_full() const noexcept { return names.size() >= wire::max_elements; }
};

class hold_table {
public:
    /// Returns the entry of the hold's thread, so that the caller may add names for the hold. Returns null if the hold
    /// is over or its node is lost. In that case, no block waits for the answer. Calls `free(name, thread)` for each
    /// name that an earlier hold of the thread has.
    template <class Free>
    [[nodiscard]] thread_holds* admit(const transaction_name& hold, Free&& free) {
        if (lost_[hold.node % max_nodes]) return nullptr;
        thread_holds& by = by_thread_[hold.thread()];
        const bool is_over = hold.sequence <= by.ended || hold.sequence < by.latest;
        if (is_over && !injected(fault::late_claim_acquires)) return nullptr;
        if (hold.sequence != by.latest) free_all(by, hold.thread(), free);
        by.latest = hold.sequence;
        return &by;
    }
    /// Ends the hold.
    template <class Free>
    void release(const transaction_name& hold, Free&& free) {
        thread_holds& by = by_thread_[hold.thread()];
        if (hold.sequence >= by.latest || injected(fault::late_release_frees)) free_all(by, hold.thread(), free);
        by.ended = std::max(by.ended, hold.sequence);
    }
    template <class Free>
    void on_node_lost(node_number node, Free&& free) noexcept {
        lost_[node % max_nodes] = true;
        if (injected(fault::keep_lost_holds)) return;
        for (auto& [thread, by] : by_thread_) {
            if (thread >> 16 == node) free_all(by, thread, free);
        }
    }
    /// Admits a new process of that node. The new process's holds have higher numbers than those of former processes.
    void admit(node_number node) noexcept { lost_[node % max_nodes] = false; }
    [[nodiscard]] std::size_t held() const noexcept {
        std::size_t all = 0;
        for (const auto& [thread, by] : by_thread_) all += by.names.size();
        return all;
    }

private:
    template <class Free>
    static void free_all(thread_holds& by, std::uint32_t thread, Free&& free) {
        for (const object_id& name : by.names) free(name, thread);
        by.names.clear();
    }

    std::unordered_map<std::uint32_t, thread_holds> by_thread_;
    std::array<bool, max_nodes> lost_{};
};

}  // namespace tutti::cluster
