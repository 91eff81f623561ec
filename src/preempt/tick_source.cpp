#include "preempt/tick_source.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <system_error>

#include "base/futex.hpp"
#include "base/scheduling.hpp"
#include "device/device.hpp"
#include "preempt/kernel_device.hpp"

namespace tutti::preempt {
namespace {

using std::chrono::nanoseconds;

itimerspec after(nanoseconds first, nanoseconds period) noexcept {
    const auto spec = [](nanoseconds n) {
        return timespec{static_cast<time_t>(n.count() / 1'000'000'000), static_cast<long>(n.count() % 1'000'000'000)};
    };
    return {spec(period), spec(first)};
}

void start_periodic(tick_target& t) {
    make_timer(t);
    t.interval = t.timing.period;
    tick_after(t, t.interval);
}

/// Does nothing. With `periodic`, the worker's timer makes the worker check the queue anyway; `none` never preempts.
void wait_for_tick(tick_target&) noexcept {}

void raise_flag_then_signal(tick_target& t) noexcept {
    if (must_send_tick(t)) send_tick(t);
}

constexpr tick_source on_demand{"on-demand",
                                "a flag polled where critical regions end, then a signal if it is not seen at once",
                                true,
                                make_timer,
                                raise_flag_then_signal,
                                delete_timer};
constexpr tick_source periodic{"periodic",  "a POSIX timer for each worker", true, start_periodic, wait_for_tick,
                               delete_timer};
constexpr tick_source none{
    "none", "never preempts: work waits until a worker is done", false, make_timer, wait_for_tick, delete_timer};
constexpr const tick_source* table[] = {&kernel_ticks, &on_demand, &periodic, &none};

}  // namespace

const tick_source& choose_tick_source(std::string_view name) {
    const bool automatic = name == "automatic";
    if (automatic || name == kernel_ticks.name) {
        const std::string problem = kernel_device_problem();
        if (problem.empty()) return kernel_ticks;
        // Without the device there is no message for `automatic`, because most machines have no such device.
        if (!automatic || device::exists()) {
            std::fprintf(stderr, "tutti: ticks come on demand, not from the kernel: %s\n", problem.c_str());
        }
        return on_demand;
    }
    std::string message = "tutti: tick source '" + std::string{name} + "' is unknown; there are automatic";
    for (const tick_source* s : table) {
        if (s->name == name) return *s;
        message += " " + std::string{s->name};
    }
    throw std::invalid_argument{message};
}

void make_timer(tick_target& t) {
    t.thread = base::thread_number();
    sigevent how{};
    how.sigev_notify = SIGEV_THREAD_ID;
    how.sigev_signo = tick_signal;
#if defined(sigev_notify_thread_id)
    how.sigev_notify_thread_id = t.thread;
#else
    how._sigev_un._tid = t.thread;  // glibc before 2.36 has no other name for this member
#endif
    if (::timer_create(CLOCK_MONOTONIC, &how, &t.timer) != 0) {
        throw std::system_error{
            errno, std::generic_category(),
            "tutti: cannot create a timer for a worker: allow more pending signals (ulimit -i), or timer_create in "
            "a sandbox, or run calls on plain threads (--executor threads)"};
    }
}

void delete_timer(tick_target& t) noexcept { ::timer_delete(t.timer); }

bool must_send_tick(tick_target& t) noexcept {
    if (t.urgent.exchange(true, std::memory_order_acq_rel)) return false;
    core::descriptor* const d = t.running.load(std::memory_order_acquire);
    if (d != nullptr) d->pending_tick.store(true, std::memory_order_relaxed);
    const base::deadline late = base::real_now() + t.timing.flag_timeout;
    do {
        if (!t.urgent.load(std::memory_order_acquire)) return false;
        base::spin_turn();
    } while (base::real_now() < late);
    return true;
}

void send_tick(const tick_target& t) noexcept {
    const int error = errno;
    ::syscall(SYS_tgkill, ::getpid(), t.thread, tick_signal);
    errno = error;
}

void tick_after(tick_target& t, nanoseconds time) noexcept {
    const itimerspec when = after(std::max(time, nanoseconds{1}), t.interval);
    ::timer_settime(t.timer, 0, &when, nullptr);
}

nanoseconds next_pause(const tick_target& t) noexcept {
    const nanoseconds first = std::max(t.timing.retry_pause, t.interval);
    const nanoseconds next = t.current_pause.count() == 0 ? first : 2 * t.current_pause;
    return std::min(next, std::max(first, t.timing.max_retry_pause));
}

void back_off(tick_target& t) noexcept {
    t.current_pause = next_pause(t);
    const itimerspec when = after(t.current_pause, t.interval.count() != 0 ? t.current_pause : nanoseconds{0});
    ::timer_settime(t.timer, 0, &when, nullptr);
}

void end_back_off(tick_target& t) noexcept {
    if (t.current_pause.count() == 0) return;
    t.current_pause = nanoseconds{0};
    if (t.interval.count() != 0) tick_after(t, t.interval);
}

}  // namespace tutti::preempt
