// CMT9: lists the transactions in doubt for an operator, and resolves them on the operator's order.
#include <algorithm>
#include <new>

#include "cluster/protocol/commit_participant.hpp"
#include "wire/bytes.hpp"

namespace tutti::cluster {
namespace {

constexpr std::size_t max_listed_doubts = 256;
constexpr std::size_t max_named_objects = 16;

transaction_id id_of(const transaction_name& who) noexcept { return {who.node, who.slot, who.sequence}; }

std::uint64_t ms_since(base::deadline then) noexcept {
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(base::now() - then).count(), 0));
}

}  // namespace

void commit_participant::record_resolved(const transaction_name& who, const pending& p, std::uint64_t version,
                                         bool by_operator) noexcept try {
    if (resolved_.size() >= max_resolved) resolved_.erase(resolved_.begin());
    resolved_.push_back({who, version, by_operator, p.since, p.request.writes.size()});
} catch (const std::bad_alloc&) {
    return;  // an operator that asks again is told that the transaction is unknown
}

const commit_participant::resolved_doubt* commit_participant::find_resolved(
    const transaction_name& who) const noexcept {
    const auto at = std::ranges::find(resolved_, who, &resolved_doubt::who);
    return at != resolved_.end() ? &*at : nullptr;
}

std::vector<doubt> commit_participant::list_doubts() {
    const std::lock_guard hold{guard_};
    std::vector<doubt> all;
    for (const auto& [who, p] : prepared_) {
        if (!objects_.is_process_lost(who) || !p.has_effect()) continue;
        if (all.size() == max_listed_doubts) break;
        doubt d{.transaction = id_of(who), .state = doubt_state::open, .for_ms = ms_since(p.since)};
        d.participants = p.participants;
        if (const auto left = asked_.find(who); left != asked_.end()) {
            d.state = doubt_state::asking;
            d.silent = left->second;
        }
        d.objects = p.request.writes.size();
        for (const wire::write_item& w : p.request.writes) {
            if (d.first_objects.size() == max_named_objects) break;
            d.first_objects.push_back(w.id);
        }
        all.push_back(std::move(d));
    }
    for (const resolved_doubt& s : resolved_) {
        all.push_back({.transaction = id_of(s.who),
                       .state = s.version != 0 ? doubt_state::committed : doubt_state::aborted,
                       .by_hand = s.by_operator,
                       .for_ms = ms_since(s.since),
                       .version = s.version,
                       .objects = s.objects});
    }
    std::ranges::sort(all, {}, &doubt::transaction);
    return all;
}

void commit_participant::end_doubt(all_pending::iterator at, std::uint64_t version, bool by_operator) {
    const transaction_name who = at->first;
    pending& p = at->second;
    if (version != 0) {
        // An object that was to move to the lost node is erased, because it was lost with that node. No ownership
        // report contradicts this (CMT8).
        for (wire::write_item& w : p.request.writes) {
            if (by_operator && w.action == wire::action::leave) w.action = wire::action::erase;
        }
        apply_decision(p.request, version);
    } else {
        unlock_all(p.request);
    }
    record_resolved(who, p, version, by_operator);
    finish(at, version != 0 ? wire::prepare_reply{.yes = true, .version = version} : wire::prepare_reply{});
}

resolve_reply commit_participant::resolve(const transaction_name& who, bool commits) try {
    const std::lock_guard hold{guard_};
    const auto at = prepared_.find(who);
    if (at == prepared_.end()) {
        if (const resolved_doubt* const known = find_resolved(who))
            return {(known->version != 0) == commits ? resolve_result::was_done : resolve_result::contradiction};
        return {resolve_result::unknown};
    }
    pending& p = at->second;
    if (!objects_.is_process_lost(who)) return {resolve_result::runs};
    const auto lowest = std::ranges::min_element(p.participants);
    if (lowest != p.participants.end() && *lowest < self_ && !injected(fault::resolve_anywhere))
        return {resolve_result::not_here, *lowest};
    if (asked_.contains(who)) return {resolve_result::asking};
    if (p.is_decided() && !commits) return {resolve_result::contradiction};  // memory was lacking for the commit
    std::uint64_t version = 0;
    if (commits) {
        version = p.is_decided() ? p.answer.version : p.latest + 1;
        clock_.raise_to(version);
    }
    const wire::fate_report report{
        .who = who,
        .fate = commits ? wire::transaction_fate::committed : wire::transaction_fate::aborted,
        .version = version,
        .by_hand = true};
    const std::vector<node_number> others = p.participants;
    end_doubt(at, version, true);
    ++by_operator_;
    for (const node_number n : others) send_report(n, report);
    return {resolve_result::done};
} catch (const std::bad_alloc&) {
    return {resolve_result::failed};
}

}  // namespace tutti::cluster
