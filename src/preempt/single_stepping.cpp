#include "preempt/single_stepping.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <csignal>

namespace tutti::preempt {
namespace {

// The system calls that procedures often make through the C library, and that are harmless while stepping. They neither
// change which signals are blocked, nor create a thread or a process.
constexpr long harmless_calls[] = {
    SYS_brk,          SYS_clock_gettime, SYS_clock_nanosleep, SYS_close,      SYS_fdatasync, SYS_fstat,
    SYS_fsync,        SYS_futex,         SYS_getcpu,          SYS_getpid,     SYS_getrandom, SYS_gettid,
    SYS_gettimeofday, SYS_lseek,         SYS_madvise,         SYS_membarrier, SYS_mmap,      SYS_mprotect,
    SYS_mremap,       SYS_munmap,        SYS_nanosleep,       SYS_newfstatat, SYS_open,      SYS_openat,
    SYS_poll,         SYS_pread64,       SYS_pwrite64,        SYS_read,       SYS_readv,     SYS_recvfrom,
    SYS_recvmsg,      SYS_sched_yield,   SYS_sendmsg,         SYS_sendto,     SYS_stat,      SYS_write,
    SYS_writev,
};

}  // namespace

bool can_step(const ucontext_t& where) noexcept {
    if (sigismember(&where.uc_sigmask, SIGTRAP) == 1) return false;
    // The code is read byte by byte, because the bytes after the last instruction of a page may be unmapped.
    const auto* const at = reinterpret_cast<const unsigned char*>(where.uc_mcontext.gregs[REG_RIP]);
    if (at[0] == 0xcd) return false;  // the instruction int, another kind of system call
    if (at[0] != 0x0f) return true;
    if (at[1] == 0x34) return false;  // sysenter
    if (at[1] != 0x05) return true;   // syscall
    return std::ranges::find(harmless_calls, static_cast<long>(where.uc_mcontext.gregs[REG_RAX])) !=
           std::end(harmless_calls);
}

}  // namespace tutti::preempt
