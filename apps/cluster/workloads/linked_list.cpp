#include "cluster/workloads/linked_list.hpp"

#include <fmt/format.h>

namespace cluster_app {

using tutti::tx;

void linked_list::found(tx& t) {
    if (at(0).find(t) == nullptr) at(0).publish(t, {});
}

std::uint64_t linked_list::before(tx& t, std::uint64_t node) const {
    std::uint64_t last = 0;
    for (;;) {
        const std::uint64_t next = at(last).read(t).next;
        if (next == 0 || next >= node) return last;
        last = next;
    }
}

bool linked_list::add(tx& t, std::uint64_t key, std::uint64_t) {
    const std::uint64_t node = key + 1, last = before(t, node), next = at(last).read(t).next;
    if (next == node) return false;
    at(node).publish(t, {next});
    at(last).write(t).next = node;
    return true;
}

bool linked_list::remove(tx& t, std::uint64_t key) {
    const std::uint64_t node = key + 1, last = before(t, node);
    if (at(last).read(t).next != node) return false;
    at(last).write(t).next = at(node).read(t).next;
    at(node).erase(t);
    return true;
}

bool linked_list::contains(tx& t, std::uint64_t key) { return at(before(t, key + 1)).read(t).next == key + 1; }

std::string linked_list::walk(std::vector<std::uint64_t>& keys, std::uint64_t max) {
    return tutti::atomically([&](tx& t) -> std::string {
        keys.clear();
        std::uint64_t node = at(0).read(t).next;
        for (std::uint64_t last = 0; node != 0; node = at(node).read(t).next) {
            if (node <= last) return fmt::format("key {} comes after key {}", node - 1, last - 1);
            if (node > max || at(node).find(t) == nullptr) return fmt::format("there is no key {}", node - 1);
            keys.push_back(node - 1);
            last = node;
        }
        return {};
    });
}

}  // namespace cluster_app
