#include "cluster/protocol/voter.hpp"

#include <iterator>
#include <new>

namespace tutti::cluster {

wire::lock_refusal voter::lock_all(const wire::prepare& what) {
    wire::lock_refusal why{};
    for (const wire::write_item& w : what.writes) {
        why = store_.lock_to_write(w.id, w.version, what.who, what.as);
        if (why != wire::lock_refusal::none) break;
    }
    for (const wire::read_item& r : what.reads) {
        if (why != wire::lock_refusal::none) break;
        why = store_.lock_to_read(r.id, r.version, what.who, what.as);
    }
    if (why != wire::lock_refusal::none) unlock_all(what);  // unlocks only this transaction's locks
    if (why == wire::lock_refusal::shared) {
        for (const wire::write_item& w : what.writes) store_.invalidate(w.id);
    }
    return why;
}

void voter::unlock_all(const wire::prepare& what) noexcept {
    for (const wire::write_item& w : what.writes) store_.unlock(w.id, what.who);
    unlock_reads(what);
}

void voter::unlock_reads(const wire::prepare& what) noexcept {
    for (const wire::read_item& r : what.reads) store_.unlock(r.id, what.who);
}

void voter::carry_out(wire::prepare& what, std::uint64_t version) {
    for (wire::write_item& w : what.writes) store_.settle(w.id, w.action, std::move(w.bytes), version, what.who);
    unlock_reads(what);
}

voter::slot_history& voter::history_of(const transaction_name& who) { return histories_[who.thread()]; }

std::optional<wire::prepare_reply> voter::outcome(const transaction_name& who) {
    if (injected(fault::forget_decisions)) return std::nullopt;
    slot_history& h = history_of(who);
    const past& p = h.outcomes[who.sequence % remembered];
    if (p.sequence == who.sequence) return p.answer;
    if (h.has_forgotten(who.sequence)) return wire::prepare_reply{};
    return std::nullopt;
}

void voter::remember(const transaction_name& who, wire::prepare_reply answer) {
    slot_history& h = history_of(who);
    past& p = h.outcomes[who.sequence % remembered];
    if (p.sequence > who.sequence) return;
    p = {who.sequence, answer};
    if (h.latest < who.sequence) h.latest = who.sequence;
}

wire::prepare_reply voter::prepare(wire::prepare&& what) {
    const std::lock_guard hold{guard_};
    if (const auto at = prepared_.find(what.who); at != prepared_.end()) return at->second.answer;
    if (const auto known = outcome(what.who)) return *known;
    wire::lock_refusal why = wire::lock_refusal::stale;
    // A node with that many undecided prepares in one thread gets no more locks. Nor does a process whose locks lose()
    // has already freed.
    if (history_of(what.who).open < remembered && !store_.is_gone(what.who)) why = lock_all(what);
    if (why != wire::lock_refusal::none) {
        const wire::prepare_reply no{.yes = false, .version = 0, .why = why};
        remember(what.who, no);
        return no;
    }
    // If this node decides, all other locks are held: the sender has locked the objects on its own node before.
    const bool mine = what.decides >= wire::decider::receiver;
    wire::prepare_reply yes{.yes = true, .version = mine ? clock_.tick() : 0};
    if (what.decides == wire::decider::receiver || (mine && injected(fault::show_before_heard))) {
        carry_out(what, yes.version);
        remember(what.who, yes);
        return yes;
    }
    if (injected(fault::early_release)) unlock_all(what);
    const transaction_name who = what.who;
    const std::size_t named = what.others.size();
    if (named != 0) std::erase_if(what.others, [this](node_number n) { return store_.is_lost(n); });  // V6
    const bool is_by_all = what.decides == wire::decider::all_of_several && what.others.size() == named;
    // V10: the clock is read after the locks are taken. A node that has read one of the objects before has no later
    // time.
    const std::uint64_t locked_at = clock_.now();
    if (yes.version == 0) yes.clock = locked_at;
    const std::vector<node_number> others = what.others;
    pending& p = prepared_.emplace(who, pending{std::move(what), yes, locked_at, others}).first->second;
    p.by_all = is_by_all;
    if (is_by_all) p.unconfirmed = others;
    ++history_of(who).open;
    return yes;
}

wire::prepare_reply voter::withdraw(const transaction_name& who) {
    const std::lock_guard hold{guard_};
    if (const auto at = prepared_.find(who); at != prepared_.end()) {
        if (at->second.decided()) return at->second.answer;
        unlock_all(at->second.what);
        close(at, {});
    } else if (const auto known = outcome(who)) {
        return *known;
    } else {
        remember(who, {});
    }
    if (!waiting_.empty()) answer_those_who_wait();
    return {};
}

voter::all_pending::iterator voter::close(all_pending::iterator at, wire::prepare_reply outcome) {
    remember(at->first, outcome);
    --history_of(at->first).open;
    if (!asked_.empty()) asked_.erase(at->first);
    return prepared_.erase(at);
}

void voter::decide(const wire::decide& what) {
    const std::lock_guard hold{guard_};
    const auto at = prepared_.find(what.who);
    if (at != prepared_.end()) {
        pending& p = at->second;
        // If this node has decided, an abort says that the sender could not wait for the answer. The sender has undone
        // its part, and no transaction has seen the part here (V4).
        const std::uint64_t version = p.decided() ? p.answer.version : what.version;
        if (what.commit) carry_out(p.what, version);
        else unlock_all(p.what);
        close(at, what.commit ? wire::prepare_reply{.yes = true, .version = version} : wire::prepare_reply{});
    } else if (!what.commit && !outcome(what.who)) {
        remember(what.who, {});
    }
    if (!waiting_.empty()) answer_those_who_wait();
}

bool voter::carry_out_for_lost(pending& p) noexcept try {
    if (!p.decided() || injected(fault::hold_for_lost)) return false;
    carry_out(p.what, p.answer.version);
    return true;
} catch (const std::bad_alloc&) {
    return false;  // the rest of it is in doubt, as if the other node had decided it
}

void voter::admit(node_number node) {
    const std::lock_guard hold{guard_};
    std::erase_if(histories_, [node](const auto& h) { return h.first >> 16 == node; });
}

void voter::lose(node_number node) noexcept {
    const std::lock_guard hold{guard_};
    if (!injected(fault::believe_successors)) forget_participant(node);
    for (auto at = prepared_.begin(); at != prepared_.end();) {
        if (at->first.node != node) {
            ++at;
        } else if (carry_out_for_lost(at->second)) {
            at = close(at, at->second.answer);
        } else {
            begin_doubt(at->first, at->second);
            ++at;
        }
    }
    if (!waiting_.empty()) answer_those_who_wait();
}

}  // namespace tutti::cluster
