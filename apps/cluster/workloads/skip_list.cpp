#include "cluster/workloads/skip_list.hpp"

#include <bit>

#include <fmt/format.h>

namespace cluster_app {

using tutti::tx;

void skip_list::found(tx& t) {
    if (at(0).find(t) == nullptr) at(0).publish(t, {levels, {}});
}

std::array<std::uint64_t, skip_list::levels> skip_list::before(tx& t, std::uint64_t node) const {
    std::array<std::uint64_t, levels> last{};
    std::uint64_t from = 0;
    for (std::size_t level = levels; level-- > 0;) {
        for (;;) {
            const std::uint64_t next = at(from).read(t).next[level];
            if (next == 0 || next >= node) break;
            from = next;
        }
        last[level] = from;
    }
    return last;
}

bool skip_list::add(tx& t, std::uint64_t key, std::uint64_t draw) {
    const std::uint64_t node = key + 1;
    const auto last = before(t, node);
    if (at(last[0]).read(t).next[0] == node) return false;
    // Half of the nodes are only on the lowest level, half of the others on two levels, …
    skip_node fresh{std::min<std::uint64_t>(1 + static_cast<unsigned>(std::countr_zero(draw)), levels), {}};
    for (std::size_t level = 0; level < fresh.height; ++level) {
        std::uint64_t& link = at(last[level]).write(t).next[level];
        fresh.next[level] = link;
        link = node;
    }
    at(node).publish(t, fresh);
    return true;
}

bool skip_list::remove(tx& t, std::uint64_t key) {
    const std::uint64_t node = key + 1;
    const auto last = before(t, node);
    if (at(last[0]).read(t).next[0] != node) return false;
    const skip_node gone = at(node).read(t);
    for (std::size_t level = 0; level < gone.height; ++level) at(last[level]).write(t).next[level] = gone.next[level];
    at(node).erase(t);
    return true;
}

bool skip_list::contains(tx& t, std::uint64_t key) { return at(before(t, key + 1)[0]).read(t).next[0] == key + 1; }

std::string skip_list::walk(std::vector<std::uint64_t>& keys, std::uint64_t max) {
    return tutti::atomically([&](tx& t) -> std::string {
        keys.clear();
        // Walks along the lowest level, with the next expected node on each higher level.
        std::array<std::uint64_t, levels> due = at(0).read(t).next;
        for (std::uint64_t last = 0; due[0] != 0;) {
            const std::uint64_t node = due[0];
            if (node <= last) return fmt::format("key {} comes after key {}", node - 1, last - 1);
            const skip_node* const n = node > max ? nullptr : at(node).find(t);
            if (n == nullptr) return fmt::format("there is no key {}", node - 1);
            for (std::size_t level = 0; level < levels; ++level) {
                if ((due[level] == node) != (level < n->height)) {
                    return fmt::format("key {} is on {} levels, but level {} says otherwise", node - 1, n->height,
                                       level);
                }
                if (level < n->height) due[level] = n->next[level];
            }
            keys.push_back(node - 1);
            last = node;
        }
        for (std::size_t level = 1; level < levels; ++level) {
            if (due[level] != 0)
                return fmt::format("level {} has key {}, which is not in the list", level, due[level] - 1);
        }
        return {};
    });
}

}  // namespace cluster_app
