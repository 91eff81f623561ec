#include "base/scheduling.hpp"

#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/errno_guard.hpp"
#include "base/futex.hpp"
#include "base/short_sleep.hpp"

namespace tutti::base {

#if defined(TUTTI_INTERLEAVE)

// In an exploration, all transactions run on one thread, so there is no thread to yield to.
void yield() noexcept { spin_turn(); }
void short_sleep() noexcept { spin_turn(); }
int thread_number() noexcept { return 0; }
std::optional<int> lower_priority() noexcept { return std::nullopt; }
void restore_priority(int /*thread*/, int /*nice*/) noexcept {}

#else

namespace {

bool may_set_any_priority() noexcept {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
    return syscall(SYS_capget, &header, data) == 0 && (data[0].effective >> CAP_SYS_NICE & 1) != 0;
}

bool may_return_to(int nice) noexcept {
    rlimit limit{};
    // RLIMIT_NICE counts from 1, which is nice value 19 (the lowest priority), to 40, which is nice value -20.
    return may_set_any_priority() ||
           (getrlimit(RLIMIT_NICE, &limit) == 0 && 20 - nice <= static_cast<int>(limit.rlim_cur));
}

constexpr int nice_increment = 10;
constexpr int max_nice = 19;

}  // namespace

void yield() noexcept { sched_yield(); }
void short_sleep() noexcept { short_sleep_for(50'000); }

int thread_number() noexcept { return static_cast<int>(syscall(SYS_gettid)); }

std::optional<int> lower_priority() noexcept {
    const auto me = static_cast<id_t>(thread_number());
    const int nice = getpriority(PRIO_PROCESS, me);
    static thread_local const bool allowed = may_return_to(nice);
    if (!allowed || nice >= max_nice) return std::nullopt;
    if (setpriority(PRIO_PROCESS, me, nice + nice_increment < max_nice ? nice + nice_increment : max_nice) != 0)
        return std::nullopt;
    return nice;
}

void restore_priority(int thread, int nice) noexcept { setpriority(PRIO_PROCESS, static_cast<id_t>(thread), nice); }

#endif

int scheduling_policy() noexcept { return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK; }

int set_realtime_priority(int thread, int priority) noexcept {
    const sched_param parameters{.sched_priority = priority};
    return sched_setscheduler(thread, SCHED_RR | SCHED_RESET_ON_FORK, &parameters) == 0 ? 0 : errno;
}

void clear_realtime_priority(int thread, int policy) noexcept {
    const sched_param parameters{.sched_priority = 0};
    // Without CAP_SYS_NICE, a process that has the flag may not clear it, so this call passes the flag.
    sched_setscheduler(thread, policy | SCHED_RESET_ON_FORK, &parameters);
}

}  // namespace tutti::base
