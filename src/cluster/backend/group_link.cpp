#include "cluster/backend/group_link.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

namespace tutti::cluster::backend::group {
namespace {

std::string words_of(int error) { return std::generic_category().message(error); }

}  // namespace

bool parse_member_address(const std::string& text, std::string& host, int& port) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos) return false;
    host = text.substr(0, colon);
    if (host == "localhost") host = "127.0.0.1";
    const char* const end = text.data() + text.size();
    const auto [stopped, failed] = std::from_chars(text.data() + colon + 1, end, port);
    in_addr number{};
    return failed == std::errc{} && stopped == end && port >= 1 && port <= 65535 && host.starts_with("127.") &&
           ::inet_pton(AF_INET, host.c_str(), &number) == 1;
}

std::unique_ptr<link> link::open(const std::string& address, std::uint64_t group, clock::time_point late,
                                 std::string& why) {
    std::string host;
    int port = 0;
    if (!parse_member_address(address, host, port)) {
        why = "'" + address + "' is no address of loopback, such as 127.0.0.1:7001";
        return nullptr;
    }
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    ::inet_pton(AF_INET, host.c_str(), &to.sin_addr);
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) {
        why = "no socket can be made: " + words_of(errno);
        return nullptr;
    }
    std::unique_ptr<link> made{new link{socket, address}};
    constexpr int on = 1;
    static_cast<void>(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
    int error = 0;
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
        error = errno;
        if (error == EINPROGRESS) {
            socklen_t size = sizeof error;
            if (!made->wait(POLLOUT, late)) error = ETIMEDOUT;
            else if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
        }
    }
    if (error != 0) {
        why = address + " cannot be reached: " + words_of(error);
        return nullptr;
    }
    if (!made->greet(group, std::min(late, clock::now() + silence), why)) return nullptr;
    return made;
}

link::~link() { ::close(socket_); }

void link::cut() noexcept { ::shutdown(socket_, SHUT_RDWR); }

bool link::greet(std::uint64_t group, clock::time_point late, std::string& why) {
    hello mine;
    mine.group = group;
    std::string message;
    welcome theirs;
    if (!send(wire::encode(mine), late) || !listen(message, late)) {
        why = address_ + " has accepted the connection, but said nothing: it is stopped, or no member";
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
    while (!frame.empty()) {
        const ssize_t n = ::send(socket_, frame.data(), frame.size(), MSG_NOSIGNAL);
        if (n > 0) {
            sent_any_ = true;
            frame.remove_prefix(static_cast<std::size_t>(n));
        } else if (n < 0 && errno == EAGAIN) {
            if (!wait(POLLOUT, late)) return false;
        } else if (n == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

bool link::fill(std::size_t bytes, clock::time_point late) {
    std::array<char, 65536> part;
    while (input_.size() < bytes) {
        const ssize_t n = ::recv(socket_, part.data(), part.size(), 0);
        if (n > 0) input_.append(part.data(), static_cast<std::size_t>(n));
        else if (n < 0 && errno == EAGAIN) {
            if (!wait(POLLIN, std::min(late, clock::now() + silence))) return false;
        } else if (n == 0 || errno != EINTR) {
            return false;
        }
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
