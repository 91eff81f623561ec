#include "policies/adaptive.hpp"

#include <array>
#include <memory>

#include "core/conflict/back_off.hpp"
#include "core/lifecycle/ends.hpp"
#include "core/lifecycle/open_nesting.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/critical.hpp"
#include "core/waiting/execution_queue.hpp"
#include "policies/contention_managers.hpp"
#include "policies/trial.hpp"

namespace tutti::policies {
namespace {

/// The data of a site at which a block was defeated.
struct contended {
    contention_intensity intensity;
    class trial trial;
    core::execution_queue queue;
};

/// The maximum time for which a block stays in a queue. The time is long, because waiting is the purpose of a queue.
/// But the time must be limited. The block at the head of the queue may wait for a block behind it, for example for a
/// lock of the program. Without a limit, the program would stop.
constexpr std::chrono::milliseconds longest_in_queue{20};

/// Sites that are on trial or serialised. The table has few places, so other sites wait until one of these sites rests
/// again.
constinit std::array<detail::shared<contended*>, 8> watched{};

constinit detail::shared<max_queue_wait> forced{max_queue_wait::as_measured};

std::optional<base::deadline> queue_wait_limit(max_queue_wait how) noexcept {
    switch (how) {
        case max_queue_wait::unlimited: return std::nullopt;
        case max_queue_wait::one_millisecond: return base::now() + std::chrono::milliseconds{1};
        case max_queue_wait::as_measured: break;
    }
    return base::now() + longest_in_queue;
}

bool watch(contended& c) noexcept {
    for (auto& place : watched) {
        contended* nobody = nullptr;
        if (place.load(std::memory_order_relaxed) != nullptr) continue;
        if (place.compare_exchange(nobody, &c, std::memory_order_acq_rel)) {
            core::listen();
            return true;
        }
    }
    return false;
}

void stop_watching(contended& c) noexcept {
    for (auto& place : watched) {
        contended* mine = &c;
        if (place.compare_exchange(mine, nullptr, std::memory_order_acq_rel)) return core::stop_listening();
    }
}

/// Ends trials of sites at which no block runs any more. Such trials would make all blocks begin out of line.
void end_idle_trials() noexcept {
    const base::deadline now = base::now();
    for (auto& place : watched) {
        // Acquire, so that a site that is found is completely constructed.
        contended* const c = place.load(std::memory_order_acquire);
        if (c != nullptr && c->trial.end_if_idle(now)) stop_watching(*c);
    }
}

/// Ends all trials, because the process has another policy now. Blocks that still name this policy begin out of line
/// anyway.
void forget_sites() noexcept {
    for (auto& place : watched) {
        contended* const c = place.load(std::memory_order_acquire);
        if (c != nullptr && c->trial.abandon()) stop_watching(*c);
    }
}

observe::site& site_of(core::descriptor& d) {
    return *core::in_critical_region(d, [&] { return &observe::site_of(d.run.where, d.run.how->name); });
}

contended* find(core::descriptor& d) noexcept {
    try {
        return static_cast<contended*>(site_of(d).contention.load(std::memory_order_acquire));
    } catch (const std::bad_alloc&) {
        return nullptr;  // a site that cannot be created has never been contended
    }
}

contended* find_or_make(core::descriptor& d) noexcept {
    try {
        observe::site& site = site_of(d);
        // Acquire here and release below, so that a thread that finds the object finds it completely constructed.
        void* there = site.contention.load(std::memory_order_acquire);
        if (there == nullptr) {
            auto fresh = core::in_critical_region(d, [] { return std::make_unique<contended>(); });
            if (site.contention.compare_exchange_strong(there, fresh.get(), std::memory_order_acq_rel)) {
                there = fresh.release();
            }
        }
        return static_cast<contended*>(there);
    } catch (const std::bad_alloc&) {
        return nullptr;  // the site stays without data
    }
}

void wait_in_queue(core::descriptor& self) noexcept {
    const max_queue_wait how = forced.load(std::memory_order_relaxed);
    const bool everywhere = how != max_queue_wait::as_measured;
    contended* const c = everywhere ? find_or_make(self) : find(self);
    if (c == nullptr || (c->trial.is_resting() && !everywhere)) {
        if (self.own_sequence % 256 == 0) end_idle_trials();
        return;
    }
    self.slow_commit |= core::slow_commit_restarted;  // so that the end of this execution is counted
    // An execution inside another transaction is not queued, because it could wait for an execution that waits for that
    // transaction.
    if (self.run.queued || core::ancestor_runs(self) || !(everywhere || c->trial.is_serialising())) return;
    core::enqueue(c->queue, self, queue_wait_limit(how));
}

void note_defeat(core::descriptor& self) noexcept {
    // For a queued execution, core::enqueue may have recorded the defeat of an attempt that never ran. So the defeats
    // of such an execution prove nothing about the contention of its site.
    if (!core::is_defeat(self.cause) || self.run.queued) return;
    contended* const c = find_or_make(self);
    if (c == nullptr) return;
    c->intensity.note_defeat(self.own_sequence - self.last_defeat.load(std::memory_order_relaxed));
    if (!c->intensity.is_high() || !c->trial.is_resting()) return;
    const base::deadline now = base::now();
    if (c->trial.may_begin(now) && watch(*c) && !c->trial.begin(now)) stop_watching(*c);
}

void count_end(core::descriptor& self) noexcept {
    contended* const c = find(self);
    if (c != nullptr && !c->trial.is_resting() && c->trial.count_end(base::now())) stop_watching(*c);
}

}  // namespace

const core::policy adaptive{.name = "adaptive",
                            .summary = "wait for the other; serialise contended sites while that pays",
                            .conflict = wait_for_other,
                            .pause = core::wait_or_back_off,
                            .start = wait_in_queue,
                            .abort = note_defeat,
                            .end = count_end,
                            .leave = forget_sites,
                            .listens_on_demand = true};

void enqueue_for_test(max_queue_wait how) {
    const bool before = forced.exchange(how, std::memory_order_relaxed) != max_queue_wait::as_measured;
    const bool now = how != max_queue_wait::as_measured;
    if (now && !before) core::listen();
    if (before && !now) core::stop_listening();
    for (std::uint32_t id = 0; id < observe::sites(); ++id) {
        auto* const c = static_cast<contended*>(observe::site_number(id).contention.load(std::memory_order_acquire));
        if (c != nullptr) c->queue.last.reset(0);
    }
}

}  // namespace tutti::policies
