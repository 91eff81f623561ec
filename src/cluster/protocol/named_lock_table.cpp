#include "cluster/protocol/named_lock_table.hpp"

#include <algorithm>
#include <tuple>

#include "wire/bytes.hpp"

namespace tutti::cluster {
namespace {

/// Returns the order of two waiting holds: the older one has precedence. Two threads of a cluster never compare equal.
auto rank(std::uint64_t age, const transaction_name& who) noexcept { return std::tuple{age, who.node, who.slot}; }

}  // namespace

bool named_lock_table::acquire(thread_holds& by, const wire::claim& what, const wire::claim_item& item,
                               wire::claim_reply& answer) {
    if (by.is_full()) {
        answer.is_full = true;
        return false;
    }
    std::vector<holding>& all = names_[item.name];
    holding* mine = nullptr;
    for (holding& h : all) {
        if (h.who == what.who) mine = &h;
        if (h.root_execution == what.root_execution || (h.shared && item.shared) || injected(fault::grant_held_name))
            continue;
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

void named_lock_table::free(const object_id& name, std::uint32_t thread) noexcept {
    const auto at = names_.find(name);
    if (at == names_.end()) return;
    std::erase_if(at->second, [thread](const holding& h) { return h.who.thread() == thread; });
    if (at->second.empty()) names_.erase(at);
}

wire::claim_reply named_lock_table::claim(const wire::claim& what) {
    const std::lock_guard hold{guard_};
    wire::claim_reply answer;
    thread_holds* const by = holds_.admit(what.who, free_callback());
    if (by == nullptr) return answer;
    for (const wire::claim_item& item : what.names) {
        if (!acquire(*by, what, item, answer)) break;
        ++answer.granted;
    }
    return answer;
}

void named_lock_table::release(const transaction_name& who) {
    const std::lock_guard hold{guard_};
    holds_.release(who, free_callback());
}

void named_lock_table::on_node_lost(node_number node) noexcept {
    const std::lock_guard hold{guard_};
    holds_.on_node_lost(node, free_callback());
}

void named_lock_table::admit(node_number node) noexcept {
    const std::lock_guard hold{guard_};
    holds_.admit(node);
}

std::size_t named_lock_table::held() const {
    const std::lock_guard hold{guard_};
    return names_.size();
}

}  // namespace tutti::cluster
