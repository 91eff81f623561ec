#include "core/lifecycle/retry.hpp"

#include <algorithm>

#include "core/lifecycle/access_check.hpp"
#include "core/lifecycle/ends.hpp"
#include "core/lifecycle/interrupt.hpp"
#include "core/lifecycle/retry_limits.hpp"
#include "core/modes/deadline.hpp"
#include "core/ports/algorithm.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/signal.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/critical.hpp"
#include "core/state/fault_injection.hpp"
#include "core/waiting/wakeup.hpp"

namespace tutti::core {
namespace {

/// The memory of the objects that an attempt has created. No other transaction can have written to this memory.
class own_memory {
public:
    /// O(n log n) in the number of entries of the log. Throws std::bad_alloc.
    explicit own_memory(descriptor& d) {
        in_critical_region(d, [&] { parts_.reserve(d.deferred_log.size() + d.deferred_log.aside()); });
        for (const deferred& e : d.deferred_log) add(e);
        for (std::size_t i = 0; i < d.deferred_log.aside(); ++i) add(d.deferred_log.aside(i));
        std::sort(parts_.begin(), parts_.end(), [](const part& a, const part& b) { return a.begin < b.begin; });
    }
    /// O(log n).
    [[nodiscard]] bool has(const void* at) const noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(at);
        const part* const behind = std::upper_bound(parts_.begin(), parts_.end(), address,
                                                    [](std::uintptr_t a, const part& p) { return a < p.begin; });
        return behind != parts_.begin() && address - behind[-1].begin < behind[-1].bytes;
    }

private:
    struct part {
        std::uintptr_t begin;
        std::size_t bytes;
    };
    void add(const deferred& e) noexcept {
        if (e.bytes == 0 || (e.what != deferred::kind::allocated && e.what != deferred::kind::discarded)) return;
        parts_.push_reserved({reinterpret_cast<std::uintptr_t>(e.object), e.bytes});
    }

    memory::log<part> parts_;
};

/// Returns true if d has read anything that another transaction can change. Throws std::bad_alloc.
bool has_read(descriptor& d) {
    if (!d.has_read() || (d.slow_commit & slow_commit_memory) == 0) return d.has_read();
    const own_memory own{d};
    return std::any_of(d.read_begin, d.read_next_, [&](const orec* r) { return !own.has(r); }) ||
           std::any_of(d.algorithm_data.values.begin(), d.algorithm_data.values.end(),
                       [&](const value_read& v) { return !own.has(v.from); });
}

void sleep_until(descriptor& d, base::deadline until, waiter::cancellable c) {
    static const detail::shared<std::uint32_t> nobody_wakes_this{0};
    while (base::now() < until) sleep_on(d, nobody_wakes_this, until, c);
}

/// Runs `sleep`. If the thread is cancelled in `sleep`, it leaves all its frames, including those of the block, so the
/// execution ends. (A forced unwind is not counted as an exception.)
template <class F>
void sleep_or_end(descriptor& d, F&& sleep) {
    struct ending {
        descriptor* of;
        ~ending() {
            if (of != nullptr) execution_fail(*of);
        }
    } failure{&d};
    sleep();
    failure.of = nullptr;
}

bool inside_alternative(const descriptor& d) noexcept {
    for (const detail::frame* f = d.frame_; f != nullptr; f = f->parent) {
        if (f->alternative) return true;
    }
    return false;
}

[[noreturn]] void raise_retry(descriptor& d) {
    if (d.must_commit()) {
        refuse_repetition(
            d,
            "tutti: retry in an irrevocable transaction, whose effects cannot be repeated; call retry before "
            "become_irrevocable");
    }
    // Without a log the attempt has nothing to wait for, so it runs again with a log.
    if (!inside_alternative(d)) need_current_reads(d);
    raise(d, signal::retry, abort_cause::explicit_retry);
}

/// Raises retry. Returns only if the time limit has passed already.
void raise_retry_until(descriptor& d, base::deadline until, base::deadline now) {
    if (now >= until) return;
    // If a participant cannot wake this transaction, the transaction checks again when its time is up.
    static_cast<void>(notify_participants_of_retry(d));
    if (!d.run.retry_until || until < *d.run.retry_until) d.run.retry_until = until;
    raise_retry(d);
}

class showing_retry {
public:
    explicit showing_retry(descriptor& d) noexcept : d_{d} { d_.shows_retry.store(true, std::memory_order_relaxed); }
    showing_retry(const showing_retry&) = delete;
    showing_retry& operator=(const showing_retry&) = delete;
    ~showing_retry() { d_.shows_retry.store(false, std::memory_order_relaxed); }

private:
    descriptor& d_;
};

}  // namespace

void wait_in_retry(descriptor& d) {
    const bool can_be_ended = can_be_interrupted(d);  // read while its block is open
    std::optional<waiter> me;
    try {
        if (has_read(d)) me.emplace(d);
    } catch (const std::bad_alloc&) {
        execution_abandon(d, abort_cause::allocation);
        throw;
    }
    if (!me) {
        if (!d.logging) {  // an alternative of an unlogged block
            d.run.log_reads = true;
            return attempt_end(d, abort_cause::mode_switch);
        }
        const std::optional<base::deadline> until = retry_limit(d);
        if (until) {
            attempt_end(d, abort_cause::explicit_retry);
            const auto c = can_be_ended ? waiter::cancellable::yes : waiter::cancellable::no;
            return sleep_or_end(d, [&] { sleep_until(d, *until, c); });
        }
        execution_abandon(d, abort_cause::usage);
        throw usage_error{
            "tutti: retry before anything was read: nothing could ever wake this transaction; read what it waits for "
            "through its tx first"};
    }
    // The reads are checked while the state is still running, because then the memory that was read cannot be
    // reclaimed. The writes are undone after the check. Under orecs that d owns, the values that were read are
    // unchanged. But a roll-back may leave versions there that d cannot distinguish from those of other transactions,
    // so d would run again instead of sleeping.
    const bool worth_sleeping = injected(fault::retry_without_recheck) || d.algorithm->unchanged(d);
    attempt_end(d, abort_cause::explicit_retry);
    if (!worth_sleeping) return;
    std::optional<base::deadline> until = retry_limit(d);
    if (ancestor_runs(d)) {
        // The transaction that would wake d may be waiting for something that the block around d owns, and may ask that
        // block to abort. So d wakes up from time to time and checks.
        const base::deadline soon = base::now() + std::chrono::milliseconds{1};
        if (!until || soon < *until) until = soon;
    }
    const showing_retry shown{d};
    if (can_be_ended) sleep_or_end(d, [&] { sleep_interruptibly(d, *me, until); });
    else me->sleep(until);
}

}  // namespace tutti::core

namespace tutti::detail {

using core::descriptor;

void raise_retry(tx& t) {
    descriptor& d = descriptor::of(t);
    if (!d.healthy()) core::check_access(d);
    if (!core::notify_participants_of_retry(d)) {
        throw usage_error{
            "tutti: retry beside a participant that cannot wake the block (participant::on_retry): "
            "use retry_for, with the time after which to check again"};
    }
    core::raise_retry(d);
}

void raise_retry_for(tx& t, std::chrono::nanoseconds limit, const retry_site& at) {
    descriptor& d = descriptor::of(t);
    if (!d.healthy()) core::check_access(d);
    const base::deadline now = base::now();
    const base::deadline since = core::first_reached_at(d, at, now);
    // A limit beyond the end of the clock means forever.
    const base::deadline until = since + std::min(limit, std::chrono::nanoseconds{base::deadline::max() - since});
    core::raise_retry_until(d, until, now);
}

void raise_retry_until(tx& t, std::chrono::steady_clock::time_point when) {
    descriptor& d = descriptor::of(t);
    if (!d.healthy()) core::check_access(d);
    core::raise_retry_until(d, base::deadline{when.time_since_epoch()}, base::now());
}

}  // namespace tutti::detail
