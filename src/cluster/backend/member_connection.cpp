#include "cluster/backend/member_connection.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace tutti::cluster::backend::group {
namespace {

constexpr std::size_t max_welcome = 4096;

std::string message_of(int error) { return std::generic_category().message(error); }

}  // namespace

std::unique_ptr<member_connection> member_connection::open(const std::string& address, std::uint64_t group,
                                                           clock::time_point deadline, std::string& reason,
                                                           credentials* secured) {
    std::string now;
    std::unique_ptr<member_connection> made = open_any(address, group, deadline, now, secured);
    if (!made && (reason.empty() || clock::now() < deadline)) reason = now;
    return made;
}

std::unique_ptr<member_connection> member_connection::open_any(const std::string& address, std::uint64_t group,
                                                               clock::time_point deadline, std::string& reason,
                                                               credentials* secured) {
    const std::vector<socket_address> addresses = resolve_addresses(address, secured != nullptr, reason);
    std::unique_ptr<member_connection> made;
    for (std::size_t i = 0; i < addresses.size() && !made; ++i) {
        // Each address receives only a share of the time, so that time is left if an address does not answer.
        const auto left = deadline - clock::now();
        made = connect(addresses[i], address, clock::now() + left / static_cast<long>(addresses.size() - i), reason);
    }
    if (!made) return nullptr;
    if (secured != nullptr) made->tls_ = secured->client_session();
    if (made->exchange_hello(group, std::min(deadline, clock::now() + silence_timeout), reason)) return made;
    if (const std::string old = secured != nullptr ? secured->error() : std::string{}; !old.empty())
        reason += "; the changed certificate files are not in use: " + old;
    return nullptr;
}

std::unique_ptr<member_connection> member_connection::connect(const socket_address& to, const std::string& address,
                                                              clock::time_point deadline, std::string& reason) {
    const int socket = ::socket(to.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) {
        reason = "cannot create a socket: " + message_of(errno);
        return nullptr;
    }
    std::unique_ptr<member_connection> made{new member_connection{socket, address}};
    constexpr int on = 1;
    static_cast<void>(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
    int error = 0;
    if (::connect(socket, to.raw(), to.length) != 0) {
        error = errno;
        if (error == EINPROGRESS) {
            socklen_t size = sizeof error;
            if (!made->wait(POLLOUT, deadline)) error = ETIMEDOUT;
            else if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
        }
    }
    if (error == 0) return made;
    reason = address + " cannot be reached: " + message_of(error);
    return nullptr;
}

member_connection::~member_connection() { ::close(socket_); }

void member_connection::interrupt() noexcept { ::shutdown(socket_, SHUT_RDWR); }

bool member_connection::finish_handshake(clock::time_point deadline) {
    if (!tls_) return true;
    bool goes_on = tls_->decrypt({}, input_) && send_raw(tls_->pending_output(), deadline);
    while (goes_on && !tls_->is_established()) goes_on = read_some(deadline);
    return goes_on;
}

std::string member_connection::reason_for_silence() const {
    if (const std::string trouble = tls_ ? tls_->error() : std::string{}; !trouble.empty())
        return address_ + " " + trouble;
    return address_ + " has accepted the connection, but sent nothing: it is stopped, or is not a member";
}

bool member_connection::exchange_hello(std::uint64_t group, clock::time_point deadline, std::string& reason) {
    hello own_hello;
    own_hello.group = group;
    std::uint32_t length = 0;
    std::string message;
    welcome answer;
    if (!finish_handshake(deadline) || !send(wire::encode(own_hello), deadline) || !fill(sizeof length, deadline)) {
        reason = reason_for_silence();
        return false;
    }
    std::memcpy(&length, input_.data(), sizeof length);
    if (!tls_ && length > max_welcome && wire::looks_like_alert(input_)) {
        reason = address_ + " " + peer_uses_tls;
        return false;
    }
    if (length > max_welcome) {
        reason = address_ + " is not a member of a group";
        return false;
    }
    if (!receive_or_keep_alive(message, deadline)) {
        reason = reason_for_silence();
        return false;
    }
    if (!wire::decode(message, answer)) {
        reason = address_ + " is not a member of a group";
        return false;
    }
    if (answer.refused != 0) {
        reason = address_ + " refuses: " + answer.text;
        return false;
    }
    group_ = answer.group;
    return true;
}

bool member_connection::wait(short events, clock::time_point deadline) const {
    while (true) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now());
        if (left.count() <= 0) return false;
        pollfd p{socket_, events, 0};
        const int ready = ::poll(&p, 1, static_cast<int>(std::min<long long>(left.count(), 1 << 30)));
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return false;
    }
}

bool member_connection::is_usable() const noexcept {
    char next = 0;
    return input_.empty() && ::recv(socket_, &next, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

bool member_connection::send(std::string_view frame, clock::time_point deadline) {
    has_sent_ = false;
    if (!tls_) return send_raw(frame, deadline);
    std::string sealed{frame};
    return tls_->encrypt(sealed) && send_raw(sealed, deadline);
}

bool member_connection::send_raw(std::string_view bytes, clock::time_point deadline) {
    while (!bytes.empty()) {
        const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n > 0) {
            has_sent_ = true;
            bytes.remove_prefix(static_cast<std::size_t>(n));
        } else if (n < 0 && errno == EAGAIN) {
            if (!wait(POLLOUT, deadline)) return false;
        } else if (n == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

bool member_connection::read_some(clock::time_point deadline) {
    std::array<char, 65536> part;
    const ssize_t n = ::recv(socket_, part.data(), part.size(), 0);
    if (n < 0 && errno == EAGAIN) return wait(POLLIN, std::min(deadline, clock::now() + silence_timeout));
    if (n < 0) return errno == EINTR;
    if (n == 0) return false;
    const std::string_view came{part.data(), static_cast<std::size_t>(n)};
    if (!tls_) {
        input_.append(came);
        return true;
    }
    // The session's pending bytes are sent even after a failure, because they may be an alert that tells the peer the
    // reason.
    const bool goes_on = tls_->decrypt(came, input_);
    return send_raw(tls_->pending_output(), deadline) && goes_on;
}

bool member_connection::fill(std::size_t bytes, clock::time_point deadline) {
    while (input_.size() < bytes) {
        if (!read_some(deadline)) return false;
    }
    return true;
}

bool member_connection::receive_or_keep_alive(std::string& message, clock::time_point deadline) {
    std::uint32_t length = 0;
    if (!fill(sizeof length, deadline)) return false;
    std::memcpy(&length, input_.data(), sizeof length);
    if (length > max_reply + 1024 || !fill(sizeof length + length, deadline)) return false;
    message.assign(input_, sizeof length, length);
    input_.erase(0, sizeof length + length);
    if (message.size() == 1 && message[0] == static_cast<char>(reply_status::keep_alive)) message.clear();
    return true;
}

bool member_connection::receive(std::string& message, clock::time_point deadline) {
    do {
        if (!receive_or_keep_alive(message, deadline)) return false;
    } while (message.empty());
    return true;
}

}  // namespace tutti::cluster::backend::group
