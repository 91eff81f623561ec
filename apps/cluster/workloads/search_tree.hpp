// A binary search tree that is not balanced, each of its nodes an object. HyflowCPP's tree, section 6.2.1.4.
#pragma once

#include <array>

#include "cluster/workloads/key_set.hpp"

namespace cluster_app {

class search_tree final : public key_set {
public:
    enum side : std::size_t { left, right };
    /// Key k is in node k + 1. Node 0 is above the root, which is on its right.
    struct tree_node {
        std::array<std::uint64_t, 2> child{};  // 0: none
    };

    search_tree(const extent& size, tutti::cluster::node& here) : key_set{size.objects, size, here} {}

private:
    /// Where a node is, or would be.
    struct place {
        std::uint64_t parent;
        side on;
        std::uint64_t node;  // 0: none is there
    };

    void found(tutti::tx& t) override;
    bool add(tutti::tx& t, std::uint64_t key, std::uint64_t draw) override;
    bool remove(tutti::tx& t, std::uint64_t key) override;
    bool contains(tutti::tx& t, std::uint64_t key) override;
    std::string walk(std::vector<std::uint64_t>& keys, std::uint64_t most) override;

    [[nodiscard]] tutti::cluster::ref<tree_node> at(std::uint64_t node) const {
        return object_at<tree_node>(here(), kind::tree_node, node);
    }
    [[nodiscard]] place find(tutti::tx& t, std::uint64_t node) const;
    /// What takes the place of a node that has both children: the first one after it, cut off from where it was.
    [[nodiscard]] std::uint64_t take_successor(tutti::tx& t, std::uint64_t of) const;
};

}  // namespace cluster_app
