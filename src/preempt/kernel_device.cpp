// The tick source `kernel`: the module redirects a worker from application code to kernel_entry.hpp, without a signal.
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

/// The module writes one byte to the place where a descriptor notes a tick.
static_assert(sizeof(std::atomic<bool>) == 1 && std::atomic<bool>::is_always_lock_free);

std::string error_text() { return std::strerror(errno); }

tutti_join joining(const tick_timing& timing) noexcept {
    const auto time = [](std::chrono::nanoseconds n) {
        return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::max<long long>(n.count(), 0)),
                                         TUTTI_SHORTEST_NS, TUTTI_LONGEST_NS);
    };
    tutti_join how{};
    how.handler = reinterpret_cast<std::uintptr_t>(&tutti_preempt_entry);
    how.handler_end = reinterpret_cast<std::uintptr_t>(&tutti_preempt_entry_end);
    how.signal = tick_signal;
    how.pause_ns = time(timing.repetition);
    how.longest_ns = time(std::max(timing.repetition, timing.most_patient));
    return how;
}

/// The device of the process. The first worker that starts opens it, and the last that stops closes it.
class shared_device {
public:
    void join(tick_target& t) {
        const base::lock_guard guard{lock_};
        if (users_ == 0) open();
        tutti_join how = joining(t.timing);
        if (::ioctl(fd_, TUTTI_JOIN, &how) != 0) {
            const int error = errno;
            if (users_ == 0) close();
            throw std::system_error{error, std::generic_category(), "tutti: no ticks of the kernel for a worker"};
        }
        ++users_;
        t.kernel_number = how.number;
        t.kernel = &entries_[how.number];
    }
    void leave(tick_target& t) noexcept {
        const base::lock_guard guard{lock_};
        ::ioctl(fd_, TUTTI_LEAVE);
        t.kernel_stood = count_of(*t.kernel);
        t.kernel = nullptr;
        if (--users_ == 0) close();
    }
    void allow(std::uintptr_t begin, std::uintptr_t end) noexcept {
        const tutti_range range{begin, end};
        const base::lock_guard guard{lock_};
        // If the system refuses, ticks in that range are noted, and served at barriers.
        if (fd_ >= 0) ::ioctl(fd_, TUTTI_ALLOW, &range);
    }
    [[nodiscard]] std::uint64_t stood(const tick_target& t) noexcept {
        const base::lock_guard guard{lock_};
        return t.kernel == nullptr ? t.kernel_stood : count_of(*t.kernel);
    }
    /// REQUIRES: the worker with that number runs.
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
        entries_ = static_cast<tutti_entry*>(page);
    }
    void close() noexcept {
        device::unmap_page(std::exchange(entries_, nullptr));
        ::close(std::exchange(fd_, -1));
    }

    static std::uint64_t count_of(tutti_entry& e) noexcept {
        return std::atomic_ref<__u64>{e.stood}.load(std::memory_order_relaxed);
    }

    base::lock lock_;
    int fd_ = -1;
    tutti_entry* entries_ = nullptr;
    unsigned users_ = 0;
};

constinit shared_device the_device;

// The module reads an entry while it interrupts the thread that writes the entry, so program order suffices.
template <class T>
void show(T& where, T value) noexcept {
    std::atomic_ref<T>{where}.store(value, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

void start(tick_target& t) {
    make_timer(t);
    try {
        the_device.join(t);
    } catch (...) {
        delete_timer(t);
        throw;
    }
}

void stop(tick_target& t) noexcept {
    the_device.leave(t);
    delete_timer(t);
}

void raise_flag_then_kick(tick_target& t) noexcept {
    if (!goes_unseen(t)) return;
    const int error = errno;
    the_device.kick(t.kernel_number);
    errno = error;
}

void enter(tick_target& t, core::descriptor& d, const stack& on) noexcept {
    tutti_entry& e = *t.kernel;
    show(e.standing_at, static_cast<__u64>(reinterpret_cast<std::uintptr_t>(&d.pending_tick)));
    show(e.stack_begin, static_cast<__u64>(reinterpret_cast<std::uintptr_t>(on.bottom()) + entry_stack_bytes()));
    show(e.stack_end, static_cast<__u64>(reinterpret_cast<std::uintptr_t>(on.top())));
    show(e.preemptable, __u32{1});
}

void again(tick_target& t) noexcept { show(t.kernel->preemptable, __u32{1}); }

void leave(tick_target& t) noexcept {
    show(t.kernel->preemptable, __u32{0});
    show(t.kernel->standing_at, __u64{0});
}

std::uint64_t stood(const tick_target& t) noexcept { return the_device.stood(t); }

void allow(std::uintptr_t begin, std::uintptr_t end) noexcept { the_device.allow(begin, end); }

}  // namespace

std::string kernel_device_problem() {
    if (entry_stack_bytes() == 0) return "the processor, or the system, has no XSAVE";
    std::string problem;
    const int fd = device::open(problem);
    if (fd < 0) return problem;
    tutti_join how = joining({});
    if (::ioctl(fd, TUTTI_JOIN, &how) != 0) problem = TUTTI_DEVICE " refuses this thread: " + error_text();
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
                               .again = again,
                               .leave = leave,
                               .allow = allow,
                               .stood = stood};

}  // namespace tutti::preempt
