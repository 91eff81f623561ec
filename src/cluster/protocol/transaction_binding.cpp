// The prepare, and the reservations that an irrevocable block, or a block that asserts itself, asks the owners for.
#include <algorithm>

#include "cluster/protocol/claims.hpp"
#include "cluster/protocol/transaction.hpp"

namespace tutti::cluster {

wire::reserve transaction::reservation() const {
    return {.who = hold()->name(), .as = precedence(), .irrevocable = is_bound(), .values = true, .ids = {}};
}

outcome transaction::compare(const wanted& w, const wire::object_view& view, std::vector<wanted>& again) {
    switch (view.where) {
        case wire::lookup_result::busy:
        case wire::lookup_result::later: again.push_back(w); return outcome::good;
        case wire::lookup_result::too_large: return outcome::too_large;
        case wire::lookup_result::in_doubt: return lose_to_doubt(view, w.at);
        case wire::lookup_result::here:
            if (view.version == find(w.id)->version || injected(fault::bind_without_look)) return outcome::good;
            break;
        case wire::lookup_result::elsewhere:
        case wire::lookup_result::too_old: break;
    }
    return lose_to(rollback_reason::changed);
}

outcome transaction::reserve_open(claims& hold, bool firm, bool alone) {
    std::vector<wanted> left;
    for (const auto& e : entries()) {
        if (!alone || e->written) left.push_back({e->id, e->owner});
    }
    const wire::reserve what{
        .who = hold.name(), .as = precedence(), .irrevocable = firm, .before_write = alone, .ids = {}};
    std::vector<wire::object_view> views;
    for (unsigned turn = 0; !left.empty(); ++turn) {
        if (turn == most_looks && !(firm && alone)) return lose_to(rollback_reason::busy);
        if (turn != 0) network_.pause(turn % most_looks);
        std::vector<wanted> again, remote;
        for (const wanted& w : left) {
            if (w.at != site_.self) {
                remote.push_back(w);
                continue;
            }
            wire::object_view view;
            static_cast<void>(hold.note_owner(site_.self));
            site_.reserved.reserve(w.id, what, view);
            if (const outcome o = compare(w, view, again); o != outcome::good) return o;
        }
        std::ranges::sort(remote, {}, &wanted::at);
        const outcome asked = ask_to_reserve(remote, what, hold, views);
        for (std::size_t i = 0; i < views.size(); ++i) {
            if (const outcome o = compare(remote[i], views[i], again); o != outcome::good) return o;
        }
        if (asked != outcome::good) return asked;
        left = std::move(again);
    }
    return outcome::good;
}

outcome transaction::bind(claims& hold) {
    forget_ahead();  // objects asked for ahead are not reserved
    if (const outcome o = reserve_open(hold, true, false); o != outcome::good) return o;
    for (const auto& e : entries()) e->in_copy = false;  // the object is reserved at its owner
    is_plain_ = false;
    bound_to_ = &hold;
    note_whether_at_hand();
    return outcome::good;
}

bool transaction::may_wait(bool decisive) const noexcept {
    if (obstacle_ == wire::lock_refusal::outranked) return manners_.waits && decisive;
    // Other nodes have copies of a written object. They are dropping these copies now.
    if (obstacle_ == wire::lock_refusal::shared) return decisive || is_shielded();
    return obstacle_ == wire::lock_refusal::locked && is_shielded();
}

outcome transaction::take_locks_in_turn(bool decisive) {
    outcome o = take_locks(decisive);
    for (unsigned turn = 0; o == outcome::conflict && turn != most_looks && may_wait(decisive); ++turn) {
        if (turn == 0) ++waits_;
        // The object is locked by running commits that have read it. If this transaction goes first, no further commit
        // locks the object.
        if (obstacle_ != wire::lock_refusal::locked) {
            network_.pause(turn);
        } else if (o = reserve_open(*manners_.shield, false, true); o != outcome::good) {
            return o;
        }
        ++name_.sequence;  // the refused prepare is over
        o = take_locks(decisive);
    }
    return o;
}

outcome transaction::prepare(bool decisive) {
    forget_ahead();
    if (!is_bound()) return take_locks_in_turn(decisive);
    if (const outcome o = take_locks(decisive); o != outcome::conflict) return o;
    // Commits that have read a written object hold their locks until they are decided. No further commit locks the
    // object.
    if (const outcome o = reserve_open(*bound_to_, true, true); o != outcome::good)
        return o == outcome::conflict ? lose_node(refused_by_) : o;
    ++name_.sequence;  // the refused prepare is over
    if (const outcome o = take_locks(decisive); o != outcome::conflict) return o;
    // An owner that gives away what it has promised is treated as lost.
    return lose_node(refused_by_);
}

}  // namespace tutti::cluster
