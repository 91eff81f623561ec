#include "cluster/protocol/claims.hpp"

#include <algorithm>

#include "wire/bytes.hpp"

namespace tutti::cluster {
namespace {

/// How often to ask while an older, or a younger, block holds a name.
constexpr unsigned patience_with_older = 4, patience_with_younger = 24;

}  // namespace

bool claims::has(const wire::claim_item& wanted) const noexcept {
    return std::ranges::any_of(
        held_, [&wanted](const wire::claim_item& h) { return h.name == wanted.name && (wanted.shared || !h.shared); });
}

bool claims::note(node_number at, bool keeps_locks) {
    const auto known = std::ranges::find(places_, at, &place::at);
    if (known != places_.end()) {
        known->keeps_locks = known->keeps_locks || keeps_locks;
        return true;
    }
    if (at != site_.self && !site_.tied.begin(at)) {
        lost_ = at;
        return false;
    }
    places_.push_back({at, keeps_locks});
    return true;
}

void claims::untie() noexcept {
    for (const place& p : places_) {
        if (p.at != site_.self) site_.tied.end(p.at);
    }
    places_.clear();
}

bool claims::is_there(node_number home) noexcept {
    if (home == site_.self || !site_.objects.is_lost(home)) return true;
    lost_ = home;
    return false;
}

bool claims::stand() noexcept {
    return std::ranges::all_of(places_, [this](const place& p) { return !p.keeps_locks || is_there(p.at); });
}

outcome claims::ask(std::vector<wire::claim_item>& wants, const transaction_name& family, bool& older) {
    std::vector<wire::claim> parts;
    std::vector<node_number> at;
    for (const wire::claim_item& w : wants) {
        const node_number home = home_of(w.name, site_.nodes);
        const auto known = std::ranges::find(at, home);
        const auto i = static_cast<std::size_t>(known - at.begin());
        if (known == at.end()) {
            at.push_back(home);
            parts.push_back({name_, family, age_, {}});
            // Noted before the home is asked: a lost answer may have granted something.
            if (!note(home, w.name != irrevocable_token)) return outcome::lost;
        }
        parts[i].names.push_back(w);
    }
    std::vector<call> calls;
    std::vector<std::size_t> called;  // index of each call's part
    std::vector<wire::claim_reply> answers(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].names.size() > wire::max_elements) return outcome::too_large;
        if (at[i] == site_.self) {
            answers[i] = site_.locks.claim(parts[i]);
            continue;
        }
        calls.push_back({at[i], wire::message_type::claim, wire::encode(parts[i]), {}, false});
        called.push_back(i);
        if (calls.back().body.size() > site_.largest) return outcome::too_large;
    }
    if (!calls.empty()) network_.exchange(calls);
    for (std::size_t c = 0; c < calls.size(); ++c) {
        // A node that sends an invalid answer is treated as lost.
        wire::claim_reply& answer = answers[called[c]];
        if (!calls[c].answered || !wire::decode(calls[c].answer, answer) ||
            answer.granted > parts[called[c]].names.size())
            return lose_node(calls[c].to);
    }
    wants.clear();
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (answers[i].is_full) return outcome::too_large;
        older = older || answers[i].older;
        const auto first_left = parts[i].names.begin() + answers[i].granted;
        held_.insert(held_.end(), parts[i].names.begin(), first_left);
        wants.insert(wants.end(), first_left, parts[i].names.end());
    }
    return outcome::good;
}

outcome claims::take(std::span<const wire::claim_item> names, const transaction_name& family) {
    std::vector<wire::claim_item> wants;
    for (const wire::claim_item& n : names) {
        if (!has(n)) wants.push_back(n);
    }
    if (wants.empty()) return outcome::good;
    static_cast<void>(age());
    for (unsigned turn = 0;; ++turn) {
        bool older = false;
        if (const outcome o = ask(wants, family, older); o != outcome::good) return o;
        if (wants.empty()) return outcome::good;
        if (turn + 1 >= (older ? patience_with_older : patience_with_younger)) return outcome::conflict;
        network_.pause(turn);
    }
}

outcome claims::take_token(const transaction_name& family) {
    if (injected(fault::no_token)) return outcome::good;
    const wire::claim_item token{irrevocable_token, false};
    return take({&token, 1}, family);
}

void claims::release_places() {
    for (const place& p : places_) {
        if (p.at == site_.self) {
            site_.locks.release(name_);
            site_.reserved.release(name_);
        } else {
            network_.post(p.at, wire::message_type::release, wire::encode(wire::release{name_}));
        }
    }
    untie();
    held_.clear();
    ++name_.sequence;
}

}  // namespace tutti::cluster
