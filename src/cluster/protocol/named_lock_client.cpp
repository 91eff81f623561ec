#include "cluster/protocol/named_lock_client.hpp"

#include <algorithm>

#include "wire/bytes.hpp"

namespace tutti::cluster {
namespace {

/// How often a block requests a name that an older, or a younger, block holds.
constexpr unsigned max_attempts_behind_older = 4, max_attempts_behind_younger = 24;

}  // namespace

bool named_lock_client::holds(const wire::claim_item& item) const noexcept {
    return std::ranges::any_of(
        held_, [&item](const wire::claim_item& h) { return h.name == item.name && (item.shared || !h.shared); });
}

bool named_lock_client::record(node_number at, bool keeps_locks) {
    const auto known = std::ranges::find(asked_, at, &asked_node::at);
    if (known != asked_.end()) {
        known->keeps_locks = known->keeps_locks || keeps_locks;
        return true;
    }
    if (at != node_.self && !node_.references.add(at)) {
        lost_ = at;
        return false;
    }
    asked_.push_back({at, keeps_locks});
    return true;
}

void named_lock_client::drop_peer_references() noexcept {
    for (const asked_node& p : asked_) {
        if (p.at != node_.self) node_.references.drop(p.at);
    }
    asked_.clear();
}

bool named_lock_client::is_home_connected(node_number home) noexcept {
    if (home == node_.self || !node_.objects.is_lost(home)) return true;
    lost_ = home;
    return false;
}

bool named_lock_client::is_valid() noexcept {
    return std::ranges::all_of(asked_,
                               [this](const asked_node& p) { return !p.keeps_locks || is_home_connected(p.at); });
}

protocol_status named_lock_client::request(std::vector<wire::claim_item>& wants, const transaction_name& root_execution,
                                           bool& older) {
    std::vector<wire::claim> parts;
    std::vector<node_number> at;
    for (const wire::claim_item& w : wants) {
        const node_number home = home_of(w.name, node_.nodes);
        const auto known = std::ranges::find(at, home);
        const auto i = static_cast<std::size_t>(known - at.begin());
        if (known == at.end()) {
            at.push_back(home);
            parts.push_back({name_, root_execution, age_, {}});
            // The home is recorded before it is asked, because a lost answer may have granted a lock.
            if (!record(home, w.name != irrevocable_token)) return protocol_status::lost;
        }
        parts[i].names.push_back(w);
    }
    std::vector<call> calls;
    std::vector<std::size_t> called;  // index of each call's part
    std::vector<wire::claim_reply> answers(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].names.size() > wire::max_elements) return protocol_status::too_large;
        if (at[i] == node_.self) {
            answers[i] = node_.locks.claim(parts[i]);
            continue;
        }
        calls.push_back({at[i], wire::message_type::claim, wire::encode(parts[i]), {}, false});
        called.push_back(i);
        if (calls.back().body.size() > node_.max_message_bytes) return protocol_status::too_large;
    }
    if (!calls.empty()) network_.exchange(calls);
    for (std::size_t c = 0; c < calls.size(); ++c) {
        // A node that sends an invalid answer is treated as lost.
        wire::claim_reply& answer = answers[called[c]];
        if (!calls[c].answered || !wire::decode(calls[c].answer, answer) ||
            answer.granted > parts[called[c]].names.size())
            return fail_node_lost(calls[c].to);
    }
    wants.clear();
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (answers[i].is_full) return protocol_status::too_large;
        older = older || answers[i].older;
        const auto first_left = parts[i].names.begin() + answers[i].granted;
        held_.insert(held_.end(), parts[i].names.begin(), first_left);
        wants.insert(wants.end(), first_left, parts[i].names.end());
    }
    return protocol_status::good;
}

protocol_status named_lock_client::acquire(std::span<const wire::claim_item> names,
                                           const transaction_name& root_execution) {
    std::vector<wire::claim_item> wants;
    for (const wire::claim_item& n : names) {
        if (!holds(n)) wants.push_back(n);
    }
    if (wants.empty()) return protocol_status::good;
    static_cast<void>(age());
    for (unsigned attempt = 0;; ++attempt) {
        bool older = false;
        if (const protocol_status o = request(wants, root_execution, older); o != protocol_status::good) return o;
        if (wants.empty()) return protocol_status::good;
        if (attempt + 1 >= (older ? max_attempts_behind_older : max_attempts_behind_younger))
            return protocol_status::conflict;
        network_.pause(attempt);
    }
}

protocol_status named_lock_client::acquire_token(const transaction_name& root_execution) {
    if (injected(fault::no_token)) return protocol_status::good;
    const wire::claim_item token{irrevocable_token, false};
    return acquire({&token, 1}, root_execution);
}

void named_lock_client::release_all() {
    for (const asked_node& p : asked_) {
        if (p.at == node_.self) {
            node_.locks.release(name_);
            node_.reserved_objects.release(name_);
        } else {
            network_.post(p.at, wire::message_type::release, wire::encode(wire::release{name_}));
        }
    }
    drop_peer_references();
    held_.clear();
    ++name_.sequence;
}

}  // namespace tutti::cluster
