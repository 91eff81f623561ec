#include "server/replication/resolve.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace tutti::server {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds check_interval{100};  // interval of checks whether to stop

/// Shared by the thread that resolves and the thread that waits. The last of the two to finish frees the object.
struct lookup {
    const std::string host, port;
    std::mutex mutex{};  // guards the members below
    std::condition_variable complete{};
    std::optional<int> result{};
    addresses found{nullptr, ::freeaddrinfo};
};

int resolve_in_thread(const lookup& l, int flags, addresses& found) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_NUMERICSERV | flags;
    addrinfo* all = nullptr;
    const int failed = ::getaddrinfo(l.host.c_str(), l.port.c_str(), &wanted, &all);
    if (failed == 0) found.reset(all);
    return failed;
}

void start(const std::shared_ptr<lookup>& l) {
    // The signals are blocked here, because the new thread inherits this signal mask, and so blocks them from its first
    // instruction on.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before);
    try {
        std::thread{[l] {
            addresses found{nullptr, ::freeaddrinfo};
            const int failed = resolve_in_thread(*l, 0, found);
            {
                const std::scoped_lock lock{l->mutex};
                l->found = std::move(found);
                l->result = failed;
            }
            l->complete.notify_all();
        }}.detach();
    } catch (...) {
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

addresses resolve(const std::string& host, std::uint16_t port, std::chrono::milliseconds timeout,
                  const std::atomic<bool>& stops) {
    const auto l = std::make_shared<lookup>(host, std::to_string(port));
    if (resolve_in_thread(*l, AI_NUMERICHOST, l->found) == 0) return std::move(l->found);  // needs no name server
    start(l);
    const auto until = clock::now() + timeout;
    std::unique_lock lock{l->mutex};
    while (!l->result && !stops && clock::now() < until) l->complete.wait_for(lock, check_interval);
    if (!l->result) throw std::runtime_error{"cannot be resolved: the name servers do not answer"};
    if (*l->result != 0) throw std::runtime_error{std::string{"cannot be resolved: "} + ::gai_strerror(*l->result)};
    return std::move(l->found);
}

}  // namespace tutti::server
