#include "cluster/protocol/named_locks.hpp"

#include <algorithm>
#include <tuple>

#include "wire/bytes.hpp"

namespace tutti::cluster {
namespace {

/// Returns the order of two waiting holds: the older one goes first. Two threads of a cluster never compare equal.
auto rank(std::uint64_t age, const transaction_name& who) noexcept { return std::tuple{age, who.node, who.slot}; }

}  // namespace

bool named_locks::take(holder& by, const wire::claim& what, const wire::claim_item& item, wire::claim_reply& answer) {
    if (by.full()) {
        answer.is_full = true;
        return false;
    }
    std::vector<holding>& all = names_[item.name];
    holding* mine = nullptr;
    for (holding& h : all) {
        if (h.who == what.who) mine = &h;
        if (h.family == what.root_execution || (h.shared && item.shared) || injected(fault::grant_held_name)) continue;
        answer.older = rank(h.age, h.who) < rank(what.age, what.who);
        return false;
    }
    if (mine != nullptr) {
        mine->shared = mine->shared && item.shared;
        return true;
    }
    by.names.push_back(item.name);
    all.push_back({what.who, what.root_execution, what.age, item.shared});
    return true;
}

void named_locks::free(const object_id& name, std::uint32_t thread) noexcept {
    const auto at = names_.find(name);
    if (at == names_.end()) return;
    std::erase_if(at->second, [thread](const holding& h) { return h.who.thread() == thread; });
    if (at->second.empty()) names_.erase(at);
}

wire::claim_reply named_locks::claim(const wire::claim& what) {
    const std::lock_guard hold{guard_};
    wire::claim_reply answer;
    holder* const by = holders_.admit(what.who, freeing());
    if (by == nullptr) return answer;
    for (const wire::claim_item& item : what.names) {
        if (!take(*by, what, item, answer)) break;
        ++answer.granted;
    }
    return answer;
}

void named_locks::release(const transaction_name& who) {
    const std::lock_guard hold{guard_};
    holders_.release(who, freeing());
}

void named_locks::lose(node_number node) noexcept {
    const std::lock_guard hold{guard_};
    holders_.lose(node, freeing());
}

void named_locks::admit(node_number node) noexcept {
    const std::lock_guard hold{guard_};
    holders_.admit(node);
}

std::size_t named_locks::held() const {
    const std::lock_guard hold{guard_};
    return names_.size();
}

}  // namespace tutti::cluster
