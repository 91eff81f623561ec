#include "device/scheduler.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/fence.hpp"

namespace tutti::device {
namespace {

/// Accesses a field as an atomic. Only one side writes the field, so the caller chooses the memory order of its stores.
template <class T>
std::atomic_ref<T> shared_with_scheduler(T& field) noexcept {
    return std::atomic_ref<T>{field};
}

std::uint32_t this_thread() noexcept { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }

std::string error_text() { return std::strerror(errno); }

bool connect_to(int socket) noexcept {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, TUTTI_SCHEDULER_SOCKET, sizeof TUTTI_SCHEDULER_SOCKET);
    const timeval timeout{1, 0};
    return ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) == 0 &&
           ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) == 0 &&
           ::connect(socket, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0;
}

/// Receives the scheduler's reply. Returns the descriptor in the reply, or -1 if the reply has no descriptor.
int receive_reply(int socket, tutti_connect_reply& w) noexcept {
    iovec part{&w, sizeof w};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != static_cast<ssize_t>(sizeof w)) return -1;
    const cmsghdr* const c = CMSG_FIRSTHDR(&message);
    if (c == nullptr || c->cmsg_type != SCM_RIGHTS) return -1;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

tutti_shared* map_shared(int socket, std::string& problem) {
    tutti_connect_reply w{};
    const int map = receive_reply(socket, w);
    if (w.version == 0) {
        problem = TUTTI_SCHEDULER_SOCKET " sends no reply: " + error_text();
    } else if (w.version != TUTTI_SCHEDULER_ABI) {
        problem = TUTTI_SCHEDULER_SOCKET " is of version " + std::to_string(w.version) +
                  ", and this library needs version " + std::to_string(TUTTI_SCHEDULER_ABI);
    } else if (map < 0) {
        problem = TUTTI_SCHEDULER_SOCKET " refuses this program: " + std::string{std::strerror(w.error)};
    }
    void* page = MAP_FAILED;
    if (problem.empty()) {
        page = ::mmap(nullptr, sizeof(tutti_shared), PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
        if (page == MAP_FAILED)
            problem = TUTTI_SCHEDULER_SOCKET " shares memory that cannot be mapped: " + error_text();
    }
    if (map >= 0) ::close(map);
    // The child of a fork is another program for the scheduler, so the child does not share the page.
    if (page != MAP_FAILED) ::madvise(page, sizeof(tutti_shared), MADV_DONTFORK);
    return page == MAP_FAILED ? nullptr : static_cast<tutti_shared*>(page);
}

}  // namespace

scheduler_connection scheduler_connection::connect(std::string& problem) {
    scheduler_connection s;
    s.socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (s.socket < 0 || !connect_to(s.socket)) problem = TUTTI_SCHEDULER_SOCKET " cannot be reached: " + error_text();
    else s.shared = map_shared(s.socket, problem);
    if (s.shared == nullptr) s.disconnect();
    return s;
}

void scheduler_connection::disconnect() noexcept {
    if (shared != nullptr) ::munmap(shared, sizeof(tutti_shared));
    if (socket >= 0) ::close(socket);
    *this = {};
}

std::uint32_t acquire_sched_slot(tutti_shared& shared) noexcept {
    const std::uint32_t tid = this_thread();
    for (std::uint32_t i = 0; i < TUTTI_PROBES; ++i) {
        const std::uint32_t n = (tid + i) % TUTTI_THREADS;
        std::uint32_t free_slot = 0;
        if (shared_with_scheduler(shared.slots[n].tid).compare_exchange_strong(free_slot, tid)) return n;
    }
    return TUTTI_THREADS;
}

bool has_sched_slot(tutti_sched_slot& slot) noexcept { return shared_with_scheduler(slot.tid).load() == this_thread(); }

void set_request(tutti_sched_slot& slot, tutti_request what) noexcept {
    shared_with_scheduler(slot.request).store(what, std::memory_order_relaxed);
}

void wait_in_sched_slot(tutti_sched_slot& slot, std::uint64_t until_ns) noexcept {
    shared_with_scheduler(slot.until_ns).store(until_ns, std::memory_order_relaxed);
    set_request(slot, TUTTI_REQUEST_WAIT);
    ::sched_yield();
    set_request(slot, TUTTI_REQUEST_NONE);
}

void end_transaction(tutti_sched_slot& slot, tutti_transaction& entry) noexcept {
    // The scheduler has no partner fence. If this thread misses the store to `waiters`, the scheduler's next poll
    // releases the losers (TUTTI_POLL_NS in kernel/scheduler/scheduler.h).
    base::light_fence();
    if (shared_with_scheduler(entry.waiters).load(std::memory_order_relaxed) != 0 ||
        shared_with_scheduler(slot.extended).load(std::memory_order_relaxed) != 0) [[unlikely]]
        ::sched_yield();
}

bool scheduler_exists() noexcept { return ::access(TUTTI_SCHEDULER_SOCKET, F_OK) == 0; }

}  // namespace tutti::device
