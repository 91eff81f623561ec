#include "tpcc/load/connection.hpp"

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

namespace tpcc::load {
namespace {

[[noreturn]] void lost(const char* why) { throw std::runtime_error{std::string{"the server went away: "} + why}; }

int connect_to(const std::string& host, const std::string& port) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found) != 0)
        throw std::runtime_error{"there is no address " + host + ":" + port};
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned{found, ::freeaddrinfo};
    const int s = ::socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, 0);
    if (s < 0 || ::connect(s, found->ai_addr, found->ai_addrlen) != 0) {
        if (s >= 0) ::close(s);
        throw std::runtime_error{"the server cannot be reached at " + host + ":" + port};
    }
    const int at_once = 1;
    ::setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    ::fcntl(s, F_SETFL, ::fcntl(s, F_GETFL) | O_NONBLOCK);
    return s;
}

}  // namespace

connection::connection(const std::string& host, const std::string& port)
    : socket_{connect_to(host, port)}, reader_{::redisReaderCreate()} {}

connection::~connection() {
    ::redisReaderFree(reader_);
    ::close(socket_);
}

void connection::flush() {
    if (full_) return;
    while (sent_ < unsent_.size()) {
        const ssize_t sent = ::send(socket_, unsent_.data() + sent_, unsent_.size() - sent_, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno == EAGAIN) {
            full_ = true;
            break;
        }
        if (sent < 0) lost("it takes no requests");
        sent_ += static_cast<std::size_t>(sent);
    }
    // The sent bytes are not removed after every send: under overload much is left, and all of it would be moved.
    if (2 * sent_ >= unsent_.size()) {
        unsent_.erase(0, sent_);
        sent_ = 0;
    }
}

void connection::receive() {
    full_ = false;
    char bytes[16 * 1024];
    for (;;) {
        const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) lost("it has closed a connection");
        if (::redisReaderFeed(reader_, bytes, static_cast<std::size_t>(got)) != REDIS_OK) lost(reader_->errstr);
        if (static_cast<std::size_t>(got) < sizeof bytes) return;
    }
}

answer connection::next() {
    void* whole = nullptr;
    if (::redisReaderGetReply(reader_, &whole) != REDIS_OK) lost(reader_->errstr);
    return {static_cast<redisReply*>(whole), ::freeReplyObject};
}

}  // namespace tpcc::load
