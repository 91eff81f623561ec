#include "cluster/participant/enlistment.hpp"

#include <algorithm>

#include "cluster/participant/peer_node.hpp"
#include "cluster/rpc/key.hpp"
#include "core/conflict/contention_rank.hpp"
#include "tutti/cluster/serializer.hpp"

namespace tutti::cluster {

enlistment::enlistment(protocol_node& protocol, rpc_client& to, core::descriptor& of, peer_node& node)
    : object_participant{of},
      protocol_node_{protocol},
      rpc_client_{to},
      node_{node},
      transaction_{protocol, to, to.slot, this},
      named_locks_{protocol, to, to.slot},
      fast_path_{node} {}

enlistment::~enlistment() { node_.notifier().unsubscribe_and_wait(wakeup_); }

void enlistment::join_first() {
    may_use_fast_path_ = false;
    descriptor_.companion_data_ = &fast_path_;
    is_default_contention_ = join();
    if (is_default_contention_ && descriptor_.run.how->policy == tutti::policy::standard)
        default_contention_policy_ = core::chosen_policy.load(std::memory_order_relaxed);
    begin_attempt();
}

void enlistment::begin_attempt() {
    if (!named_locks_.empty()) ++undo_blocks_;
    else if (descriptor_.run.attempt == 1) named_locks_.begin_execution();
    if (subscribed_) node_.notifier().unsubscribe(wakeup_);
    subscribed_ = false;
    if (conflicts_in_a_row_ == 0) wasted_opens_ = 0;
    else pause_after_conflict();
    const bool snapshot = is_reader();
    variables_are_newer_ = false;
    reopen_.clear();
    if (conflicts_in_a_row_ != 0 && !snapshot) remember_for_reopening();
    validated_ = 0;
    const bool stands = transaction_.begin(snapshot, descriptor_.reads() == 0);
    rpc_client_.set_attempt(transaction_.name().sequence);
    if (counters_.running() == 1)
        rpc_client_.on_attempt_begin();  // blocks that an undo action runs belong to the attempt that is being undone
    if (!stands) {
        api::roll_back_to_valid_reads(descriptor_);
        restart();
    }
    if (!snapshot) set_contention_behavior();
}

void enlistment::pause_after_conflict() {
    // If the last attempt has reserved its objects, no pause is needed, because the objects are free for this attempt
    // unless another transaction has precedence.
    if (had_reservations_ && !transaction_.was_outranked()) return;
    if (api::remote_contention_of(descriptor_).rules.may_pause) rpc_client_.pause(conflicts_in_a_row_);
}

enlistment& enlistment::outermost_enlistment() {
    core::descriptor* d = &descriptor_;
    while (d->outer != nullptr && d->outer->running()) d = d->outer;
    if (d == &descriptor_) return *this;
    auto& whole = static_cast<enlistment&>(node_.participant_of(*d));
    if (!whole.is_joined()) return *this;
    whole.leave_fast_path_if_active();  // needed because the outermost block's enlistment may receive an age
    return whole;
}

void enlistment::set_contention_behavior() {
    using enum core::remote_conflict_rules::precedence_rule;
    // In the common case of a first attempt, the behavior is the default one, which is set already.
    if (conflicts_in_a_row_ == 0 && is_default_contention_) {
        had_reservations_ = false;
        return;
    }
    const api::remote_contention c = api::remote_contention_of(descriptor_);
    contention_behavior m{.waits = c.rules.may_wait};
    enlistment& whose = outermost_enlistment();
    const bool has_lost = whose.conflicts_in_a_row_ != 0;
    bool asserts = true;
    switch (c.rules.precedence) {
        case none: asserts = false; break;
        case age: asserts = has_lost; break;
        case work:
            asserts = has_lost;
            m.precedence.rank = whose.wasted_opens_;
            m.counts_objects = true;
            break;
        case priority: [[fallthrough]];
        case deadline:
            m.precedence.rank = c.rank;
            asserts = c.rank > 0;
            break;
        case all: m.precedence.rank = highest_rank - 1; break;
    }
    const bool senior = c.senior || (c.bounded && whose.conflicts_in_a_row_ >= core::defeats_to_seniority);
    if (senior) m = {.waits = true, .precedence = {.rank = highest_rank}};
    if (asserts || senior) {
        m.precedence.age = whose.named_locks_.age();
        m.reserve_for = &named_locks_;
    }
    had_reservations_ = m.reserve_for != nullptr;
    transaction_.set_behavior(m);
}

/// Returns true if the outermost block is read-only.
bool enlistment::is_reader() const noexcept { return tutti::detail::only_reads(*descriptor_.run.how); }

void enlistment::record_conflict(rollback_reason why) noexcept {
    ++conflicts_in_a_row_;
    wasted_opens_ += 1 + static_cast<std::int64_t>(transaction_.entries().size());
    counters_.set_reason(why);
}

bool enlistment::validate(std::uint64_t& at) {
    core::descriptor& d = descriptor_;
    // Without local reads, nothing can be stale, because everything else in the snapshot was committed before this
    // call.
    if (d.reads() == 0) return true;
    for (int attempt = 0; attempt < 16; ++attempt) {
        const tutti::detail::word before = d.snapshot_bound;
        if (!api::reads_are_valid(d)) return false;
        if (d.snapshot_bound == before) return true;
        // The validation has moved the snapshot. The clock's present value is no lower than the clock's value when the
        // snapshot's new content was committed.
        at = std::max(at, protocol_node_.clock.now());
    }
    return false;  // other transactions commit faster than this one can validate
}

void enlistment::restart() {
    record_conflict(transaction_.why());
    api::restart_attempt(descriptor_);
}

bool enlistment::encode_writes() {
    bool any = false;
    constexpr std::size_t around_it = 64;  // bytes of a message besides the value
    const bool travels = protocol_node_.nodes > 1;
    const std::size_t most = protocol_node_.max_message_bytes - std::min(protocol_node_.max_message_bytes, around_it);
    for (const auto& of : transaction_.entries()) {
        object_entry& e = *of;
        if (e.object_data == nullptr) continue;
        const auto& s = *static_cast<const detail::slot*>(e.object_data);
        if (!s.written) continue;
        e.written = s.exists || e.exists;  // false for an object that the block has created and erased
        e.will_exist = s.exists;
        any = any || e.written;
        if (!e.written || !s.exists) {
            e.fresh.clear();
            e.fresh_image = {};
            continue;
        }
        e.fresh_image = s.value->copied();
        if (!e.fresh_image.exists()) s.value->encode(e.fresh);
        const std::size_t size =
            e.fresh_image.exists() ? sizeof e.fresh_image.tag + e.fresh_image.size : e.fresh.size();
        if (travels && size > most) node_.refuse_large();  // even for an object here: no other node could read it
    }
    return any;
}

void enlistment::release_locks() noexcept {
    if (undo_blocks_ != 0) --undo_blocks_;
    else named_locks_.release();
}

void enlistment::end_attempt(timeline_outcome how) noexcept {
    descriptor_.companion_data_ = nullptr;
    counters_.count_waits(transaction_.wait_count(), transaction_.has_reservations());
    transaction_.end_snapshot();
    release_locks();
    if (counters_.running() == 1) rpc_client_.on_attempt_end(how, counters_.reason());
}

vote enlistment::prepare() {
    leave_fast_path_if_active();
    // If the home of this transaction's abstract locks was lost, other transactions may have acquired the same locks.
    if (!named_locks_.is_valid()) fail_to_lock(protocol_status::lost);
    if (descriptor_.must_commit() && !transaction_.empty()) ensure_joined();
    if (variables_are_newer_) {
        record_conflict(rollback_reason::node_lost);
        return vote::restart;
    }
    const bool writes = may_write() && encode_writes();
    // A transaction that has only read is ordered at transaction_.time(), and its local reads agree with this time. But
    // if other participants order the transaction by the vote, or act at the decision, its reads have to be current at
    // the vote.
    const bool is_only_one = core::has_one_participant_only(descriptor_);
    if (!writes && descriptor_.writes.empty() && (is_only_one || api::is_sole_voter(descriptor_))) return vote::commit;
    const bool no_variables = descriptor_.writes.empty() && descriptor_.reads() == 0;
    const bool alone = is_only_one ? no_variables : api::is_sole_participant(descriptor_);
    if (alone && transaction_.prepare_in_place()) return vote::commit;
    const protocol_status o = transaction_.prepare(alone);
    if (o == protocol_status::good) {
        // All objects' locks are held, here and on other nodes. Variables that were only read are not locked, so they
        // are validated.
        if (alone || api::reads_are_valid(descriptor_)) return vote::commit;
        transaction_.abort();
        record_conflict(rollback_reason::local_validation);
        return vote::restart;
    }
    if (o != protocol_status::conflict) fail(o);
    record_conflict(transaction_.why());
    return vote::restart;
}

void enlistment::commit() noexcept {
    if (transaction_.is_prepared()) transaction_.commit();
    end_attempt(timeline_outcome::committed);
    conflicts_in_a_row_ = 0;
    counters_.count_commit();
    check_fast_path_next();
}

void enlistment::abort() noexcept { transaction_.abort(); }

void enlistment::on_rollback() noexcept {
    leave_fast_path_if_active();
    end_attempt(timeline_outcome::rolled_back);
    counters_.count_rollback();
}

bool enlistment::on_retry() {
    leave_fast_path_if_active();
    counters_.set_reason(rollback_reason::retry);
    if (!is_joined() || transaction_.empty()) return true;
    static_cast<void>(wakeup_.get(descriptor_));
    std::vector<backend::check> watched;
    for (const auto& e : transaction_.entries()) watched.push_back({key_of(e->id), e->version});
    // Subscribes before the owners are asked, so that their reports find the wake-up variable. The subscription fails
    // only while the node is being destroyed.
    if (!node_.notifier().subscribe(wakeup_, watched)) restart();
    subscribed_ = true;
    if (const protocol_status o = transaction_.watch(); o != protocol_status::good) fail(o);
    return true;
}

}  // namespace tutti::cluster
