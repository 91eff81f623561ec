#include "cluster/protocol/commit_participant.hpp"

#include <iterator>
#include <new>

namespace tutti::cluster {

wire::lock_refusal commit_participant::lock_all(const wire::prepare& what) {
    wire::lock_refusal why{};
    for (const wire::write_item& w : what.writes) {
        why = objects_.lock_to_write(w.id, w.version, what.who, what.as);
        if (why != wire::lock_refusal::none) break;
    }
    for (const wire::read_item& r : what.reads) {
        if (why != wire::lock_refusal::none) break;
        why = objects_.lock_to_read(r.id, r.version, what.who, what.as);
    }
    if (why != wire::lock_refusal::none) unlock_all(what);  // unlocks only this transaction's locks
    if (why == wire::lock_refusal::shared) {
        for (const wire::write_item& w : what.writes) objects_.invalidate_copies(w.id);
    }
    return why;
}

void commit_participant::unlock_all(const wire::prepare& what) noexcept {
    for (const wire::write_item& w : what.writes) objects_.unlock(w.id, what.who);
    unlock_reads(what);
}

void commit_participant::unlock_reads(const wire::prepare& what) noexcept {
    for (const wire::read_item& r : what.reads) objects_.unlock(r.id, what.who);
}

void commit_participant::apply_decision(wire::prepare& what, std::uint64_t version) {
    for (wire::write_item& w : what.writes)
        objects_.apply_decision(w.id, w.action, std::move(w.bytes), version, what.who);
    unlock_reads(what);
}

commit_participant::slot_history& commit_participant::history_of(const transaction_name& who) {
    return histories_[who.thread()];
}

std::optional<wire::prepare_reply> commit_participant::outcome_of(const transaction_name& who) {
    if (injected(fault::forget_decisions)) return std::nullopt;
    slot_history& h = history_of(who);
    const past_outcome& p = h.outcomes[who.sequence % remembered_outcomes];
    if (p.sequence == who.sequence) return p.answer;
    if (h.has_forgotten(who.sequence)) return wire::prepare_reply{};
    return std::nullopt;
}

void commit_participant::remember(const transaction_name& who, wire::prepare_reply answer) {
    slot_history& h = history_of(who);
    past_outcome& p = h.outcomes[who.sequence % remembered_outcomes];
    if (p.sequence > who.sequence) return;
    p = {who.sequence, answer};
    if (h.latest < who.sequence) h.latest = who.sequence;
}

wire::prepare_reply commit_participant::prepare(wire::prepare&& what) {
    const std::lock_guard hold{guard_};
    if (const auto at = prepared_.find(what.who); at != prepared_.end()) return at->second.answer;
    if (const auto known = outcome_of(what.who)) return *known;
    wire::lock_refusal why = wire::lock_refusal::stale;
    // If a thread of a node has `remembered_outcomes` undecided prepares, it gets no more locks. A process whose locks
    // on_node_lost() has already freed gets no more locks, either.
    if (history_of(what.who).open < remembered_outcomes && !objects_.is_process_lost(what.who)) why = lock_all(what);
    if (why != wire::lock_refusal::none) {
        const wire::prepare_reply no{.yes = false, .version = 0, .why = why};
        remember(what.who, no);
        return no;
    }
    // If this node decides, all other locks are held, because the sender has locked the objects on its own node before.
    const bool mine = what.decides >= wire::decider::receiver;
    wire::prepare_reply yes{.yes = true, .version = mine ? clock_.tick() : 0};
    if (what.decides == wire::decider::receiver || (mine && injected(fault::show_before_decision_received))) {
        apply_decision(what, yes.version);
        remember(what.who, yes);
        return yes;
    }
    if (injected(fault::early_release)) unlock_all(what);
    const transaction_name who = what.who;
    const std::size_t named = what.others.size();
    if (named != 0) std::erase_if(what.others, [this](node_number n) { return objects_.is_lost(n); });  // CMT6
    const bool is_by_all = what.decides == wire::decider::all_of_several && what.others.size() == named;
    // CMT10: the clock is read after the locks are taken. So a node that has read one of the objects before that has no
    // later time.
    const std::uint64_t locked_at = clock_.now();
    if (yes.version == 0) yes.clock = locked_at;
    const std::vector<node_number> others = what.others;
    pending& p = prepared_.emplace(who, pending{std::move(what), yes, locked_at, others}).first->second;
    p.decided_by_all = is_by_all;
    if (is_by_all) p.unconfirmed = others;
    ++history_of(who).open;
    return yes;
}

wire::prepare_reply commit_participant::withdraw(const transaction_name& who) {
    const std::lock_guard hold{guard_};
    if (const auto at = prepared_.find(who); at != prepared_.end()) {
        if (at->second.is_decided()) return at->second.answer;
        unlock_all(at->second.request);
        finish(at, {});
    } else if (const auto known = outcome_of(who)) {
        return *known;
    } else {
        remember(who, {});
    }
    if (!waiting_.empty()) answer_waiters();
    return {};
}

commit_participant::all_pending::iterator commit_participant::finish(all_pending::iterator at,
                                                                     wire::prepare_reply outcome) {
    remember(at->first, outcome);
    --history_of(at->first).open;
    if (!asked_.empty()) asked_.erase(at->first);
    return prepared_.erase(at);
}

void commit_participant::decide(const wire::decide& what) {
    const std::lock_guard hold{guard_};
    const auto at = prepared_.find(what.who);
    if (at != prepared_.end()) {
        pending& p = at->second;
        // If this node has decided, an abort means that the sender could not wait for the answer. The sender has undone
        // its part, and no transaction has seen the part here (CMT4).
        const std::uint64_t version = p.is_decided() ? p.answer.version : what.version;
        if (what.commit) apply_decision(p.request, version);
        else unlock_all(p.request);
        finish(at, what.commit ? wire::prepare_reply{.yes = true, .version = version} : wire::prepare_reply{});
    } else if (!what.commit && !outcome_of(what.who)) {
        remember(what.who, {});
    }
    if (!waiting_.empty()) answer_waiters();
}

bool commit_participant::apply_decision_for_lost(pending& p) noexcept try {
    if (!p.is_decided() || injected(fault::hold_for_lost)) return false;
    apply_decision(p.request, p.answer.version);
    return true;
} catch (const std::bad_alloc&) {
    return false;  // the rest of the transaction is in doubt, as if the other node had decided it
}

void commit_participant::admit(node_number node) {
    const std::lock_guard hold{guard_};
    std::erase_if(histories_, [node](const auto& h) { return h.first >> 16 == node; });
}

void commit_participant::on_node_lost(node_number node) noexcept {
    const std::lock_guard hold{guard_};
    if (!injected(fault::trust_successors)) forget_participant(node);
    for (auto at = prepared_.begin(); at != prepared_.end();) {
        if (at->first.node != node) {
            ++at;
        } else if (apply_decision_for_lost(at->second)) {
            at = finish(at, at->second.answer);
        } else {
            begin_doubt(at->first, at->second);
            ++at;
        }
    }
    if (!waiting_.empty()) answer_waiters();
}

}  // namespace tutti::cluster
