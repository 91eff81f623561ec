#include "server/replication/leader_connection.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "server/journal/machine_secret.hpp"
#include "server/replication/resolve.hpp"
#include "tutti/server/endpoint.hpp"

namespace tutti::server {
namespace {

constexpr std::chrono::seconds timeout{5};
constexpr std::chrono::milliseconds check_interval{100};  // interval of checks whether to stop
constexpr std::size_t max_answer_bytes = std::size_t{1} << 31;

/// Connects within the timeout, and returns true. On failure, returns false and sets errno.
bool connects(int s, const addrinfo& to, const std::atomic<bool>& stops) {
    if (::connect(s, to.ai_addr, to.ai_addrlen) == 0) return true;
    if (errno != EINPROGRESS) return false;
    const auto until = std::chrono::steady_clock::now() + timeout;
    pollfd one{.fd = s, .events = POLLOUT, .revents = 0};
    int ready = 0;
    while (ready == 0 && !stops && std::chrono::steady_clock::now() < until)
        ready = ::poll(&one, 1, static_cast<int>(check_interval.count()));
    if (ready == 0) errno = ETIMEDOUT;
    if (ready <= 0) return false;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error;
    return error == 0;
}

bool is_of_loopback(const sockaddr& address) noexcept {
    if (address.sa_family == AF_INET)
        return (ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24) == 127;
    return address.sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

using status = secure::session::status;

/// Converts the result of a call on the socket. `blocked`: the status if the call would block.
secure::session::result result_of(ssize_t moved, status blocked) noexcept {
    if (moved > 0) return {status::done, static_cast<std::size_t>(moved)};
    if (moved == 0) return {status::ended};
    return {errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? blocked : status::failed};
}

}  // namespace

leader_connection::leader_connection(const leader_settings& to, const tls_files& own, const std::atomic<bool>& stops,
                                     const std::optional<std::string>& password)
    : name_{to_string(endpoint{to.host, to.port})}, stops_{stops} {
    // The files are read before the connection is made, because afterwards the other side waits for the handshake.
    if (!to.tls_authority.empty()) read_files(to, own);
    connect(to);
    try {
        if (!to.tls_authority.empty()) begin_tls(to.host);
        if (!to.user.empty()) static_cast<void>(execute({"AUTH", to.user, to.password}));
        else if (!to.password.empty()) static_cast<void>(execute({"AUTH", to.password}));
        if (password) show_credential(*password);
    } catch (...) {
        ::close(socket_);
        throw;
    }
}

leader_connection::~leader_connection() {
    session_.reset();
    ::close(socket_);
}

void leader_connection::fail(const std::string& what) const {
    throw std::runtime_error{"the leader " + name_ + " " + what};
}

void leader_connection::connect(const leader_settings& to) {
    const addresses all = [&] {
        try {
            return resolve(to.host, to.port, timeout, stops_);
        } catch (const std::runtime_error& e) {
            fail(e.what());
        }
    }();
    int error = 0;
    for (const addrinfo* a = all.get(); a != nullptr && socket_ < 0; a = a->ai_next) {
        socket_ = ::socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (socket_ >= 0 && connects(socket_, *a, stops_)) {
            is_loopback_ = is_of_loopback(*a->ai_addr);
            break;
        }
        error = errno;
        if (socket_ >= 0) ::close(std::exchange(socket_, -1));
    }
    if (socket_ < 0) fail(std::string{"cannot be reached: "} + std::strerror(error));
    ::fcntl(socket_, F_SETFL, ::fcntl(socket_, F_GETFL) & ~O_NONBLOCK);
    const timeval time_limit{.tv_sec = 0, .tv_usec = std::chrono::microseconds{check_interval}.count()};
    const int on = 1;
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &time_limit, sizeof time_limit);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &time_limit, sizeof time_limit);
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void leader_connection::fail_by_tls(const std::string& what) const {
    fail("cannot complete the TLS handshake: " + what);
}

void leader_connection::read_files(const leader_settings& to, const tls_files& own) {
    try {
        context_ = secure::make_context(secure::role::client, {.certificate = own.certificate,
                                                               .key = own.key,
                                                               .authority = to.tls_authority,
                                                               .protocol = {.minimum_version = own.minimum_version,
                                                                            .ciphers = own.ciphers,
                                                                            .ciphersuites = own.ciphersuites}});
    } catch (const secure::tls_error& e) {
        fail_by_tls(e.what());
    }
}

void leader_connection::show_credential(const std::string& password) {
    if (!password.empty()) return static_cast<void>(execute({"FOLLOW", "AUTH", password}));
    // The secret of this machine must not leave the machine, so it is sent only over loopback.
    if (!is_loopback_) return;
    std::string secret;
    try {
        secret = journal::machine_secret();
    } catch (const std::runtime_error&) {
        return;  // the error of the next command says what is missing
    }
    try {
        static_cast<void>(execute({"FOLLOW", "AUTH", secret}));
    } catch (const leader_refusal_error& e) {
        // The refusal may not matter: the other side may have a configured password, or be of an earlier version, or
        // the rights of the user may suffice. The answer to the next command shows whether it matters. After any other
        // refusal, such as MAXCLIENTS, the other side sends no further answer.
        if (e.code() != "WRONGPASS" && e.code() != "ERR") throw;
    }
}

void leader_connection::begin_tls(const std::string& host) {
    session_.emplace(context_, secure::end::connecting, socket_);
    session_->expect_host(host);
    if (with_timeout([this] { return session_->shake_hands(); }).now != status::done)
        fail_by_tls("handshake: " + secure::why_openssl_failed());
}

template <class F>
secure::session::result leader_connection::with_timeout(const F& move) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    for (;;) {
        const secure::session::result moved = move();
        const bool blocks = moved.now == status::needs_input || moved.now == status::needs_output;
        if (!blocks || stops_ || std::chrono::steady_clock::now() > until) return moved;
    }
}

void leader_connection::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const secure::session::result moved = with_timeout([&] {
            if (session_) return session_->write(bytes);
            return result_of(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), status::needs_output);
        });
        if (moved.now != status::done) fail("accepts no more commands");
        bytes.remove_prefix(moved.bytes);
    }
}

/// Reads more of the answer.
void leader_connection::fill() {
    char some[65'536];
    const secure::session::result moved = with_timeout([&] {
        if (session_) return session_->read(some);
        return result_of(::recv(socket_, some, sizeof some, 0), status::needs_input);
    });
    if (moved.now == status::ended) fail("has closed the connection");
    if (moved.now != status::done) fail("no longer answers");
    in_.append(some, moved.bytes);
}

std::string leader_connection::line() {
    for (;;) {
        const std::size_t end = in_.find("\r\n", read_offset_);
        if (end != std::string::npos) {
            std::string one = in_.substr(read_offset_, end - read_offset_);
            read_offset_ = end + 2;
            return one;
        }
        if (in_.size() - read_offset_ > 65'536) fail("sent an answer that is not RESP");
        fill();
    }
}

std::string leader_connection::bytes(std::size_t count) {
    while (in_.size() - read_offset_ < count) fill();
    std::string all = in_.substr(read_offset_, count);
    read_offset_ += count;
    return all;
}

std::string leader_connection::execute(std::initializer_list<std::string_view> words) {
    std::string all = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string_view w : words) all.append("$" + std::to_string(w.size()) + "\r\n").append(w).append("\r\n");
    write(all);
    in_.erase(0, std::exchange(read_offset_, 0));
    const std::string first = line();
    const std::string rest = first.empty() ? "" : first.substr(1);
    if (first.starts_with('-')) {
        const std::size_t blank = rest.find(' ');
        throw leader_refusal_error{rest.substr(0, blank), blank == std::string::npos ? "" : rest.substr(blank + 1),
                                   "the leader " + name_ + " refuses: " + rest};
    }
    if (first.starts_with('+') || first.starts_with(':')) return rest;
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    if (!first.starts_with('$') || error != std::errc{} || end != rest.data() + rest.size() ||
        length > max_answer_bytes)
        fail("sent an answer that is not RESP");
    std::string answer = bytes(length);
    if (bytes(2) != "\r\n") fail("sent an answer that is not RESP");
    if (in_.capacity() > 1'048'576 && read_offset_ == in_.size()) {
        std::string{}.swap(in_);
        read_offset_ = 0;
    }
    return answer;
}

}  // namespace tutti::server
