// The pins and references that a commit holds at this node. Until its decision, the commit pins copies that it has read
// (OBC4). Until its end, the commit has references to its participants and to the owners of these copies
// (peer_references.hpp).
//
// Thread safety: not thread-safe. One transaction uses the object.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cluster/protocol/protocol_node.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

/// The part of a prepare for one node.
struct prepare_part {
    node_number at = 0;
    wire::prepare request;
};

class commit_references {
public:
    explicit commit_references(protocol_node& node) noexcept : node_{node} {}
    ~commit_references() {
        unpin();
        drop();
    }
    commit_references(const commit_references&) = delete;
    commit_references& operator=(const commit_references&) = delete;

    /// Reserves memory for `copies` pins. @throws std::bad_alloc
    void reserve_pins(std::size_t copies) { pinned_.reserve(copies); }
    /// Pins this node's copy of the object. Returns false if there is no valid copy of that version.
    /// REQUIRES: reserve_pins()
    [[nodiscard]] bool pin(const object_id& id, std::uint64_t version, node_number owner) noexcept {
        if (!node_.cache.pin(id, version)) return false;
        pinned_.push_back({id, owner});
        return true;
    }
    [[nodiscard]] bool has_pins() const noexcept { return !pinned_.empty(); }
    /// Unpins all copies.
    void unpin() noexcept;

    /// Adds references to the nodes of the parts and to the owners of pinned copies, except this node. If one of these
    /// nodes is lost, drops all references, and returns the first lost node. If the function throws std::bad_alloc, it
    /// has added nothing.
    [[nodiscard]] std::optional<node_number> add(std::span<const prepare_part> parts);
    /// Drops all references, and no longer counts the pins at their owners (peer_references::drop_pins).
    void drop() noexcept;

private:
    struct pinned_copy {
        object_id id;
        node_number owner;
    };
    [[nodiscard]] bool add(node_number to) noexcept;

    protocol_node& node_;
    std::vector<pinned_copy> pinned_;
    std::vector<node_number> pin_owners_;  // each owner once; counted by peer_references::add_pins
    std::vector<node_number> peers_;       // each node once; counted by peer_references::add
    std::uint64_t epoch_ = 0;              // the epoch of the commit, while peers_ is not empty
};

}  // namespace tutti::cluster
