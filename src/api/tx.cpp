// Operations of a body on its transaction.
#include "tutti/tx.hpp"

#include "core/conflict/abstract_locks.hpp"
#include "core/lifecycle/access_check.hpp"
#include "core/modes/deadline.hpp"
#include "core/modes/mode_switch.hpp"
#include "core/ports/algorithm.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/reader_predictor.hpp"
#include "core/rollback/signal.hpp"
#include "core/state/ancestry.hpp"
#include "observe/site.hpp"
#include "tutti/open_nesting.hpp"

namespace tutti {

using core::deferred;
using core::descriptor;
using memory::status;

participant::~participant() = default;
bool participant::on_snapshot_extended() { return true; }
bool participant::on_retry() { return true; }
void participant::on_rollback() noexcept {}
detail::handler::~handler() = default;

namespace {

descriptor& checked_descriptor(tx& t) {
    descriptor& d = descriptor::of(t);
    if (!d.healthy()) core::check_access(d);
    return d;
}

/// Throws if the block has mode::snapshot and asks for a stricter mode. A block that reads a snapshot only because it
/// has restarted too often may ask: it starts over.
void refuse_in_snapshot(const descriptor& d) {
    if (d.run.how->mode != mode::snapshot) return;
    throw usage_error{
        "tutti: become_irrevocable or become_visible in a block with mode::snapshot, which reads the values of an "
        "earlier time; start the block in the mode that it needs"};
}

/// Replaces the engine's reason for irrevocability by the body's reason, if the engine had made the attempt
/// irrevocable before the body requested this. Does not count the switch again. Drops the reason if memory runs out, as
/// the counters do.
void replace_irrevocable_reason(const descriptor& d, const char* reason) noexcept {
    try {
        const observe::block_id block = d.run.block();
        observe::site_of(block.at, block.name).irrevocable_reason.store(reason, std::memory_order_relaxed);
    } catch (const std::bad_alloc&) {}
}

}  // namespace

void tx::add(detail::handler_point point, std::unique_ptr<detail::handler> h) {
    static constexpr deferred::kind kinds[] = {deferred::kind::before_commit, deferred::kind::at_commit,
                                               deferred::kind::on_commit, deferred::kind::on_abort};
    descriptor& d = descriptor::of(*this);
    // A usage_error may be thrown before the log owns the handler, because an exception destroys `h`. A signal may be a
    // jump, which runs no destructor, so signals are raised only after the log owns the handler.
    if ((d.slow_path & (core::slow_path_idle | core::slow_path_frozen)) != 0) core::check_access(d);
    core::defer(d, kinds[static_cast<std::size_t>(point)], h.get(), nullptr);
    static_cast<void>(h.release());
    if (!d.healthy()) core::check_access(d);
    else if (point == detail::handler_point::at_commit) core::need_current_reads(d);
    else if (point == detail::handler_point::on_abort) core::leave_hardware(d, hardware_abort::system_call);
}

void tx::join(participant& p) {
    descriptor& d = checked_descriptor(*this);
    core::need_reads_for_vote(d);
    core::defer(d, deferred::kind::participant, &p, nullptr);
}

void tx::become_irrevocable(const char* reason) {
    descriptor& d = checked_descriptor(*this);
    if (d.must_commit()) return;
    refuse_in_snapshot(d);
    // Without this check, the transaction would wait forever for the irrevocable slot, which an outer transaction of
    // the same thread occupies. The check does not read the slot, because a biased owner occupies none.
    for (const descriptor* o = d.outer; o != nullptr; o = o->outer) {
        if (o->running() && o->is_irrevocable()) {
            throw usage_error{
                "tutti: become_irrevocable in an open nested block inside an irrevocable transaction, of which there "
                "is one at a time; call it in the block around this one"};
        }
    }
    // An attempt with open nested blocks that have ended must restart: after the switch, they could not be undone while
    // closed nested blocks exist.
    const bool stays = d.run.opened_in != d.run.attempt && core::freeze_data_participants(d);
    core::note_requested_mode(d, status::irrevocable);
    d.run.irrevocable_only_to_commit = false;
    d.run.irrevocable_reason = reason;
    if (!stays) {
        d.run.next_mode = status::irrevocable;
        core::attempt_abort(d, abort_cause::irrevocable_switch);
    }
    const bool switches = !d.is_irrevocable();
    if (switches) core::become_strict(d, status::irrevocable, abort_cause::irrevocable_switch);
    if ((d.slow_commit & core::slow_commit_counting) == 0) return;
    if (switches) d.counters.count_irrevocable(d.run.block(), reason);
    else replace_irrevocable_reason(d, reason);
}

void tx::become_visible() {
    descriptor& d = checked_descriptor(*this);
    if (d.must_commit()) {
        core::refuse_repetition(d, "tutti: become_visible in an irrevocable transaction, which is stricter already");
    }
    refuse_in_snapshot(d);
    core::note_requested_mode(d, status::visible);
    if (d.strict()) return;
    // Inside another transaction, a visible attempt may have begun without a slot, because no slot was free.
    if (d.run.next_mode == status::visible && core::ancestor_runs(d)) return;
    core::become_strict(d, status::visible, abort_cause::mode_switch);
}

bool tx::irrevocable() const noexcept { return static_cast<const descriptor&>(*this).must_commit(); }
unsigned tx::attempt() const noexcept { return static_cast<const descriptor&>(*this).run.attempt; }
abort_cause tx::last_abort() const noexcept { return static_cast<const descriptor&>(*this).run.last_cause; }

void acquire(tx& t, const abstract_lock& lock) {
    core::take_abstract_lock(checked_descriptor(t), {lock.of, lock.key}, lock.shared);
}

}  // namespace tutti
