// A skip list of five levels (Pugh, 1990) whose nodes are objects. HyflowCPP's skip list, section 6.2.1.3.
#pragma once

#include <array>

#include "cluster/workloads/key_set.hpp"

namespace cluster_app {

class skip_list final : public key_set {
public:
    static constexpr std::size_t levels = 5;
    /// Node 0 is the head, which is on every level. Key k is in node k + 1.
    struct skip_node {
        std::uint64_t height = 0;                  // number of levels that the node is on, from the lowest
        std::array<std::uint64_t, levels> next{};  // 0: end of the list
    };

    skip_list(const extent& size, tutti::cluster::node& here) : key_set{size.objects, size, here} {}

private:
    void found(tutti::tx& t) override;
    bool add(tutti::tx& t, std::uint64_t key, std::uint64_t draw) override;
    bool remove(tutti::tx& t, std::uint64_t key) override;
    bool contains(tutti::tx& t, std::uint64_t key) override;
    std::string walk(std::vector<std::uint64_t>& keys, std::uint64_t max) override;

    [[nodiscard]] tutti::cluster::ref<skip_node> at(std::uint64_t node) const {
        return object_at<skip_node>(here(), kind::skip_list_node, node);
    }
    /// Returns the last node before `node` on every level.
    std::array<std::uint64_t, levels> before(tutti::tx& t, std::uint64_t node) const;
};

}  // namespace cluster_app
