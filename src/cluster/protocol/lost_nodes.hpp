// Nodes tell each other whom they have lost, for the sake of copies (docs/cluster-protocol.md, "Copies").
//
// A node L may be lost after it has read a copy of an object of this node, and committed at a version that only another
// node knows. Whoever overwrites the object must draw a higher version. So L counts as a sharer of this node's objects
// (store.hpp, S12) until every other node that is left has said `lost_node`, with its clock:
//
//   D1  A node says so of L once it has lost L. It hears no decision of L after that, and its clock says no less than
//       the version of each that it has heard.
//   D2  L may live, and be cut off from this node alone. Then L says `lost_node` of this node to the others, once no
//       commit of L has pinned copies of this node's objects any more; none begins after that. The version of each is
//       no more than the clock that comes with that word. Whoever hears it relays it to this node.
//   D3  A word is about a process: it names the first transaction that the process may run. Words about a former
//       process say nothing of one that has come back.
//
// A node that is lost while others wait for its word is waited for no longer.
//
// Thread safety: every member.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "cluster/directory/store.hpp"
#include "cluster/protocol/network.hpp"
#include "cluster/protocol/ties.hpp"

namespace tutti::cluster {

class lost_nodes {
public:
    lost_nodes(node_number self, node_number nodes, store& objects, const ties& tied)
        : self_{self}, nodes_{nodes}, store_{objects}, tied_{tied}, missing_(nodes), said_(nodes) {
        for (auto& words : said_) words.resize(nodes);
    }

    /// What the words go through. Before anything comes; without one this node says nothing.
    void speak_through(speaker& to_others) noexcept { speaker_ = &to_others; }
    /// REQUIRES: the store has lost it.
    void lose(node_number node) noexcept;
    /// The last commit that had pinned copies of objects of that node has ended. REQUIRES: the store has lost it.
    void end_of_pins(node_number node) noexcept;
    void hear(const wire::lost_node& told, node_number from) noexcept;
    /// Another process has that number. REQUIRES: the store has not admitted it yet.
    void admit(node_number node) noexcept;

private:
    /// D1, D2.
    void tell_others_of(node_number node) noexcept;
    void stop_waiting_for(node_number teller, node_number lost) noexcept;
    void say(node_number to, const wire::lost_node& what) noexcept;

    const node_number self_;
    const node_number nodes_;
    store& store_;
    const ties& tied_;
    speaker* speaker_ = nullptr;
    std::mutex guard_;
    std::vector<std::vector<node_number>> missing_;  ///< of each that is lost: who has not said so
    std::vector<std::vector<std::uint64_t>> said_;   ///< by whom, of whom: 1 + the highest first name (D3)
};

}  // namespace tutti::cluster
