#include "cluster/protocol/voter.hpp"

namespace tutti::cluster {

wire::obstacle voter::lock_all(const wire::prepare& what) {
    wire::obstacle why{};
    for (const wire::write_item& w : what.writes) {
        why = store_.lock_to_write(w.id, w.version, what.who, what.as);
        if (why != wire::obstacle::none) break;
    }
    for (const wire::read_item& r : what.reads) {
        if (why != wire::obstacle::none) break;
        why = store_.lock_to_read(r.id, r.version, what.who, what.as);
    }
    if (why != wire::obstacle::none) unlock_all(what);  // only what is its own
    return why;
}

void voter::unlock_all(const wire::prepare& what) noexcept {
    for (const wire::write_item& w : what.writes) store_.unlock(w.id, what.who);
    for (const wire::read_item& r : what.reads) store_.unlock(r.id, what.who);
}

void voter::carry_out(wire::prepare& what, std::uint64_t version) {
    for (wire::write_item& w : what.writes) store_.settle(w.id, w.action, std::move(w.bytes), version, what.who);
    for (const wire::read_item& r : what.reads) store_.unlock(r.id, what.who);
}

voter::slot_history& voter::history_of(const transaction_name& who) { return histories_[who.thread()]; }

std::optional<wire::answered> voter::outcome(const transaction_name& who) {
    if (broken(fault::forget_decisions)) return std::nullopt;
    slot_history& h = history_of(who);
    const past& p = h.outcomes[who.sequence % remembered];
    if (p.sequence == who.sequence) return p.answer;
    if (h.latest > remembered && who.sequence <= h.latest - remembered) return wire::answered{};
    return std::nullopt;
}

void voter::remember(const transaction_name& who, wire::answered answer) {
    slot_history& h = history_of(who);
    past& p = h.outcomes[who.sequence % remembered];
    if (p.sequence > who.sequence) return;
    p = {who.sequence, answer};
    if (h.latest < who.sequence) h.latest = who.sequence;
}

wire::answered voter::prepare(wire::prepare&& what) {
    const std::lock_guard hold{guard_};
    if (prepared_.contains(what.who)) return {.yes = true};
    if (const auto known = outcome(what.who)) return *known;
    // A node that asks for more in one thread than that, and decides nothing, gets no more locks.
    const wire::obstacle why = history_of(what.who).open >= remembered ? wire::obstacle::stale : lock_all(what);
    if (why != wire::obstacle::none) {
        const wire::answered no{.yes = false, .version = 0, .why = why};
        remember(what.who, no);
        return no;
    }
    if (what.decide) {
        // All locks of the transaction are held: those on its own node were taken before it sent this.
        const wire::answered answer{.yes = true, .version = clock_.tick()};
        carry_out(what, answer.version);
        remember(what.who, answer);
        return answer;
    }
    if (broken(fault::early_release)) unlock_all(what);
    const transaction_name who = what.who;
    prepared_.emplace(who, std::move(what));
    ++history_of(who).open;
    return {.yes = true};
}

void voter::decide(const wire::decide& what) {
    const std::lock_guard hold{guard_};
    const auto at = prepared_.find(what.who);
    if (at == prepared_.end()) {
        if (!what.commit && !outcome(what.who)) remember(what.who, {});
        return;
    }
    if (what.commit) carry_out(at->second, what.version);
    else unlock_all(at->second);
    remember(what.who, {.yes = what.commit, .version = what.version});
    prepared_.erase(at);
    --history_of(what.who).open;
}

}  // namespace tutti::cluster
