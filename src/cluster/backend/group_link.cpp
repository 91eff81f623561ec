#include "cluster/backend/group_link.hpp"

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

constexpr std::size_t most_welcome = 4096;

std::string words_of(int error) { return std::generic_category().message(error); }

}  // namespace

std::unique_ptr<link> link::open(const std::string& address, std::uint64_t group, clock::time_point late,
                                 std::string& why, credentials* secured) {
    std::string now;
    std::unique_ptr<link> made = reach(address, group, late, now, secured);
    if (!made && (why.empty() || clock::now() < late)) why = now;
    return made;
}

std::unique_ptr<link> link::reach(const std::string& address, std::uint64_t group, clock::time_point late,
                                  std::string& why, credentials* secured) {
    const std::vector<socket_place> places = places_of(address, secured != nullptr, why);
    std::unique_ptr<link> made;
    for (std::size_t i = 0; i < places.size() && !made; ++i) {
        // A place that does not answer leaves time for the others.
        const auto left = late - clock::now();
        made = connect(places[i], address, clock::now() + left / static_cast<long>(places.size() - i), why);
    }
    if (!made) return nullptr;
    if (secured != nullptr) made->tls_ = secured->call();
    if (made->greet(group, std::min(late, clock::now() + silence), why)) return made;
    if (const std::string old = secured != nullptr ? secured->trouble() : std::string{}; !old.empty())
        why += "; and files that have changed are not in use: " + old;
    return nullptr;
}

std::unique_ptr<link> link::connect(const socket_place& to, const std::string& address, clock::time_point late,
                                    std::string& why) {
    const int socket = ::socket(to.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) {
        why = "no socket can be made: " + words_of(errno);
        return nullptr;
    }
    std::unique_ptr<link> made{new link{socket, address}};
    constexpr int on = 1;
    static_cast<void>(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
    int error = 0;
    if (::connect(socket, to.raw(), to.length) != 0) {
        error = errno;
        if (error == EINPROGRESS) {
            socklen_t size = sizeof error;
            if (!made->wait(POLLOUT, late)) error = ETIMEDOUT;
            else if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
        }
    }
    if (error == 0) return made;
    why = address + " cannot be reached: " + words_of(error);
    return nullptr;
}

link::~link() { ::close(socket_); }

void link::cut() noexcept { ::shutdown(socket_, SHUT_RDWR); }

bool link::shake_hands(clock::time_point late) {
    if (!tls_) return true;
    bool goes_on = tls_->decrypt({}, input_) && send_raw(tls_->pending_output(), late);
    while (goes_on && !tls_->is_established()) goes_on = read_some(late);
    return goes_on;
}

std::string link::why_silent() const {
    if (const std::string trouble = tls_ ? tls_->error() : std::string{}; !trouble.empty())
        return address_ + " " + trouble;
    return address_ + " has accepted the connection, but said nothing: it is stopped, or no member";
}

bool link::greet(std::uint64_t group, clock::time_point late, std::string& why) {
    hello mine;
    mine.group = group;
    std::uint32_t length = 0;
    std::string message;
    welcome theirs;
    if (!shake_hands(late) || !send(wire::encode(mine), late) || !fill(sizeof length, late)) {
        why = why_silent();
        return false;
    }
    std::memcpy(&length, input_.data(), sizeof length);
    if (!tls_ && length > most_welcome && wire::looks_like_alert(input_)) {
        why = address_ + " " + speaks_tls;
        return false;
    }
    if (length > most_welcome) {
        why = address_ + " is no member of a group";
        return false;
    }
    if (!listen(message, late)) {
        why = why_silent();
        return false;
    }
    if (!wire::decode(message, theirs)) {
        why = address_ + " is no member of a group";
        return false;
    }
    if (theirs.refused != 0) {
        why = address_ + " refuses: " + theirs.text;
        return false;
    }
    group_ = theirs.group;
    return true;
}

bool link::wait(short events, clock::time_point late) const {
    while (true) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(late - clock::now());
        if (left.count() <= 0) return false;
        pollfd p{socket_, events, 0};
        const int ready = ::poll(&p, 1, static_cast<int>(std::min<long long>(left.count(), 1 << 30)));
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return false;
    }
}

bool link::sound() const noexcept {
    char next = 0;
    return input_.empty() && ::recv(socket_, &next, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

bool link::send(std::string_view frame, clock::time_point late) {
    sent_any_ = false;
    if (!tls_) return send_raw(frame, late);
    std::string sealed{frame};
    return tls_->encrypt(sealed) && send_raw(sealed, late);
}

bool link::send_raw(std::string_view bytes, clock::time_point late) {
    while (!bytes.empty()) {
        const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n > 0) {
            sent_any_ = true;
            bytes.remove_prefix(static_cast<std::size_t>(n));
        } else if (n < 0 && errno == EAGAIN) {
            if (!wait(POLLOUT, late)) return false;
        } else if (n == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

bool link::read_some(clock::time_point late) {
    std::array<char, 65536> part;
    const ssize_t n = ::recv(socket_, part.data(), part.size(), 0);
    if (n < 0 && errno == EAGAIN) return wait(POLLIN, std::min(late, clock::now() + silence));
    if (n < 0) return errno == EINTR;
    if (n == 0) return false;
    const std::string_view came{part.data(), static_cast<std::size_t>(n)};
    if (!tls_) {
        input_.append(came);
        return true;
    }
    // Sends the session's pending bytes in either case: an alert tells the other side the reason.
    const bool goes_on = tls_->decrypt(came, input_);
    return send_raw(tls_->pending_output(), late) && goes_on;
}

bool link::fill(std::size_t bytes, clock::time_point late) {
    while (input_.size() < bytes) {
        if (!read_some(late)) return false;
    }
    return true;
}

bool link::listen(std::string& message, clock::time_point late) {
    std::uint32_t length = 0;
    if (!fill(sizeof length, late)) return false;
    std::memcpy(&length, input_.data(), sizeof length);
    if (length > most_answer + 1024 || !fill(sizeof length + length, late)) return false;
    message.assign(input_, sizeof length, length);
    input_.erase(0, sizeof length + length);
    if (message.size() == 1 && message[0] == static_cast<char>(outcome::alive)) message.clear();
    return true;
}

bool link::receive(std::string& message, clock::time_point late) {
    do {
        if (!listen(message, late)) return false;
    } while (message.empty());
    return true;
}

}  // namespace tutti::cluster::backend::group
