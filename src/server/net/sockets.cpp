#include "server/net/sockets.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "tutti/server/endpoint.hpp"

namespace tutti::server {
namespace {

constexpr int backlog = 511;

[[noreturn]] void fail(const std::string& address) {
    throw std::system_error{errno, std::generic_category(), "cannot listen on " + address};
}

struct address_list {
    addrinfo* first = nullptr;
    address_list() = default;
    address_list(const address_list&) = delete;
    address_list& operator=(const address_list&) = delete;
    ~address_list() {
        if (first != nullptr) ::freeaddrinfo(first);
    }
};

handle new_socket(int family, const std::string& name) {
    handle s{::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    const int on = 1;
    if (!s.is_open() || ::setsockopt(s.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) fail(name);
    return s;
}

/// Binds `s` to `path`, whose file gets the permissions `mode`. Linux creates the file with the permissions of the
/// socket, less the umask, so the file never has more permissions than `mode`. The function does not follow a symbolic
/// link, because other users who may write to the folder could replace the file by one.
void bind_with_mode(const handle& s, const sockaddr_un& address, unsigned mode, const std::string& path) {
    if (::fchmod(s.get(), mode) != 0 ||
        ::bind(s.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        fail(path);
    struct stat made{};
    if (::lstat(path.c_str(), &made) != 0) fail(path);
    if ((made.st_mode & 07777) != mode && ::fchmodat(AT_FDCWD, path.c_str(), mode, AT_SYMLINK_NOFOLLOW) != 0)
        fail(path);
}

/// Returns true if no process listens at the address. The socket is non-blocking, because connecting to a listener with
/// a full backlog would block.
bool is_abandoned(const sockaddr_un& address) {
    const handle s{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (!s.is_open() || ::connect(s.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
        return false;
    return errno == ECONNREFUSED;
}

}  // namespace

handle listen_tcp(const std::string& host, std::uint16_t port) {
    const std::string name = to_string(endpoint{host, port});
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    address_list found;
    const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found.first);
    if (failed != 0) throw std::runtime_error{"cannot listen on " + name + ": " + ::gai_strerror(failed)};
    handle s = new_socket(found.first->ai_family, name);
    if (::bind(s.get(), found.first->ai_addr, found.first->ai_addrlen) != 0 || ::listen(s.get(), backlog) != 0)
        fail(name);
    return s;
}

local_listener listen_unix(const std::string& path, std::optional<unsigned> mode) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        fail(path);
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    struct stat there{};
    if (::lstat(path.c_str(), &there) == 0 && S_ISSOCK(there.st_mode)) {
        if (!is_abandoned(address)) {
            errno = EADDRINUSE;
            fail(path);
        }
        ::unlink(path.c_str());
    }
    local_listener made;
    made.socket = new_socket(AF_UNIX, path);
    if (mode) bind_with_mode(made.socket, address, *mode, path);
    else if (::bind(made.socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail(path);
    if (::listen(made.socket.get(), backlog) != 0) fail(path);
    made.path = path;
    if (::lstat(path.c_str(), &there) != 0) fail(path);
    made.device = there.st_dev;
    made.file = there.st_ino;
    return made;
}

void local_listener::stop() noexcept {
    if (!socket.is_open()) return;
    struct stat there{};
    const bool own = ::lstat(path.c_str(), &there) == 0 && there.st_dev == device && there.st_ino == file;
    if (own) ::unlink(path.c_str());
    stop_listening(socket);
}

void stop_listening(const handle& listener) noexcept {
    if (listener.is_open()) ::shutdown(listener.get(), SHUT_RDWR);
}

handle adopt_listener(int descriptor) {
    int listens = 0;
    socklen_t size = sizeof listens;
    const int flags = ::fcntl(descriptor, F_GETFL);
    if (flags < 0 || ::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0)
        throw std::invalid_argument{"descriptor " + std::to_string(descriptor) + " is not a listening socket"};
    ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    return handle{descriptor};
}

bool is_local(const handle& listener) noexcept {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    return ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
           address.ss_family == AF_UNIX;
}

std::uint16_t port_of(const handle& listener) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
    if (address.ss_family == AF_UNIX) return 0;
    if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
}

std::string address_of_peer(int socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "gone";
    if (address.ss_family == AF_UNIX) return "unix";
    char host[NI_MAXHOST];
    if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof host, nullptr, 0,
                      NI_NUMERICHOST) != 0) {
        return "unknown";
    }
    const in_port_t port = address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                                         : reinterpret_cast<const sockaddr_in&>(address).sin_port;
    return to_string(endpoint{host, ntohs(port)});
}

handle accept_from(const handle& listener, const tcp_keepalive& keepalive) noexcept {
    handle client{::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    if (!client.is_open()) return client;
    const int error = errno;
    // On a Unix socket, these options fail or have no effect. A Unix socket does not need them, because its clients
    // cannot vanish silently.
    const auto set = [&client](int level, int option, int value) {
        ::setsockopt(client.get(), level, option, &value, sizeof value);
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    if (keepalive.keepalive.count() > 0) {
        constexpr int probes = 4;
        const int idle = static_cast<int>(std::min<std::chrono::seconds::rep>(keepalive.keepalive.count(), 32'767));
        set(SOL_SOCKET, SO_KEEPALIVE, 1);
        set(IPPROTO_TCP, TCP_KEEPIDLE, idle);
        set(IPPROTO_TCP, TCP_KEEPINTVL, std::max(idle / probes, 1));
        set(IPPROTO_TCP, TCP_KEEPCNT, probes);
        // While data is unacknowledged, the system repeats the data and does not probe. Without this option, it would
        // do so for a quarter of an hour.
        if (keepalive.limits_unacknowledged_data) set(IPPROTO_TCP, TCP_USER_TIMEOUT, 2'000 * idle);
    }
    errno = error;
    return client;
}

}  // namespace tutti::server
