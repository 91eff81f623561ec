#include "server/calls/executors.hpp"

#include <algorithm>
#include <stdexcept>

#include "server/calls/thread_pool.hpp"
#if defined(TUTTI_PREEMPTS)
#include "server/calls/preemptive_executor.hpp"
#endif

namespace tutti::server {

execution executor_of(const settings& how) noexcept {
    if (how.executor != execution::automatic) return how.executor;
#if defined(TUTTI_PREEMPTS)
    if (!preempt::scheduler::exists()) return execution::preemptive;
#endif
    return execution::threads;
}

unsigned workers_for(const settings& how, [[maybe_unused]] execution chosen, unsigned processors) noexcept {
    if (how.workers != 0) return how.workers;
    const unsigned left = processors > how.io_threads ? processors - how.io_threads : 1;
#if defined(TUTTI_PREEMPTS)
    if (chosen == execution::preemptive) return std::min(left, preempt::max_workers);
#endif
    return left;
}

std::unique_ptr<executor> make_executor(execution chosen, const settings& how, unsigned workers,
                                        [[maybe_unused]] const catalog& procedures, timeline& recorder,
                                        idle_work* idle) {
    if (chosen == execution::preemptive) {
#if defined(TUTTI_PREEMPTS)
        return std::make_unique<preemptive_executor>(workers, how.max_queued_calls, how.preemption, procedures,
                                                     recorder, idle);
#else
        throw std::invalid_argument{"this build does not support preemption: it needs x86-64, without ThreadSanitizer"};
#endif
    }
    return std::make_unique<thread_pool>(workers, how.max_queued_calls, recorder, idle);
}

}  // namespace tutti::server
