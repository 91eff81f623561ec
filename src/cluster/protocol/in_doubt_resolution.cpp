// Sends and handles the messages that participants exchange about transactions whose node is lost.
#include <algorithm>
#include <new>

#include "cluster/protocol/commit_participant.hpp"
#include "wire/bytes.hpp"

namespace tutti::cluster {

void commit_participant::begin_doubt(const transaction_name& who, pending& p) noexcept try {
    p.since = base::now();
    const bool is_asked = !injected(fault::free_read_locks_early) && query_others(who, p);
    if (!is_asked && !injected(fault::keep_lost_readers)) unlock_reads(p.request);
    for (const wire::write_item& w : p.request.writes) objects_.notify_in_doubt(w.id);
} catch (const std::bad_alloc&) {
    return;  // some blocks are not notified, and sleep until they are interrupted
}

bool commit_participant::query_others(const transaction_name& who, const pending& p) noexcept try {
    if (sender_ == nullptr || p.request.others.empty()) return false;
    const std::string question = wire::encode(wire::fate_query{who});
    asked_[who] = p.request.others;
    for (const node_number n : p.request.others) sender_->send_one_way(n, wire::message_type::fate_query, question);
    return true;
} catch (const std::bad_alloc&) {
    asked_.erase(who);  // the answers of nodes that were asked already still count
    return false;
}

void commit_participant::drop_reply_of(node_number node, const transaction_name& who) noexcept {
    const auto left = asked_.find(who);
    if (left == asked_.end()) return;
    std::erase(left->second, node);
    if (!left->second.empty()) return;
    asked_.erase(left);
    unlock_reads(prepared_.at(who).request);
}

void commit_participant::forget_participant(node_number node) noexcept {
    std::erase_if(waiting_, [node](const waiter& w) { return w.node == node; });
    for (auto& [who, p] : prepared_) {
        std::erase(p.participants, node);
        // CMT10: the lost participant may have answered no. But a participant that has confirmed its prepare knows that
        // the coordinator is lost, so only a message of another participant changes its state.
        if (std::erase(p.unconfirmed, node) != 0 && !injected(fault::commit_without_lost)) p.decided_by_all = false;
        if (std::erase(p.request.others, node) != 0) drop_reply_of(node, who);
    }
}

std::optional<wire::fate_report> commit_participant::fate_of(const transaction_name& who) const {
    using enum wire::transaction_fate;
    const bool is_lost = objects_.is_process_lost(who);
    if (const auto at = prepared_.find(who); at != prepared_.end()) {
        if (!is_lost) return std::nullopt;
        const bool by_all = at->second.request.decides == wire::decider::all_of_several;
        return wire::fate_report{.who = who, .fate = by_all ? prepared : unknown, .version = at->second.latest};
    }
    if (const auto h = histories_.find(who.thread()); h != histories_.end()) {
        const past_outcome& p = h->second.outcomes[who.sequence % remembered_outcomes];
        if (p.sequence == who.sequence && p.answer.yes) return wire::fate_report{who, committed, p.answer.version};
        if (p.sequence == who.sequence) return wire::fate_report{.who = who, .fate = aborted};
        if (h->second.has_forgotten(who.sequence) && !injected(fault::deny_forgotten))
            return wire::fate_report{.who = who, .fate = unknown};
    }
    if (!is_lost && !injected(fault::deny_too_early)) return std::nullopt;
    // If another process has had the number since then, this node has forgotten the former process's transactions.
    const bool has_forgotten = objects_.is_former(who) && !injected(fault::deny_forgotten);
    return wire::fate_report{.who = who, .fate = has_forgotten ? unknown : aborted};
}

void commit_participant::send_report(node_number to, const wire::fate_report& what) {
    if (sender_ != nullptr) sender_->send_one_way(to, wire::message_type::fate_report, wire::encode(what));
}

void commit_participant::answer_waiters() noexcept try {
    std::erase_if(waiting_, [this](const waiter& w) {
        const auto known = fate_of(w.who);
        if (known) send_report(w.node, *known);
        return known.has_value();
    });
} catch (const std::bad_alloc&) {
    return;  // the waiters wait for the next decision, or until this node is lost
}

void commit_participant::receive_query(const transaction_name& who, node_number from) {
    const std::lock_guard hold{guard_};
    if (const auto known = fate_of(who)) send_report(from, *known);
    else if (waiting_.size() < max_waiting) waiting_.push_back({who, from});
}

void commit_participant::receive_report(const wire::fate_report& report, node_number from) {
    const std::lock_guard hold{guard_};
    const auto at = prepared_.find(report.who);
    if (at == prepared_.end() || at->second.is_decided() || !objects_.is_process_lost(report.who)) return;
    pending& p = at->second;
    // CMT6, CMT9, CMT10: after an ownership report, only an operator's order and a decision that moves no object are
    // valid.
    const bool by_all = p.request.decides == wire::decider::all_of_several;
    const std::vector<node_number>& believed = report.by_hand || by_all ? p.participants : p.request.others;
    if (std::ranges::find(believed, from) == believed.end()) return;
    const bool is_prepared = report.fate == wire::transaction_fate::prepared;
    if ((report.fate == wire::transaction_fate::unknown || is_prepared) && !injected(fault::abort_undecided)) {
        p.latest = std::max(p.latest, report.version);
        if (is_prepared) std::erase(p.unconfirmed, from);
        if (is_prepared && p.decided_by_all && p.unconfirmed.empty()) return commit_by_all(at);
        return drop_reply_of(from, report.who);
    }
    const bool commits = report.fate == wire::transaction_fate::committed;
    const std::vector<node_number> others = p.participants;
    end_doubt(at,
              !commits                                ? 0
              : injected(fault::adopt_at_own_version) ? clock_.tick()
                                                      : report.version,
              report.by_hand);
    ++(report.by_hand ? by_operator_ : commits ? committed_ : aborted_);
    wire::fate_report final_report = report;
    if (!commits) final_report.version = 0;  // an abort has no version
    send_fate(final_report, others, from);
}

void commit_participant::send_fate(const wire::fate_report& what, std::span<const node_number> participants,
                                   node_number but) {
    // Sends the result to all participants, because a participant may have asked another node that is lost by now.
    for (const node_number n : participants) {
        if (n != but) send_report(n, what);
    }
}

void commit_participant::commit_by_all(all_pending::iterator at) {
    const wire::fate_report report{
        .who = at->first, .fate = wire::transaction_fate::committed, .version = at->second.latest + 1};
    const std::vector<node_number> others = at->second.participants;
    clock_.raise_to(report.version);  // rule C, as for a decision
    end_doubt(at, report.version, false);
    ++committed_;
    // Sends the result to all, because a participant may have been lost before the others had its answer.
    send_fate(report, others, self_);
}

bool commit_participant::end_queries(node_number node) {
    if (injected(fault::resolve_after_report)) return true;
    const std::lock_guard hold{guard_};
    if (std::ranges::any_of(asked_, [node](const auto& a) { return a.first.node == node; })) return false;
    for (auto& [who, p] : prepared_) {
        if (who.node == node) p.request.others.clear();
    }
    return true;
}

commit_participant::statistics commit_participant::count() {
    const std::lock_guard hold{guard_};
    statistics all{.by_operator = by_operator_, .committed = committed_, .aborted = aborted_};
    for (const auto& [who, p] : prepared_) {
        if (!objects_.is_process_lost(who) || !p.has_effect()) continue;
        ++all.transactions;
        all.in_doubt += static_cast<std::uint64_t>(std::ranges::count_if(
            p.request.writes, [&](const wire::write_item& w) { return objects_.is_locked_by(w.id, who); }));
    }
    return all;
}

}  // namespace tutti::cluster
