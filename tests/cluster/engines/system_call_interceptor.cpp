#include "cluster/engines/system_call_interceptor.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string>
#include <utility>

#include <elf.h>

namespace tutti::cluster::testing {
namespace {

constexpr sock_filter load(std::size_t at) {
    return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(at));
}
/// Skips `skip` of the following lines if the system call is not `number`.
constexpr sock_filter unless(long number, std::uint8_t skip) {
    return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, skip);
}
constexpr sock_filter end(std::uint32_t how) { return BPF_STMT(BPF_RET | BPF_K, how); }
constexpr sock_filter tell = end(SECCOMP_RET_USER_NOTIF), pass = end(SECCOMP_RET_ALLOW);

/// The monotonic clock is not intercepted: nobody can set it, and Go reads it all the time.
constexpr std::array filter{
    load(offsetof(seccomp_data, nr)),
    unless(SYS_fsync, 1),
    tell,
    unless(SYS_fdatasync, 1),
    tell,
    unless(SYS_msync, 1),
    tell,
    unless(SYS_sync_file_range, 1),
    tell,
#if defined(SYS_time)
    unless(SYS_time, 1),
    tell,
#endif
    unless(SYS_gettimeofday, 1),
    tell,
    unless(SYS_clock_gettime, 7),
    load(offsetof(seccomp_data, args)),
    unless(CLOCK_REALTIME, 1),
    tell,
    unless(CLOCK_REALTIME_COARSE, 1),
    tell,
    unless(CLOCK_TAI, 1),
    tell,
    pass,
};

/// Installs the filter, in the child. On error, the parent gets the error number instead of the descriptor.
int listen_to_myself() noexcept {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    const sock_fprog all{static_cast<unsigned short>(filter.size()), const_cast<sock_filter*>(filter.data())};
    // A signal that the process handles does not interrupt a call that is being answered.
    return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                      SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &all));
}

/// Room for a message with one descriptor and one byte.
union carriage {
    cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
};

std::uintptr_t stack_of(pid_t stopped) {
    user_regs_struct all{};
    iovec into{&all, sizeof all};
    if (::ptrace(PTRACE_GETREGSET, stopped, NT_PRSTATUS, &into) != 0)
        throw std::runtime_error{"the registers of a process that was started cannot be read"};
#if defined(__x86_64__)
    return all.rsp;
#else
    return all.sp;
#endif
}

/// REQUIRES: the process has just executed its program, so its arguments, environment and auxiliary vector are on its
/// stack.
void hide_vdso(pid_t stopped) {
    std::uintptr_t at = stack_of(stopped);
    const auto next = [&] {
        errno = 0;
        const long word = ::ptrace(PTRACE_PEEKDATA, stopped, at, nullptr);
        if (errno != 0) throw std::runtime_error{"the stack of a process that was started cannot be read"};
        at += sizeof word;
        return word;
    };
    next();  // the number of arguments
    while (next() != 0) {}
    while (next() != 0) {}  // the environment
    for (long type = next(); type != AT_NULL; type = next()) {
        if (type == AT_SYSINFO_EHDR) ::ptrace(PTRACE_POKEDATA, stopped, at - sizeof type, AT_IGNORE);
        next();
    }
}

template <class T>
bool put(pid_t to, std::uint64_t at, T value) {
    if (at == 0) return true;
    iovec from{&value, sizeof value}, into{reinterpret_cast<void*>(at), sizeof value};
    return ::process_vm_writev(to, &from, 1, &into, 1, 0) == static_cast<ssize_t>(sizeof value);
}

}  // namespace

system_call_interceptor::handover::handover() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw std::runtime_error{"no pair of sockets can be made"};
    parent_ = ends[0];
    child_ = ends[1];
}

system_call_interceptor::handover::~handover() {
    ::close(parent_);
    if (child_ >= 0) ::close(child_);
}

void system_call_interceptor::handover::submit() const noexcept {
    const int listener = listen_to_myself();
    char byte = listener < 0 ? '-' : '+';
    iovec text{&byte, 1};
    carriage room{};
    msghdr all{};
    all.msg_iov = &text;
    all.msg_iovlen = 1;
    if (listener >= 0) {
        all.msg_control = &room;
        all.msg_controllen = sizeof room;
        room.head = {CMSG_LEN(sizeof listener), SOL_SOCKET, SCM_RIGHTS};
        std::memcpy(CMSG_DATA(&room.head), &listener, sizeof listener);
    }
    const bool sent = ::sendmsg(child_, &all, MSG_NOSIGNAL) == 1;
    if (!sent || listener < 0 || ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(126);
    ::close(listener);
}

system_call_interceptor::system_call_interceptor() : thread_{[this] { answer_all(); }} {}

system_call_interceptor::~system_call_interceptor() {
    over_ = true;
    thread_.join();
    for (const int l : listeners_) ::close(l);
}

void system_call_interceptor::adopt(handover& by, pid_t child) {
    ::close(std::exchange(by.child_, -1));  // so that the death of a child is noticed
    char byte = 0;
    iovec text{&byte, 1};
    carriage room{};
    msghdr all{};
    all.msg_iov = &text;
    all.msg_iovlen = 1;
    all.msg_control = &room;
    all.msg_controllen = sizeof room;
    if (::recvmsg(by.parent_, &all, MSG_CMSG_CLOEXEC) != 1 || byte != '+' || all.msg_controllen == 0)
        throw std::runtime_error{"this system lets no process answer another's system calls (seccomp, Linux 5.19)"};
    int listener = -1;
    std::memcpy(&listener, CMSG_DATA(&room.head), sizeof listener);
    {
        const std::lock_guard hold{guard_};
        listeners_.push_back(listener);
    }
    // The child stops when it has executed its program.
    int how = 0;
    while (::waitpid(child, &how, 0) == child && WIFSTOPPED(how) && WSTOPSIG(how) != SIGTRAP)
        ::ptrace(PTRACE_CONT, child, nullptr, WSTOPSIG(how));
    if (!WIFSTOPPED(how)) throw std::runtime_error{"a program with intercepted system calls cannot be started"};
    hide_vdso(child);
    ::ptrace(PTRACE_DETACH, child, nullptr, nullptr);
}

void system_call_interceptor::answer_all() {
    while (!over_.load()) {
        std::vector<pollfd> all;
        {
            const std::lock_guard hold{guard_};
            for (const int l : listeners_) all.push_back({l, POLLIN, 0});
        }
        ::poll(all.data(), all.size(), 10);  // the timeout lets the loop find new listeners
        for (const pollfd& one : all) {
            if ((one.revents & POLLIN) != 0) {
                answer(one.fd);
            } else if (one.revents != 0) {  // every process of this listener has ended
                const std::lock_guard hold{guard_};
                std::erase(listeners_, one.fd);
                ::close(one.fd);
            }
        }
    }
}

void system_call_interceptor::answer(int listener) {
    seccomp_notif asked{};
    if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) return;  // the caller is gone
    seccomp_notif_resp result{};
    result.id = asked.id;
    const auto pid = static_cast<pid_t>(asked.pid);
    const auto& given = asked.data.args;
    timespec now{};
    const auto look = [&](clockid_t which) {
        // a system call, because a test may have replaced the library's function
        ::syscall(SYS_clock_gettime, which, &now);
        now.tv_sec += clock_.load();
        clock_calls_.fetch_add(1);
    };
    bool sound = true;
    switch (asked.data.nr) {
        case SYS_clock_gettime:
            look(static_cast<clockid_t>(given[0]));
            sound = put(pid, given[1], now);
            break;
        case SYS_gettimeofday:
            look(CLOCK_REALTIME);
            sound = put(pid, given[0], timeval{now.tv_sec, now.tv_nsec / 1000});
            break;
#if defined(SYS_time)
        case SYS_time:
            look(CLOCK_REALTIME);
            sound = put(pid, given[0], now.tv_sec);
            result.val = now.tv_sec;
            break;
#endif
        default: {  // a disk call
            const auto begun = std::chrono::steady_clock::now();
            if (disk_.load() != 0) delayed_.fetch_add(1);
            while (std::chrono::steady_clock::now() < begun + std::chrono::milliseconds{disk_.load()} && !over_.load())
                std::this_thread::sleep_for(std::chrono::milliseconds{1});
            result.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        }
    }
    if (!sound) result.error = -EFAULT;
    ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &result);  // fails if the caller was killed meanwhile
}

}  // namespace tutti::cluster::testing
