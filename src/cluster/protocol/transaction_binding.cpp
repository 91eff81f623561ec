// Prepares a transaction, and requests the reservations of irrevocable and reserving transactions from the owners.
#include <algorithm>

#include "cluster/protocol/named_lock_client.hpp"
#include "cluster/protocol/transaction.hpp"

namespace tutti::cluster {

wire::reserve distributed_transaction::reservation_request() const {
    return {.who = hold()->name(), .as = precedence(), .irrevocable = is_irrevocable(), .values = true, .ids = {}};
}

protocol_status distributed_transaction::compare(const object_lookup& w, const wire::object_view& view,
                                                 std::vector<object_lookup>& again) {
    switch (view.where) {
        case wire::lookup_result::busy:
        case wire::lookup_result::later: again.push_back(w); return protocol_status::good;
        case wire::lookup_result::too_large: return protocol_status::too_large;
        case wire::lookup_result::in_doubt: return fail_in_doubt(view, w.at);
        case wire::lookup_result::here:
            if (view.version == find(w.id)->version || injected(fault::irrevocable_without_validation))
                return protocol_status::good;
            break;
        case wire::lookup_result::elsewhere:
        case wire::lookup_result::too_old: break;
    }
    return fail_with(rollback_reason::validation);
}

protocol_status distributed_transaction::reserve_open(named_lock_client& hold, bool irrevocable, bool before_write) {
    std::vector<object_lookup> left;
    for (const auto& e : entries()) {
        if (!before_write || e->written) left.push_back({e->id, e->owner});
    }
    const wire::reserve what{
        .who = hold.name(), .as = precedence(), .irrevocable = irrevocable, .before_write = before_write, .ids = {}};
    std::vector<wire::object_view> views;
    for (unsigned attempt = 0; !left.empty(); ++attempt) {
        if (attempt == max_lookups && !(irrevocable && before_write)) return fail_with(rollback_reason::busy);
        if (attempt != 0) network_.pause(attempt % max_lookups);
        std::vector<object_lookup> again, remote;
        for (const object_lookup& w : left) {
            if (w.at != node_.self) {
                remote.push_back(w);
                continue;
            }
            wire::object_view view;
            static_cast<void>(hold.record_owner(node_.self));
            node_.reserved_objects.reserve(w.id, what, view);
            if (const protocol_status o = compare(w, view, again); o != protocol_status::good) return o;
        }
        std::ranges::sort(remote, {}, &object_lookup::at);
        const protocol_status asked = request_reservations(remote, what, hold, views);
        for (std::size_t i = 0; i < views.size(); ++i) {
            if (const protocol_status o = compare(remote[i], views[i], again); o != protocol_status::good) return o;
        }
        if (asked != protocol_status::good) return asked;
        left = std::move(again);
    }
    return protocol_status::good;
}

protocol_status distributed_transaction::reserve_irrevocably(named_lock_client& hold) {
    discard_prefetched();  // prefetched objects are not reserved
    if (const protocol_status o = reserve_open(hold, true, false); o != protocol_status::good) return o;
    for (const auto& e : entries()) e->in_copy = false;  // the object is reserved at its owner
    is_clean_ = false;
    irrevocable_hold_ = &hold;
    update_fast_path();
    return protocol_status::good;
}

bool distributed_transaction::may_wait(bool decisive) const noexcept {
    if (refusal_ == wire::lock_refusal::outranked) return behavior_.waits && decisive;
    // Other nodes have copies of a written object, and are dropping these copies now.
    if (refusal_ == wire::lock_refusal::shared) return decisive || has_reservations();
    return refusal_ == wire::lock_refusal::locked && has_reservations();
}

protocol_status distributed_transaction::lock_with_retries(bool decisive) {
    protocol_status o = lock_all(decisive);
    for (unsigned attempt = 0; o == protocol_status::conflict && attempt != max_lookups && may_wait(decisive);
         ++attempt) {
        if (attempt == 0) ++wait_count_;
        // If the object is locked, running commits have read it. A reservation with precedence prevents further commits
        // from locking the object.
        if (refusal_ != wire::lock_refusal::locked) {
            network_.pause(attempt);
        } else if (o = reserve_open(*behavior_.reserve_for, false, true); o != protocol_status::good) {
            return o;
        }
        ++name_.sequence;  // the failed prepare is over
        o = lock_all(decisive);
    }
    return o;
}

protocol_status distributed_transaction::prepare(bool decisive) {
    discard_prefetched();
    if (!is_irrevocable()) return lock_with_retries(decisive);
    if (const protocol_status o = lock_all(decisive); o != protocol_status::conflict) return o;
    // Commits that have read a written object hold their locks until they are decided. The reservation waits for these
    // commits, and prevents further ones from locking the object.
    if (const protocol_status o = reserve_open(*irrevocable_hold_, true, true); o != protocol_status::good)
        return o == protocol_status::conflict ? fail_node_lost(refused_by_) : o;
    ++name_.sequence;  // the failed prepare is over
    if (const protocol_status o = lock_all(decisive); o != protocol_status::conflict) return o;
    // An owner that breaks a reservation is treated as lost.
    return fail_node_lost(refused_by_);
}

}  // namespace tutti::cluster
