#include "server/executors.hpp"

#include <stdexcept>

#include "server/thread_pool.hpp"
#if defined(TUTTI_PREEMPTS)
#include "server/preemptive.hpp"
#endif

namespace tutti::server {

std::unique_ptr<executor> make_executor(const settings& how, unsigned workers,
                                        [[maybe_unused]] const catalog& procedures, timeline& shown) {
#if defined(TUTTI_PREEMPTS)
    const bool may = how.executor == execution::automatic && !preempt::scheduler::exists();
    if (may || how.executor == execution::preemptive)
        return std::make_unique<preemptive>(workers, how.queue, how.preemption, procedures, shown);
#else
    if (how.executor == execution::preemptive)
        throw std::invalid_argument{"this build preempts nothing: that needs x86-64, and no ThreadSanitizer"};
#endif
    return std::make_unique<thread_pool>(workers, how.queue, shown);
}

}  // namespace tutti::server
