// What each thread holds at one node beyond its transactions: names that are abstract locks, or objects that are
// reserved.
//
// A *hold* is all that one attempt of a block has taken, of whatever nodes; its name is made as a transaction's is, of
// a count of its own. A thread has one hold at a time. Every message may come twice, late, or after one that was sent
// later: so what comes of a later hold frees what an earlier one of that thread has here, and once a hold is over,
// nothing that comes of it, or of one before it, takes anything. What a lost node holds is free.
//
// Not thread-safe: its owner guards it.
#pragma once

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "cluster/protocol/snapshots.hpp"
#include "wire/bytes.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

using wire::transaction_name;

struct holder {
    std::uint64_t latest = 0;  ///< of its holds, the one that has `names`
    std::uint64_t over = 0;    ///< holds up to this one take nothing any more
    std::vector<object_id> names;
    /// As many as a thread may have at one node.
    [[nodiscard]] bool full() const noexcept { return names.size() >= wire::most_elements; }
};

class holders {
public:
    /// The thread's holder, which may take more for that hold. Null: the hold is over, or its node is lost, and no
    /// block waits for the answer.
    /// `free(name, thread)` frees a name that an earlier hold of the thread has.
    template <class Free>
    [[nodiscard]] holder* admit(const transaction_name& hold, Free&& free) {
        if (lost_[hold.node % most_nodes]) return nullptr;
        holder& by = by_thread_[hold.thread()];
        const bool is_over = hold.sequence <= by.over || hold.sequence < by.latest;
        if (is_over && !broken(fault::late_claim_takes)) return nullptr;
        if (hold.sequence != by.latest) free_all(by, hold.thread(), free);
        by.latest = hold.sequence;
        return &by;
    }
    /// The hold is over.
    template <class Free>
    void release(const transaction_name& hold, Free&& free) {
        holder& by = by_thread_[hold.thread()];
        if (hold.sequence >= by.latest || broken(fault::late_release_frees)) free_all(by, hold.thread(), free);
        by.over = std::max(by.over, hold.sequence);
    }
    template <class Free>
    void lose(node_number node, Free&& free) noexcept {
        lost_[node % most_nodes] = true;
        if (broken(fault::keep_lost_holds)) return;
        for (auto& [thread, by] : by_thread_) {
            if (thread >> 16 == node) free_all(by, thread, free);
        }
    }
    /// Another process has that number; its holds follow those of former ones.
    void admit(node_number node) noexcept { lost_[node % most_nodes] = false; }
    [[nodiscard]] std::size_t held() const noexcept {
        std::size_t all = 0;
        for (const auto& [thread, by] : by_thread_) all += by.names.size();
        return all;
    }

private:
    template <class Free>
    static void free_all(holder& by, std::uint32_t thread, Free&& free) {
        for (const object_id& name : by.names) free(name, thread);
        by.names.clear();
    }

    std::unordered_map<std::uint32_t, holder> by_thread_;
    std::array<bool, most_nodes> lost_{};
};

}  // namespace tutti::cluster
