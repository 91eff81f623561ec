#include "cluster/workloads/search_tree.hpp"

#include <fmt/format.h>

namespace cluster_app {

using tutti::tx;

void search_tree::found(tx& t) {
    if (at(0).find(t) == nullptr) at(0).publish(t, {});
}

search_tree::place search_tree::find(tx& t, std::uint64_t node) const {
    place p{0, right, at(0).read(t).child[right]};
    while (p.node != 0 && p.node != node) {
        const side next = node < p.node ? left : right;
        p = {p.node, next, at(p.node).read(t).child[next]};
    }
    return p;
}

bool search_tree::add(tx& t, std::uint64_t key, std::uint64_t) {
    const std::uint64_t node = key + 1;
    const place p = find(t, node);
    if (p.node != 0) return false;
    at(node).publish(t, {});
    at(p.parent).write(t).child[p.on] = node;
    return true;
}

std::uint64_t search_tree::take_successor(tx& t, std::uint64_t of) const {
    place p{of, right, at(of).read(t).child[right]};
    for (;;) {
        const std::uint64_t lower = at(p.node).read(t).child[left];
        if (lower == 0) break;
        p = {p.node, left, lower};
    }
    at(p.parent).write(t).child[p.on] = at(p.node).read(t).child[right];
    return p.node;
}

bool search_tree::remove(tx& t, std::uint64_t key) {
    const place p = find(t, key + 1);
    if (p.node == 0) return false;
    const tree_node gone = at(p.node).read(t);
    std::uint64_t replacement = gone.child[gone.child[left] == 0 ? right : left];
    if (gone.child[left] != 0 && gone.child[right] != 0) {
        replacement = take_successor(t, p.node);
        at(replacement).write(t).child = at(p.node).read(t).child;  // excluding the replacement, if it was the child
    }
    at(p.parent).write(t).child[p.on] = replacement;
    at(p.node).erase(t);
    return true;
}

bool search_tree::contains(tx& t, std::uint64_t key) { return find(t, key + 1).node != 0; }

std::string search_tree::walk(std::vector<std::uint64_t>& keys, std::uint64_t max) {
    struct part {
        std::uint64_t node, above, below;  // its nodes are strictly between these
    };
    return tutti::atomically([&](tx& t) -> std::string {
        keys.clear();
        std::vector<part> open{{at(0).read(t).child[right], 0, max + 1}};
        while (!open.empty()) {
            const part p = open.back();
            open.pop_back();
            if (p.node == 0) continue;
            // This check also ends a cycle.
            if (p.node <= p.above || p.node >= p.below) return fmt::format("key {} is on the wrong side", p.node - 1);
            const tree_node* const n = at(p.node).find(t);
            if (n == nullptr) return fmt::format("there is no key {}", p.node - 1);
            keys.push_back(p.node - 1);
            open.push_back({n->child[left], p.above, p.node});
            open.push_back({n->child[right], p.node, p.below});
        }
        return {};
    });
}

}  // namespace cluster_app
