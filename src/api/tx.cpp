// What a body may ask of its transaction.
#include "tutti/tx.hpp"

#include "core/algorithm.hpp"
#include "core/deferred.hpp"
#include "core/seats.hpp"
#include "core/signal.hpp"

namespace tutti {

using core::deferred;
using core::descriptor;
using memory::status;

participant::~participant() = default;
detail::handler::~handler() = default;

namespace {

descriptor& sound(tx& t) {
    descriptor& d = descriptor::of(t);
    if (!d.healthy()) core::examine(d);
    return d;
}

/// Switches the running attempt to `wanted`, or restarts it in that mode. It waits for a seat only between attempts,
/// when it holds nothing: so two that ask at once cannot wait for each other.
void become_strict(descriptor& d, status wanted, abort_cause cause) {
    d.run.next_mode = wanted;
    const bool already_seated = d.seat == core::irrevocable_seat;  // under `serial`
    if (d.strict() && !already_seated) core::abort_attempt(d, cause);
    if (!already_seated && !core::take_seat(d, wanted)) core::abort_attempt(d, cause);
    d.extras |= core::extra_strict;
    d.mode = wanted;
    d.close_bounds();
    // seq_cst: partner of kill(). Either it sees the new status and is refused, or we see its request.
    d.state.exchange(memory::make_state(d.own_sequence, wanted), std::memory_order_seq_cst);
    if (d.kill_request.load(std::memory_order_seq_cst) == d.own_sequence) core::abort_attempt(d, abort_cause::killed);
    if (!d.algorithm->become(d, wanted)) core::abort_attempt(d, cause);
}

}  // namespace

void tx::add(detail::handler_point point, std::unique_ptr<detail::handler> h) {
    static constexpr deferred::kind kinds[] = {deferred::kind::before_commit, deferred::kind::at_commit,
                                               deferred::kind::on_commit, deferred::kind::on_abort};
    descriptor& d = descriptor::of(*this);
    // An error of use is thrown, and destroys the handler. A signal may jump, which would not: by then the log owns it.
    if ((d.troubles & (core::trouble_idle | core::trouble_frozen)) != 0) core::examine(d);
    core::put_off(d, kinds[static_cast<std::size_t>(point)], h.get(), nullptr);
    static_cast<void>(h.release());
    if (!d.healthy()) core::examine(d);
}

void tx::join(participant& p) {
    descriptor& d = sound(*this);
    if (!d.logging) {  // a vote needs current reads, which only a log can show
        d.run.log_reads = true;
        core::abort_attempt(d, abort_cause::mode_switch);
    }
    core::put_off(d, deferred::kind::participant, &p, nullptr);
}

void tx::become_irrevocable(const char* reason) {
    descriptor& d = sound(*this);
    if (d.runs_once()) return;
    d.run.irrevocable_reason = reason;
    if (!d.is_irrevocable()) become_strict(d, status::irrevocable, abort_cause::irrevocable_switch);
    d.run.last_resort = false;
    if ((d.extras & core::extra_counting) != 0) d.ledger.count_irrevocable(d.run.block(), reason);
}

void tx::become_visible() {
    descriptor& d = sound(*this);
    if (d.runs_once()) {
        throw usage_error{"tutti: become_visible in an irrevocable transaction, which is stricter already"};
    }
    if (d.strict()) return;
    become_strict(d, status::visible, abort_cause::mode_switch);
}

bool tx::irrevocable() const noexcept { return static_cast<const descriptor&>(*this).runs_once(); }
unsigned tx::attempt() const noexcept { return static_cast<const descriptor&>(*this).run.attempt; }
abort_cause tx::last_abort() const noexcept { return static_cast<const descriptor&>(*this).run.last_cause; }

}  // namespace tutti
