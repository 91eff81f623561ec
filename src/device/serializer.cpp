// The winner of a conflict publishes its execution in the page of transactions. The loser waits for the execution that
// it finds there. The guarantees of the module are in kernel/uapi.h, those of the sched_ext program in
// kernel/scheduler/scheduler.h. The library tries the program first, because the program does more.
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "base/fence.hpp"
#include "base/lock.hpp"
#include "core/ports/kernel_serializer.hpp"
#include "core/state/critical.hpp"
#include "device/device.hpp"
#include "device/scheduler.hpp"
#include "device/slice_extension.hpp"
#include "kernel/uapi.h"

namespace tutti::core {
namespace {

template <class T>
std::atomic_ref<T> shared_with_module(T& field) noexcept {
    return std::atomic_ref<T>{field};
}

/// The result of a call that passes a number to the module instead of a pointer: an error, or 0 and the returned value.
struct call_result {
    int error;
    int value;
};
call_result call(int fd, unsigned long what, std::uint64_t with = 0) noexcept {
    const int before = errno;
    const int value = ::ioctl(fd, what, with);
    const int error = value < 0 ? errno : 0;
    errno = before;
    return {error, value};
}

/// The device or the scheduler that this process uses. The process opens it at the first use, and keeps it open,
/// because threads stay registered.
struct device_in_use {
    base::lock opening;
    bool tried = false;  // under `opening`
    std::atomic<tutti_transaction*> entries{nullptr};
    int fd = -1;                             // published by `entries`, as is the next member
    device::scheduler_connection scheduler;  // if it is connected, the entries are the scheduler's, not the device's
    std::atomic<std::uint32_t> registrations{0};
    /// For each number of an entry, the descriptor whose execution the entry shows.
    std::array<std::atomic<const descriptor*>, TUTTI_THREADS> shown{};
    std::atomic<const char*> problem{nullptr};  // why the first thread got no entry; never freed
};
constinit device_in_use device;

/// A service that a thread without an entry does not get. The process reports each missing service once, because all
/// threads would report the same.
struct missing_service {
    const char* what;
    std::atomic<bool> reported{false};
};
constinit missing_service no_sleep{.what = "losers of conflicts wait in user space, not in the kernel"};
constinit missing_service no_extension{.what = "time slices are not extended for deadlines"};

TUTTI_COLD void report_once(missing_service& c, const char* problem) noexcept {
    if (c.reported.exchange(true, std::memory_order_relaxed)) return;
    const int before = errno;
    std::fprintf(stderr, "tutti: %s: %s\n", c.what, problem);
    errno = before;
}

/// Records `problem` for a later report, if it is the first one.
void record_problem(const char* problem) noexcept {
    char* const copy = ::strdup(problem);
    const char* none = nullptr;
    if (copy != nullptr && !device.problem.compare_exchange_strong(none, copy, std::memory_order_acq_rel))
        std::free(copy);
}

const char* recorded_problem() noexcept {
    const char* const problem = device.problem.load(std::memory_order_acquire);
    return problem != nullptr ? problem : "there is no memory for it";
}

/// The calling thread's entry.
struct thread_entry {
    tutti_transaction* entry = nullptr;
    const descriptor* shown = nullptr;       // as in device.shown
    tutti_sched_slot* slot = nullptr;        // null if the module serves the thread
    device::slice_control* slice = nullptr;  // used if there is no entry; null if the kernel has no extension either
    std::uint32_t number = 0;
    bool tried_entry = false, tried_slice = false;
    bool defers = false;
    bool requested = false;    // the thread has requested more time through `slice`
    std::uint64_t latest = 0;  // number of the thread's latest execution; no number is used twice
};
constinit thread_local thread_entry mine;

/// Restores the thread's normal weight before a fork. The child would inherit a changed weight, and has no entry
/// through which it could restore the weight.
void before_fork() noexcept {
    if (mine.slot == nullptr && std::exchange(mine.defers, false)) call(device.fd, TUTTI_RESUME);
}

/// Resets the state in the child of a fork. The child does not have the page (VM_DONTCOPY), and the entries serve only
/// the parent.
void in_child() noexcept {
    device.opening.reset_in_fork_child();
    if (device.scheduler.socket >= 0) ::close(device.scheduler.socket);
    device.scheduler = {};
    device.entries.store(nullptr, std::memory_order_relaxed);
    if (device.fd >= 0) ::close(std::exchange(device.fd, -1));
    device.tried = false;
    for (auto& s : device.shown) s.store(nullptr, std::memory_order_relaxed);
    mine = {};
}

void register_fork_handlers() noexcept {
    static const int done = ::pthread_atfork(before_fork, nullptr, in_child);
    static_cast<void>(done);
}

/// Opens the device, and returns its entries. On failure, records the reason and returns null.
tutti_transaction* map_devices(int& fd, std::string& problem) {
    fd = device::open(problem);
    if (fd < 0) return nullptr;
    void* const page = device::map_page(fd, TUTTI_TRANSACTIONS_PAGE);
    if (page != nullptr) return static_cast<tutti_transaction*>(page);
    problem = TUTTI_DEVICE " cannot be mapped: " + std::string{std::strerror(errno)};
    ::close(std::exchange(fd, -1));
    return nullptr;
}

/// Returns the entries of the scheduler or the device, or null if neither is available.
tutti_transaction* open_entries() {
    const base::lock_guard guard{device.opening};
    if (device.tried) return device.entries.load(std::memory_order_acquire);
    device.tried = true;
    register_fork_handlers();
    std::string problem, schedulers_problem;
    if (device::scheduler_exists()) device.scheduler = device::scheduler_connection::connect(schedulers_problem);
    tutti_transaction* const entries =
        device.scheduler.shared != nullptr ? device.scheduler.shared->transactions : map_devices(device.fd, problem);
    if (entries == nullptr) {
        if (!schedulers_problem.empty()) problem += "; " + schedulers_problem;
        record_problem(problem.c_str());
        return nullptr;
    }
    device.entries.store(entries, std::memory_order_release);
    return entries;
}

/// Returns the number of the thread's entry. If the module gives no entry, records the reason and returns
/// TUTTI_THREADS.
std::uint32_t register_with_module() {
    __u32 number = TUTTI_THREADS;
    if (::ioctl(device.fd, TUTTI_TX_REGISTER, &number) != 0) {
        record_problem(("a thread gets no entry of " TUTTI_DEVICE ": " + std::string{std::strerror(errno)}).c_str());
        return TUTTI_THREADS;
    }
    return number;
}

std::uint32_t register_with_scheduler(tutti_shared& shared) noexcept {
    const std::uint32_t number = device::acquire_sched_slot(shared);
    if (number == TUTTI_THREADS) {
        record_problem("all slots of " TUTTI_SCHEDULER_SOCKET " that a thread may take are in use");
        return TUTTI_THREADS;
    }
    shared.transactions[number] = {};
    mine.slot = &shared.slots[number];
    return number;
}

/// Gets an entry for the calling thread. When the thread ends for any reason, the kernel takes the entry back.
TUTTI_COLD void register_thread() {
    mine.tried_entry = true;
    tutti_transaction* const entries = open_entries();
    if (entries == nullptr) return;
    tutti_shared* const shared = device.scheduler.shared;
    const std::uint32_t number = shared != nullptr ? register_with_scheduler(*shared) : register_with_module();
    if (number == TUTTI_THREADS) return;
    mine.number = number;
    mine.latest = std::uint64_t{device.registrations.fetch_add(1, std::memory_order_relaxed)} << 32;
    mine.entry = &entries[number];
}

tutti_transaction* own_entry(descriptor& self) noexcept {
    if (!mine.tried_entry) [[unlikely]] {
        const int before = errno;
        try {
            in_critical_region(self, [] { register_thread(); });
        } catch (const std::bad_alloc&) {
            record_problem("there is no memory for it");
        }
        errno = before;
    }
    return mine.entry;
}

bool is_of_thread(const descriptor& d) noexcept { return d.hooks == nullptr && d.outer == nullptr; }

/// Returns the value of the entry of `other` if the entry shows an execution; the value also identifies the entry.
/// Otherwise returns 0.
word shown_by(const descriptor& other) noexcept {
    tutti_transaction* const entries = device.entries.load(std::memory_order_acquire);
    if (entries == nullptr) return 0;
    for (std::size_t i = 0; i < TUTTI_THREADS; ++i) {
        // A thread that has ended leaves its descriptor here. If the next thread reuses the descriptor with another
        // entry, two entries match, but only one of them shows an execution.
        if (device.shown[i].load(std::memory_order_acquire) != &other) continue;
        const word shows = shared_with_module(entries[i].running).load(std::memory_order_acquire);
        if (shows != 0) return shows;
    }
    return 0;
}

void set_awaited(tutti_transaction& e, word shows) noexcept {
    shared_with_module(e.awaits).store(static_cast<__u32>(shows % TUTTI_THREADS), std::memory_order_relaxed);
    shared_with_module(e.awaited).store(shows, std::memory_order_relaxed);
}

device::slice_control* own_slice_control() noexcept {
    if (std::exchange(mine.tried_slice, true)) return mine.slice;
    try {
        std::string problem;
        mine.slice = device::enable_slice_extension(problem);
        if (mine.slice == nullptr) report_once(no_extension, (recorded_problem() + ("; " + problem)).c_str());
    } catch (const std::bad_alloc&) {
        report_once(no_extension, recorded_problem());
    }
    return mine.slice;
}

void show(tutti_transaction& e, descriptor& self, base::deadline longer_from) noexcept {
    auto running = shared_with_module(e.running);
    if (running.load(std::memory_order_relaxed) != 0) return;  // already shown: the execution has restarted
    if (mine.shown != &self) {
        mine.shown = &self;
        device.shown[mine.number].store(&self, std::memory_order_release);
    }
    const timing& t = self.run.deadline_state;
    const auto due = t.active ? t.due.time_since_epoch().count() : 0;
    const auto longer = std::max<std::int64_t>(longer_from.time_since_epoch().count(), 0);
    shared_with_module(e.priority).store(self.run.how->priority, std::memory_order_relaxed);
    shared_with_module(e.deadline_ns).store(static_cast<__u64>(due), std::memory_order_relaxed);
    shared_with_module(e.extend_from_ns).store(static_cast<__u64>(longer), std::memory_order_relaxed);
    running.store(++mine.latest * TUTTI_THREADS + mine.number, std::memory_order_release);
}

bool sleep_until_over(descriptor& self, word shows, base::deadline until) noexcept {
    tutti_transaction* const e = own_entry(self);
    if (e == nullptr) return false;
    const std::int64_t left = std::clamp<std::int64_t>((until - base::real_now()).count(), 1, TUTTI_MAX_WAIT_NS);
    set_awaited(*e, shows);
    if (mine.slot != nullptr) {
        device::wait_in_sched_slot(*mine.slot, static_cast<std::uint64_t>(until.time_since_epoch().count()));
        shared_with_module(e->awaited).store(0, std::memory_order_relaxed);
        return device::has_sched_slot(*mine.slot);
    }
    const int error = call(device.fd, TUTTI_AWAIT, static_cast<std::uint64_t>(left)).error;
    shared_with_module(e->awaited).store(0, std::memory_order_relaxed);
    return error == 0 || error == ETIMEDOUT || error == EINTR;
}

}  // namespace

const kernel_sleep sleep_in_kernel{shown_by, sleep_until_over};

void show_in_kernel(descriptor& self) noexcept {
    if (!is_of_thread(self)) return;
    if (tutti_transaction* const e = own_entry(self)) show(*e, self, {});
    else if (!no_sleep.reported.load(std::memory_order_relaxed)) report_once(no_sleep, recorded_problem());
}

void request_turn_extension(descriptor& self, base::deadline from) noexcept {
    if (!is_of_thread(self)) return;
    if (tutti_transaction* const e = own_entry(self)) return show(*e, self, from);
    // The kernel's slice extension does not compare the clock with `from`. So an attempt that begins before `from` does
    // not request the extension. The next attempt of the execution compares the time again.
    if (own_slice_control() == nullptr || base::real_now() < from) return;
    mine.requested = true;
    device::request_slice_extension(*mine.slice);
}

void hide_in_kernel(descriptor& self) noexcept {
    tutti_transaction* const e = mine.entry;
    if (e == nullptr || mine.shown != &self) return;
    shared_with_module(e->running).store(0, std::memory_order_release);
    if (mine.slot != nullptr) {
        if (std::exchange(mine.defers, false)) [[unlikely]] {
            device::set_request(*mine.slot, TUTTI_REQUEST_NONE);
            shared_with_module(e->awaited).store(0, std::memory_order_relaxed);
        }
        device::end_transaction(*mine.slot, *e);
        return;
    }
    base::light_fence();  // partner: the interrupt that a loser sends (announce_waiter in kernel/serialization.c)
    if (shared_with_module(e->waiters).load(std::memory_order_relaxed) != 0) [[unlikely]]
        call(device.fd, TUTTI_WAKE_WAITERS);
    if (mine.defers) [[unlikely]] {
        mine.defers = false;
        call(device.fd, TUTTI_RESUME);
    }
}

void end_turn_extension(descriptor& self) noexcept {
    hide_in_kernel(self);
    if (std::exchange(mine.requested, false)) device::end_slice_extension(*mine.slice);
}

bool defer_in_kernel(descriptor& self, const descriptor& other) noexcept {
    const word shows = is_of_thread(self) ? shown_by(other) : 0;
    tutti_transaction* const e = shows != 0 ? own_entry(self) : nullptr;
    if (e == nullptr) return false;
    set_awaited(*e, shows);
    if (mine.slot != nullptr) {
        mine.defers = device::has_sched_slot(*mine.slot);
        device::set_request(*mine.slot, mine.defers ? TUTTI_REQUEST_LOWER_WEIGHT : TUTTI_REQUEST_NONE);
        return mine.defers;
    }
    const call_result a = call(device.fd, TUTTI_DEFER, TUTTI_MAX_WAIT_NS);
    shared_with_module(e->awaited).store(0, std::memory_order_relaxed);
    mine.defers |= a.value == 1;
    return a.error == 0;
}

}  // namespace tutti::core
