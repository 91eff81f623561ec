// A sorted list of nodes, each an object. HyflowCPP's linked list, section 6.2.1.2.
#pragma once

#include "cluster/workloads/key_set.hpp"

namespace cluster_app {

class linked_list final : public key_set {
public:
    /// Node 0 is the head; key k is in node k + 1.
    struct list_node {
        std::uint64_t next = 0;  // 0: end of the list
    };

    linked_list(const extent& size, tutti::cluster::node& here) : key_set{size.objects, size, here} {}

private:
    void found(tutti::tx& t) override;
    bool add(tutti::tx& t, std::uint64_t key, std::uint64_t draw) override;
    bool remove(tutti::tx& t, std::uint64_t key) override;
    bool contains(tutti::tx& t, std::uint64_t key) override;
    std::string walk(std::vector<std::uint64_t>& keys, std::uint64_t max) override;

    [[nodiscard]] tutti::cluster::ref<list_node> at(std::uint64_t node) const {
        return object_at<list_node>(here(), kind::list_node, node);
    }
    /// Returns the last node before `node`.
    std::uint64_t before(tutti::tx& t, std::uint64_t node) const;
};

}  // namespace cluster_app
