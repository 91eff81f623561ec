#include "base/fence.hpp"

#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/errno_guard.hpp"
#include "base/lock.hpp"
#include "base/panic.hpp"

namespace tutti::base {
namespace {

#if !defined(TUTTI_INTERLEAVE)

constinit lock fallback_lock;

long membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0); }

/// Registers the process for membarrier when the library is loaded, while the process has one thread. If a process has
/// more threads, the kernel waits until all processors have passed a quiescent point. That took 6 to 28 ms on the
/// measured machines.
[[gnu::constructor]] void register_early() noexcept { membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED); }

/// Fences without membarrier, for kernels and sandboxes that lack it. The function takes write permission from a
/// resident page. The kernel then interrupts every processor that runs a thread of this process, to flush its
/// translation of the page. An interrupt is a full fence. (folly's asymmetric barrier uses the same fall-back.)
void interrupt_every_processor() noexcept {
    static const std::size_t size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    static void* const page = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) panic("cannot map the page that heavy_fence needs: out of memory");
    const lock_guard guard{fallback_lock};
    if (::mprotect(page, size, PROT_READ | PROT_WRITE) != 0) panic("heavy_fence: mprotect failed");
    // Makes the page resident and writable, so that there is a translation to flush.
    *static_cast<volatile char*>(page) = 1;
    if (::mprotect(page, size, PROT_READ) != 0) panic("heavy_fence: mprotect failed");
}

#endif

}  // namespace

void heavy_fence() noexcept {
#if !defined(TUTTI_INTERLEAVE)  // the interleaving scheduler is sequentially consistent
    const errno_guard saved_errno;
    // A forked child inherits no registration, and constructors of the program may run before register_early. So this
    // function registers the process if membarrier fails for that reason.
    if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return;
    if (errno == EPERM && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
        membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) {
        return;
    }
    interrupt_every_processor();
#endif
}

void reset_fences_in_fork_child() noexcept {
#if !defined(TUTTI_INTERLEAVE)
    fallback_lock.reset_in_fork_child();
#endif
}

}  // namespace tutti::base
