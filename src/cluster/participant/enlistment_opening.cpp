// Opens a block's objects off the fast path, and handles objects that other transactions have changed.
#include <algorithm>

#include "cluster/ordering/fault_injection.hpp"
#include "cluster/participant/enlistment.hpp"
#include "cluster/participant/peer_node.hpp"

namespace tutti::cluster {

detail::slot& enlistment::open(const object_id& id, detail::location_hint& found) {
    api::require_access(descriptor_);
    ensure_joined();
    object_entry* e = transaction_.find(id);
    if (e == nullptr) {
        if (auto* const at = static_cast<seqlock_object*>(found.get()); at != nullptr)
            transaction_.set_location_hint(id, *at);
        open_new({&id, 1});
        e = transaction_.find(id);
    }
    if (e->object_data == nullptr) {
        if (e->entry_data == nullptr) e->entry_data = &slot_at(slot_count());
        auto& s = *static_cast<detail::slot*>(e->entry_data);
        fill(s, e->bytes, e->exists);
        e->object_data = &s;
    }
    if (e->hint.object != nullptr) found.set(e->hint.object);
    return *static_cast<detail::slot*>(e->object_data);
}

void enlistment::open(std::span<const object_id> ids) {
    ensure_joined();
    if (std::ranges::all_of(ids, [this](const object_id& id) { return transaction_.find(id) != nullptr; })) return;
    open_new(ids);
}

void enlistment::prefetch(std::span<const object_id> ids) {
    ensure_joined();
    // This call opens the objects that an earlier prefetch has requested, so they belong to the block that runs now.
    begin_step(transaction_.entries().size());
    if (const protocol_status o = transaction_.prefetch(ids); o != protocol_status::good) fail(o);
}

protocol_status enlistment::open_blocking(std::span<const object_id> ids) {
    protocol_status o = transaction_.open(ids);
    // Usually other transactions hold the objects only for the time of a commit. But if the token's home has lost this
    // node, another irrevocable block may hold them.
    while (o == protocol_status::conflict && transaction_.is_irrevocable()) {
        if (!named_locks_.is_token_valid()) fail_to_lock(protocol_status::lost);
        o = transaction_.open(ids);
    }
    return o;
}

void enlistment::open_new(std::span<const object_id> ids) {
    const std::size_t known = transaction_.entries().size();
    begin_step(known);
    if (!reopen_.empty()) {
        reopen_.insert(reopen_.begin(), ids.begin(), ids.end());
        const protocol_status o = open_blocking(reopen_);
        reopen_.clear();
        if (o == protocol_status::good) return;
        if (o == protocol_status::conflict) fail(o);
        transaction_.roll_back_to(known);  // the body may not need the objects that are unavailable
    }
    if (const protocol_status o = open_blocking(ids); o != protocol_status::good) fail(o);
}

bool enlistment::on_snapshot_extended() {
    leave_fast_path_if_active();
    if (!is_joined() || transaction_.empty()) return true;
    // A snapshot reader fails here, because its objects' snapshot cannot move, but the variable may depend on later
    // commits.
    if (transaction_.is_snapshot()) {
        record_conflict(rollback_reason::local_validation);
        return false;
    }
    // The clock's present value is no lower than the clock's value when the new content of the variables' snapshot was
    // committed. Every object is validated again, even if the clock has not moved. The reason is that a commit without
    // objects draws no version, and may overwrite a variable that a commit with objects has read here. The commit with
    // objects holds its locks until it draws its version.
    const protocol_status o = refresh_reads();
    if (o == protocol_status::good) return true;
    if (o != protocol_status::conflict) {
        variables_are_newer_ = true;  // the variables have moved on, even if the body catches the error
        fail(o);
    }
    try_partial_rollback();
    record_conflict(transaction_.why());
    return false;
}

protocol_status enlistment::refresh_reads() {
    const protocol_status o = transaction_.extend_snapshot(protocol_node_.clock.now(), true);
    validated_ = o == protocol_status::good ? transaction_.entries().size() : 0;
    return o;
}

void enlistment::recheck() {
    leave_fast_path_if_active();
    // If nested checkpoints end together, only the innermost one needs a validation, because the outer checkpoints'
    // blocks have done nothing since then.
    if (!is_joined() || transaction_.empty() || transaction_.is_snapshot() ||
        injected(fault::skip_checkpoint_validation))
        return;
    if (validated_ == transaction_.entries().size()) return;
    if (const protocol_status o = refresh_reads(); o != protocol_status::good) fail(o);
}

void enlistment::remember_for_reopening() {
    reopen_.clear();
    for (const auto& e : transaction_.entries()) {
        if (e->object_data != nullptr) reopen_.push_back(e->id);
    }
}

void enlistment::try_partial_rollback() {
    if (transaction_.is_snapshot())
        return;  // the snapshot's time stays, so every object opened at it would conflict again
    if (!transaction_.valid_prefix()) return api::roll_back_to_valid_reads(descriptor_);
    const tutti::detail::frame* const to = rollback_target(*transaction_.valid_prefix(), transaction_.entries().size());
    if (to == nullptr) return;
    counters_.count_partial_rollback();
    remember_for_reopening();
    api::roll_back_to(descriptor_, *to);
}

void enlistment::drop_objects(std::size_t kept) noexcept {
    for (std::size_t i = kept; i < transaction_.entries().size(); ++i) transaction_.entries()[i]->object_data = nullptr;
    transaction_.roll_back_to(kept);
    validated_ = std::min(validated_, kept);
}

void enlistment::fail(protocol_status o) {
    if (o == protocol_status::conflict) {
        try_partial_rollback();
        restart();
    }
    if (o == protocol_status::too_large) node_.refuse_large();
    counters_.set_reason(transaction_.why());
    node_.refuse_lost(transaction_.lost_node(), o == protocol_status::uncertain);
}

}  // namespace tutti::cluster
