#include "cluster/protocol/named_locks.hpp"

#include <algorithm>
#include <tuple>

#include "wire/bytes.hpp"

namespace tutti::cluster {
namespace {

/// Of two that have waited, the older one has its way. No two threads of a cluster are equal.
auto rank(std::uint64_t age, const transaction_name& who) noexcept { return std::tuple{age, who.node, who.slot}; }

}  // namespace

bool named_locks::take(holder& by, const wire::claim& what, const wire::claim_item& item, wire::claimed& answer) {
    if (by.names.size() >= wire::most_elements) {
        answer.full = true;
        return false;
    }
    std::vector<holding>& all = names_[item.name];
    holding* mine = nullptr;
    for (holding& h : all) {
        if (h.who == what.who) mine = &h;
        if (h.family == what.family || (h.shared && item.shared) || broken(fault::grant_held_name)) continue;
        answer.older = rank(h.age, h.who) < rank(what.age, what.who);
        return false;
    }
    if (mine != nullptr) {
        mine->shared = mine->shared && item.shared;
        return true;
    }
    by.names.push_back(item.name);
    all.push_back({what.who, what.family, what.age, item.shared});
    return true;
}

void named_locks::free_all(holder& by, std::uint32_t thread) {
    for (const object_id& name : by.names) {
        const auto at = names_.find(name);
        if (at == names_.end()) continue;
        std::erase_if(at->second, [thread](const holding& h) { return thread_of(h.who) == thread; });
        if (at->second.empty()) names_.erase(at);
    }
    by.names.clear();
}

wire::claimed named_locks::claim(const wire::claim& what) {
    const std::lock_guard hold{guard_};
    const std::uint32_t thread = thread_of(what.who);
    wire::claimed answer;
    if (lost_[what.who.node % most_nodes]) return answer;
    holder& by = holders_[thread];
    const bool is_over = what.who.sequence <= by.over || what.who.sequence < by.latest;
    if (is_over && !broken(fault::late_claim_takes)) return answer;  // N2: its sender does not wait for it any more
    if (what.who.sequence != by.latest) free_all(by, thread);
    by.latest = what.who.sequence;
    for (const wire::claim_item& item : what.names) {
        if (!take(by, what, item, answer)) break;
        ++answer.granted;
    }
    return answer;
}

void named_locks::release(const transaction_name& who) {
    const std::lock_guard hold{guard_};
    holder& by = holders_[thread_of(who)];
    if (who.sequence >= by.latest || broken(fault::late_release_frees)) free_all(by, thread_of(who));
    by.over = std::max(by.over, who.sequence);
}

void named_locks::lose(node_number node) {
    const std::lock_guard hold{guard_};
    lost_[node % most_nodes] = true;
    for (auto& [thread, by] : holders_) {
        if (thread >> 16 == node) free_all(by, thread);
    }
}

std::size_t named_locks::held() const {
    const std::lock_guard hold{guard_};
    return names_.size();
}

}  // namespace tutti::cluster
