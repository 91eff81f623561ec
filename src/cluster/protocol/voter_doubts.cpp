// The messages that participants exchange about transactions whose node is lost.
#include <algorithm>
#include <new>

#include "cluster/protocol/voter.hpp"
#include "wire/bytes.hpp"

namespace tutti::cluster {

void voter::begin_doubt(const transaction_name& who, pending& p) noexcept try {
    p.since = base::now();
    const bool is_asked = !injected(fault::free_reads_at_once) && ask_others(who, p);
    if (!is_asked && !injected(fault::keep_lost_readers)) unlock_reads(p.what);
    for (const wire::write_item& w : p.what.writes) store_.doubt(w.id);
} catch (const std::bad_alloc&) {
    return;  // blocks continue to sleep until they are interrupted
}

bool voter::ask_others(const transaction_name& who, const pending& p) noexcept try {
    if (speaker_ == nullptr || p.what.others.empty()) return false;
    const std::string question = wire::encode(wire::fate_query{who});
    asked_[who] = p.what.others;
    for (const node_number n : p.what.others) speaker_->say(n, wire::message_type::fate_query, question);
    return true;
} catch (const std::bad_alloc&) {
    asked_.erase(who);  // the answers of nodes that were asked already still count
    return false;
}

void voter::miss_word_of(node_number node, const transaction_name& who) noexcept {
    const auto left = asked_.find(who);
    if (left == asked_.end()) return;
    std::erase(left->second, node);
    if (!left->second.empty()) return;
    asked_.erase(left);
    unlock_reads(prepared_.at(who).what);
}

void voter::forget_participant(node_number node) noexcept {
    std::erase_if(waiting_, [node](const waiter& w) { return w.node == node; });
    for (auto& [who, p] : prepared_) {
        std::erase(p.participants, node);
        // V10: the lost participant may have said no. A participant that has confirmed its prepare knows that the
        // coordinator is lost. Then only the message of another participant changes its state.
        if (std::erase(p.unconfirmed, node) != 0 && !injected(fault::commit_without_lost)) p.by_all = false;
        if (std::erase(p.what.others, node) != 0) miss_word_of(node, who);
    }
}

std::optional<wire::fate_report> voter::fate_of(const transaction_name& who) const {
    using enum wire::transaction_fate;
    const bool is_gone = store_.is_gone(who);
    if (const auto at = prepared_.find(who); at != prepared_.end()) {
        if (!is_gone) return std::nullopt;
        const bool by_all = at->second.what.decides == wire::decider::all_of_several;
        return wire::fate_report{.who = who, .fate = by_all ? prepared : unknown, .version = at->second.latest};
    }
    if (const auto h = histories_.find(who.thread()); h != histories_.end()) {
        const past& p = h->second.outcomes[who.sequence % remembered];
        if (p.sequence == who.sequence && p.answer.yes) return wire::fate_report{who, committed, p.answer.version};
        if (p.sequence == who.sequence) return wire::fate_report{.who = who, .fate = aborted};
        if (h->second.has_forgotten(who.sequence) && !injected(fault::deny_what_is_forgotten))
            return wire::fate_report{.who = who, .fate = unknown};
    }
    if (!is_gone && !injected(fault::deny_too_early)) return std::nullopt;
    // This node has forgotten the transactions of a process since it heard that process's last message.
    const bool has_forgotten = store_.is_former(who) && !injected(fault::deny_what_is_forgotten);
    return wire::fate_report{.who = who, .fate = has_forgotten ? unknown : aborted};
}

void voter::say(node_number to, const wire::fate_report& what) {
    if (speaker_ != nullptr) speaker_->say(to, wire::message_type::fate_report, wire::encode(what));
}

void voter::answer_those_who_wait() noexcept try {
    std::erase_if(waiting_, [this](const waiter& w) {
        const auto known = fate_of(w.who);
        if (known) say(w.node, *known);
        return known.has_value();
    });
} catch (const std::bad_alloc&) {
    return;  // they wait for the next decision, or until this node is lost
}

void voter::inquire(const transaction_name& who, node_number from) {
    const std::lock_guard hold{guard_};
    if (const auto known = fate_of(who)) say(from, *known);
    else if (waiting_.size() < most_waiting) waiting_.push_back({who, from});
}

void voter::hear(const wire::fate_report& told, node_number from) {
    const std::lock_guard hold{guard_};
    const auto at = prepared_.find(told.who);
    if (at == prepared_.end() || at->second.decided() || !store_.is_gone(told.who)) return;
    pending& p = at->second;
    // V6, V9, V10: after a survey, only an operator's order counts, and a decision that moves no object.
    const bool by_all = p.what.decides == wire::decider::all_of_several;
    const std::vector<node_number>& believed = told.by_hand || by_all ? p.participants : p.what.others;
    if (std::ranges::find(believed, from) == believed.end()) return;
    const bool is_prepared = told.fate == wire::transaction_fate::prepared;
    if ((told.fate == wire::transaction_fate::unknown || is_prepared) && !injected(fault::abort_what_is_open)) {
        p.latest = std::max(p.latest, told.version);
        if (is_prepared) std::erase(p.unconfirmed, from);
        if (is_prepared && p.by_all && p.unconfirmed.empty()) return commit_by_all(at);
        return miss_word_of(from, told.who);
    }
    const bool commits = told.fate == wire::transaction_fate::committed;
    const std::vector<node_number> others = p.participants;
    end_doubt(at, !commits ? 0 : injected(fault::adopt_at_own_version) ? clock_.tick() : told.version, told.by_hand);
    ++(told.by_hand ? by_hand_ : commits ? committed_ : aborted_);
    wire::fate_report heard = told;
    if (!commits) heard.version = 0;  // an abort has no version
    tell_fate(heard, others, from);
}

void voter::tell_fate(const wire::fate_report& what, std::span<const node_number> participants, node_number but) {
    // A participant may have asked this node, and another node that is lost by now.
    for (const node_number n : participants) {
        if (n != but) say(n, what);
    }
}

void voter::commit_by_all(all_pending::iterator at) {
    const wire::fate_report told{
        .who = at->first, .fate = wire::transaction_fate::committed, .version = at->second.latest + 1};
    const std::vector<node_number> others = at->second.participants;
    clock_.raise_to(told.version);  // rule C, as for a decision
    end_doubt(at, told.version, false);
    ++committed_;
    // Each participant may have lost another one before that one had answered.
    tell_fate(told, others, self_);
}

bool voter::end_inquiries(node_number node) {
    if (injected(fault::settle_after_survey)) return true;
    const std::lock_guard hold{guard_};
    if (std::ranges::any_of(asked_, [node](const auto& a) { return a.first.node == node; })) return false;
    for (auto& [who, p] : prepared_) {
        if (who.node == node) p.what.others.clear();
    }
    return true;
}

voter::figures voter::count() {
    const std::lock_guard hold{guard_};
    figures all{.by_hand = by_hand_, .committed = committed_, .aborted = aborted_};
    for (const auto& [who, p] : prepared_) {
        if (!store_.is_gone(who) || !p.matters()) continue;
        ++all.transactions;
        all.in_doubt += static_cast<std::uint64_t>(std::ranges::count_if(
            p.what.writes, [&](const wire::write_item& w) { return store_.is_locked_by(w.id, who); }));
    }
    return all;
}

}  // namespace tutti::cluster
