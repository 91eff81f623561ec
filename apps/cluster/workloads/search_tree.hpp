// An unbalanced binary search tree whose nodes are objects. HyflowCPP's tree, section 6.2.1.4.
#pragma once

#include <array>

#include "cluster/workloads/key_set.hpp"

namespace cluster_app {

class search_tree final : public key_set {
public:
    enum side : std::size_t { left, right };
    /// Key k is in node k + 1. Node 0 is above the root, which is its right child.
    struct tree_node {
        std::array<std::uint64_t, 2> child{};  // 0: no child
    };

    search_tree(const extent& size, tutti::cluster::node& here) : key_set{size.objects, size, here} {}

private:
    /// The place where a node is, or would be.
    struct place {
        std::uint64_t parent;
        side on;
        std::uint64_t node;  // 0: the place is empty
    };

    void found(tutti::tx& t) override;
    bool add(tutti::tx& t, std::uint64_t key, std::uint64_t draw) override;
    bool remove(tutti::tx& t, std::uint64_t key) override;
    bool contains(tutti::tx& t, std::uint64_t key) override;
    std::string walk(std::vector<std::uint64_t>& keys, std::uint64_t max) override;

    [[nodiscard]] tutti::cluster::ref<tree_node> at(std::uint64_t node) const {
        return object_at<tree_node>(here(), kind::tree_node, node);
    }
    [[nodiscard]] place find(tutti::tx& t, std::uint64_t node) const;
    /// Unlinks and returns the first node after `of`, which replaces a node with two children.
    [[nodiscard]] std::uint64_t take_successor(tutti::tx& t, std::uint64_t of) const;
};

}  // namespace cluster_app
