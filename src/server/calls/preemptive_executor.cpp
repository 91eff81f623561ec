#include "server/calls/preemptive_executor.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <type_traits>

#include "server/calls/probes.hpp"

namespace tutti::server {
namespace {

static_assert(std::is_trivially_destructible_v<preempt::work>);

void run_job(void* of) noexcept { static_cast<job*>(of)->run(); }
void end_terminated_job(void* of) noexcept { static_cast<job*>(of)->on_termination(); }
void reject_job(void* of) noexcept { static_cast<job*>(of)->reject(); }
void interrupt_job_at_shutdown(void* of) noexcept { static_cast<job*>(of)->interrupt_at_shutdown(); }

void record_event(void* of, preempt::context_event what, const preempt::context& on, unsigned worker) noexcept {
    using preempt::context_event;
    auto& recorder = *static_cast<timeline*>(of);
    if (what == context_event::finished) return recorder.end(worker, "finished");  // the job may no longer exist
    auto& j = *static_cast<job*>(on.current_work.argument);  // no worker runs the job yet, or any more
    switch (what) {
        case context_event::resumed: TUTTI_PROBE3(resume, j.name, j.priority, on.preemptions); [[fallthrough]];
        case context_event::dispatched: return recorder.begin(worker, j.name, j.priority, on.arrived);
        case context_event::preempted:
            ++j.interruptions;
            TUTTI_PROBE3(preempt, j.name, j.priority, on.preemptions);
            break;
        default: TUTTI_PROBE3(park, j.name, j.priority, on.preemptions); break;
    }
    recorder.end(worker, what == context_event::preempted ? "preempted" : "parked");
}

bool run_idle(void* of, const std::atomic<std::uint32_t>& wakeup_word, std::uint32_t seen,
              base::deadline until) noexcept {
    return static_cast<idle_work*>(of)->run_idle({wakeup_word, seen, until});
}
void wake_idle(void* of) noexcept { static_cast<idle_work*>(of)->wake(); }

preempt::options options_of(unsigned workers, std::size_t capacity, const preemption_settings& how,
                            const catalog& procedures, timeline& recorder, idle_work* idle) {
    preempt::options o;
    o.workers = workers;
    o.contexts = std::max(how.contexts, workers);
    o.stack_bytes = how.stack;
    o.max_waiting = capacity;
    o.sheds = true;
    o.highest_level = highest_priority;
    o.boost = {.max_preemptions = how.max_preemptions.value_or(preempt::never),
               .lazy = how.lazy_priority_boost,
               .max_level = static_cast<unsigned>(procedures.max_default_priority())};
    o.migrate = how.migrate;
    o.shared_thread_locals = how.shared_thread_locals;
    o.realtime_min_priority = how.realtime_min_priority;
    o.tick_source = how.tick_source;
    o.event_observer = {&recorder, record_event};
    if (idle != nullptr) o.idle = {idle, run_idle, wake_idle};
    return o;
}

}  // namespace

preemptive_executor::preemptive_executor(unsigned workers, std::size_t capacity, const preemption_settings& how,
                                         const catalog& procedures, timeline& recorder, idle_work* idle)
    : capacity_{capacity}, scheduler_{options_of(workers, capacity, how, procedures, recorder, idle)} {
    for (const void* const inside : procedures.shared_objects()) scheduler_.application().add_object_of(inside);
}

std::span<job*> preemptive_executor::submit(std::span<job*> jobs, unsigned max_wakeups) noexcept {
    // The array is left uninitialized, because most calls submit only one job.
    constexpr std::size_t most = 64;
    alignas(preempt::work) std::byte room[most * sizeof(preempt::work)];
    auto* const some = reinterpret_cast<preempt::work*>(room);
    std::size_t away = 0;
    for (std::span<job*> left = jobs; !left.empty();) {
        const std::size_t count = std::min(most, left.size());
        for (std::size_t i = 0; i < count; ++i) {
            job* const j = left[i];
            std::construct_at(some + i, run_job, static_cast<void*>(j), static_cast<unsigned>(j->priority));
            if (j->due != no_deadline) some[i].due = j->due;
            some[i].is_short = j->is_short;
            some[i].is_patient = j->waits_for_short;
            some[i].context_slot = &j->executor_data;
            some[i].on_termination = end_terminated_job;
            some[i].on_rejection = reject_job;
            some[i].on_stranded = interrupt_job_at_shutdown;
        }
        for (const preempt::work& w : scheduler_.submit({some, count}, max_wakeups))
            jobs[away++] = static_cast<job*>(w.argument);
        left = left.subspan(count);
        max_wakeups -= std::min(max_wakeups, static_cast<unsigned>(count));
    }
    return jobs.first(away);
}

load preemptive_executor::current_load() const {
    const preempt::counts c = scheduler_.statistics();
    load now;
    for (std::size_t p = 0; p < priority_levels; ++p) {
        now.queued[p] = c.unstarted_by_level[p];
        now.shed[p] = c.shed_by_level[p];
    }
    const std::uint64_t elsewhere = c.unstarted + c.without_context + c.active + c.parked;
    const std::uint64_t here =
        c.accepted - c.finished - std::accumulate(now.shed.begin(), now.shed.end(), std::uint64_t{0});
    now.running = here > elsewhere ? here - elsewhere : 0;
    now.capacity = capacity_;
    now.preempted = c.active;
    now.parked = c.parked;
    now.preemptions = c.preemptions;
    now.priority_boosts = c.priority_boosts;
    now.parkings = c.parkings;
    now.ticks_by_signal = c.ticks_by_signal;
    now.ticks_by_kernel = c.ticks_by_kernel;
    now.ticks_deferred = c.ticks_deferred;
    now.priority_inheritances = c.priority_inheritances;
    return now;
}

}  // namespace tutti::server
