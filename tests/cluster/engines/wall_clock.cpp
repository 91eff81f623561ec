// A library for LD_PRELOAD. The wall clock of the process jumps forwards and back by a hundred and thirty years at
// every call. The kernel's timeouts and the monotonic clock do not change.
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

#include <atomic>

namespace {

constexpr time_t year = 365 * 24 * 3600;

time_t off_by() noexcept {
    static std::atomic<unsigned> looks{0};
    return looks.fetch_add(1, std::memory_order_relaxed) % 2 == 0 ? 80 * year : -50 * year;
}

int look(clockid_t which, timespec* at) noexcept {
    static const auto real = reinterpret_cast<int (*)(clockid_t, timespec*)>(::dlsym(RTLD_NEXT, "clock_gettime"));
    return real(which, at);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t which, timespec* at) noexcept {
    const int failed = look(which, at);
    if (failed == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE || which == CLOCK_TAI))
        at->tv_sec += off_by();
    return failed;
}

int gettimeofday(timeval* at, void*) noexcept {
    timespec exact{};
    const int failed = clock_gettime(CLOCK_REALTIME, &exact);
    *at = {exact.tv_sec, exact.tv_nsec / 1000};
    return failed;
}

time_t time(time_t* at) noexcept {
    timespec exact{};
    clock_gettime(CLOCK_REALTIME, &exact);
    if (at != nullptr) *at = exact.tv_sec;
    return exact.tv_sec;
}

}  // extern "C"
