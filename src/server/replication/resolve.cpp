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

constexpr std::chrono::milliseconds between_looks{100};  // interval of checks whether to stop

/// Shared by the asking thread and the waiting thread. The last of them frees it.
struct replication_command {
    const std::string host, port;
    std::mutex mutex{};  // guards the members below
    std::condition_variable complete{};
    std::optional<int> result{};
    addresses found{nullptr, ::freeaddrinfo};
};

int resolve_in_thread(const replication_command& q, int flags, addresses& found) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_NUMERICSERV | flags;
    addrinfo* all = nullptr;
    const int failed = ::getaddrinfo(q.host.c_str(), q.port.c_str(), &wanted, &all);
    if (failed == 0) found.reset(all);
    return failed;
}

void ask(const std::shared_ptr<replication_command>& q) {
    // The thread that is started here inherits this signal mask from its first instruction on.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before);
    try {
        std::thread{[q] {
            addresses found{nullptr, ::freeaddrinfo};
            const int failed = resolve_in_thread(*q, 0, found);
            {
                const std::scoped_lock lock{q->mutex};
                q->found = std::move(found);
                q->result = failed;
            }
            q->complete.notify_all();
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
    const auto q = std::make_shared<replication_command>(host, std::to_string(port));
    if (resolve_in_thread(*q, AI_NUMERICHOST, q->found) == 0) return std::move(q->found);  // needs no name server
    ask(q);
    const auto until = clock::now() + timeout;
    std::unique_lock lock{q->mutex};
    while (!q->result && !stops && clock::now() < until) q->complete.wait_for(lock, between_looks);
    if (!q->result) throw std::runtime_error{"cannot be found: the name servers do not answer"};
    if (*q->result != 0) throw std::runtime_error{std::string{"cannot be found: "} + ::gai_strerror(*q->result)};
    return std::move(q->found);
}

}  // namespace tutti::server
