// Implements the tick source `kernel`: the module redirects a worker from application code to kernel_entry.hpp, without
// a signal.
#include "preempt/kernel_device.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/lock.hpp"
#include "device/device.hpp"
#include "kernel/uapi.h"
#include "preempt/kernel_entry.hpp"
#include "preempt/stack.hpp"

namespace tutti::preempt {
namespace {

/// To mark a tick as pending, the module writes one byte to a flag of the descriptor.
static_assert(sizeof(std::atomic<bool>) == 1 && std::atomic<bool>::is_always_lock_free);

std::string error_text() { return std::strerror(errno); }

tutti_tick_register registration(const tick_timing& timing) noexcept {
    const auto time = [](std::chrono::nanoseconds n) {
        return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::max<long long>(n.count(), 0)),
                                         TUTTI_MIN_PERIOD_NS, TUTTI_MAX_PERIOD_NS);
    };
    tutti_tick_register how{};
    how.handler = reinterpret_cast<std::uintptr_t>(&tutti_preempt_entry);
    how.handler_end = reinterpret_cast<std::uintptr_t>(&tutti_preempt_entry_end);
    how.signal = tick_signal;
    how.pause_ns = time(timing.retry_pause);
    how.max_pause_ns = time(std::max(timing.retry_pause, timing.max_retry_pause));
    return how;
}

/// The device that the process has opened. The first worker that starts opens the device, and the last worker that
/// stops closes it.
class shared_device {
public:
    void register_worker(tick_target& t) {
        const base::lock_guard guard{lock_};
        if (users_ == 0) open();
        tutti_tick_register how = registration(t.timing);
        if (::ioctl(fd_, TUTTI_TICK_REGISTER, &how) != 0) {
            const int error = errno;
            if (users_ == 0) close();
            throw std::system_error{error, std::generic_category(),
                                    "tutti: cannot register a worker for ticks of the kernel module"};
        }
        ++users_;
        t.kernel_number = how.number;
        t.kernel = &entries_[how.number];
    }
    void unregister_worker(tick_target& t) noexcept {
        const base::lock_guard guard{lock_};
        ::ioctl(fd_, TUTTI_TICK_UNREGISTER);
        t.kernel_deferred = count_of(*t.kernel);
        t.kernel = nullptr;
        if (--users_ == 0) close();
    }
    void allow(std::uintptr_t begin, std::uintptr_t end) noexcept {
        const tutti_range range{begin, end};
        const base::lock_guard guard{lock_};
        // If the system rejects the range, ticks in that range stay pending until a barrier handles them.
        if (fd_ >= 0) ::ioctl(fd_, TUTTI_ALLOW, &range);
    }
    [[nodiscard]] std::uint64_t deferred(const tick_target& t) noexcept {
        const base::lock_guard guard{lock_};
        return t.kernel == nullptr ? t.kernel_deferred : count_of(*t.kernel);
    }
    /// REQUIRES: the worker that the module has registered under `number` runs.
    void kick(unsigned number) const noexcept { ::ioctl(fd_, TUTTI_KICK, static_cast<unsigned long>(number)); }

private:
    void open() {
        std::string problem;
        fd_ = device::open(problem);
        if (fd_ < 0) throw std::system_error{ENODEV, std::generic_category(), "tutti: " + problem};
        void* const page = device::map_page(fd_, TUTTI_TICKS_PAGE);
        if (page == nullptr) {
            const int error = errno;
            ::close(std::exchange(fd_, -1));
            throw std::system_error{error, std::generic_category(), "tutti: " TUTTI_DEVICE " cannot be mapped"};
        }
        entries_ = static_cast<tutti_tick_entry*>(page);
    }
    void close() noexcept {
        device::unmap_page(std::exchange(entries_, nullptr));
        ::close(std::exchange(fd_, -1));
    }

    static std::uint64_t count_of(tutti_tick_entry& e) noexcept {
        return std::atomic_ref<__u64>{e.deferred}.load(std::memory_order_relaxed);
    }

    base::lock lock_;
    int fd_ = -1;
    tutti_tick_entry* entries_ = nullptr;
    unsigned users_ = 0;
};

constinit shared_device the_device;

// The module reads an entry while it interrupts the thread that writes the entry, so program order suffices.
template <class T>
void store_for_module(T& where, T value) noexcept {
    std::atomic_ref<T>{where}.store(value, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

void start(tick_target& t) {
    make_timer(t);
    try {
        the_device.register_worker(t);
    } catch (...) {
        delete_timer(t);
        throw;
    }
}

void stop(tick_target& t) noexcept {
    the_device.unregister_worker(t);
    delete_timer(t);
}

void raise_flag_then_kick(tick_target& t) noexcept {
    if (!must_send_tick(t)) return;
    const int error = errno;
    the_device.kick(t.kernel_number);
    errno = error;
}

void enter(tick_target& t, core::descriptor& d, const stack& on) noexcept {
    tutti_tick_entry& e = *t.kernel;
    store_for_module(e.pending_at, static_cast<__u64>(reinterpret_cast<std::uintptr_t>(&d.pending_tick)));
    store_for_module(e.stack_begin,
                     static_cast<__u64>(reinterpret_cast<std::uintptr_t>(on.bottom()) + entry_stack_bytes()));
    store_for_module(e.stack_end, static_cast<__u64>(reinterpret_cast<std::uintptr_t>(on.top())));
    store_for_module(e.preemptable, __u32{1});
}

void rearm(tick_target& t) noexcept { store_for_module(t.kernel->preemptable, __u32{1}); }

void leave(tick_target& t) noexcept {
    store_for_module(t.kernel->preemptable, __u32{0});
    store_for_module(t.kernel->pending_at, __u64{0});
}

std::uint64_t deferred(const tick_target& t) noexcept { return the_device.deferred(t); }

void allow(std::uintptr_t begin, std::uintptr_t end) noexcept { the_device.allow(begin, end); }

}  // namespace

std::string kernel_device_problem() {
    if (entry_stack_bytes() == 0) return "the processor, or the system, has no XSAVE";
    std::string problem;
    const int fd = device::open(problem);
    if (fd < 0) return problem;
    tutti_tick_register how = registration({});
    if (::ioctl(fd, TUTTI_TICK_REGISTER, &how) != 0) problem = TUTTI_DEVICE " refuses this thread: " + error_text();
    ::close(fd);
    return problem;
}

const tick_source kernel_ticks{.name = "kernel",
                               .summary = "the flag of on-demand, then the kernel module, without a signal",
                               .preempts = true,
                               .start = start,
                               .request = raise_flag_then_kick,
                               .stop = stop,
                               .enter = enter,
                               .rearm = rearm,
                               .leave = leave,
                               .allow = allow,
                               .deferred = deferred};

}  // namespace tutti::preempt
