#include "server/client.hpp"

#include <arpa/inet.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tutti::server {
namespace {

std::string text_of(const redisReply& r) {
    switch (r.type) {
        case REDIS_REPLY_INTEGER: return std::to_string(r.integer);
        case REDIS_REPLY_NIL: return "nil";
        case REDIS_REPLY_ERROR: return "-" + std::string{r.str, static_cast<std::size_t>(r.len)};
        case REDIS_REPLY_ARRAY: {
            std::string all = "(";
            for (std::size_t i = 0; i < r.elements; ++i) all += (i == 0 ? "" : " ") + text_of(*r.element[i]);
            return all + ")";
        }
        default: return {r.str, static_cast<std::size_t>(r.len)};
    }
}

redisContext* checked(redisContext* c) {
    if (c == nullptr || c->err != 0) throw std::runtime_error{c == nullptr ? "no memory" : c->errstr};
    return c;
}

}  // namespace

client::client(std::uint16_t port) : context_{checked(::redisConnect("127.0.0.1", port))} {}
client::client(const std::string& unix_path) : context_{checked(::redisConnectUnix(unix_path.c_str()))} {}
client::~client() { ::redisFree(context_); }

void client::send(const std::vector<std::string>& words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string& w : words) {
        texts.push_back(w.data());
        sizes.push_back(w.size());
    }
    ::redisAppendCommandArgv(context_, static_cast<int>(words.size()), texts.data(), sizes.data());
    for (int done = 0; done == 0;) {
        if (::redisBufferWrite(context_, &done) != REDIS_OK) return;
    }
}

std::string client::receive() {
    void* raw = nullptr;
    if (::redisGetReply(context_, &raw) != REDIS_OK) return "closed";
    const std::unique_ptr<redisReply, void (*)(void*)> r{static_cast<redisReply*>(raw), ::freeReplyObject};
    return text_of(*r);
}

std::string client::operator()(const std::vector<std::string>& words) {
    send(words);
    return receive();
}

bare_socket::bare_socket(std::uint16_t port, int receive_buffer) : socket_{::socket(AF_INET, SOCK_STREAM, 0)} {
    if (receive_buffer != 0) ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
        throw std::runtime_error{std::strerror(errno)};
}
bare_socket::~bare_socket() { ::close(socket_); }

bool bare_socket::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

std::size_t bare_socket::send_some(std::string_view bytes) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
}

void bare_socket::half_close() { ::shutdown(socket_, SHUT_WR); }

void bare_socket::reset() {
    const linger at_once{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

std::string bare_socket::receive(std::size_t bytes) {
    std::string all;
    char buffer[65'536];
    while (all.size() < bytes) {
        const ssize_t got = ::recv(socket_, buffer, std::min(sizeof buffer, bytes - all.size()), 0);
        if (got <= 0) break;
        all.append(buffer, static_cast<std::size_t>(got));
    }
    return all;
}

std::string bare_socket::receive_lines(std::ptrdiff_t lines) {
    std::string all;
    char buffer[65'536];
    while (lines > 0) {
        const ssize_t got = ::recv(socket_, buffer, sizeof buffer, 0);
        if (got <= 0) break;
        const std::string_view piece{buffer, static_cast<std::size_t>(got)};
        lines -= std::ranges::count(piece, '\n');
        all.append(piece);
    }
    return all;
}

std::string bare_socket::receive_all() { return receive(static_cast<std::size_t>(-1)); }

std::string wire(const std::vector<std::string>& words) {
    std::string all = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& w : words) all += "$" + std::to_string(w.size()) + "\r\n" + w + "\r\n";
    return all;
}

std::string http_get(std::uint16_t port, const std::string& path, const std::string& method) {
    bare_socket to{port};
    to.send(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    return to.receive_all();
}

std::size_t number_of(const std::string& info, const std::string& key) {
    const std::size_t at = info.find("\r\n" + key + ":");
    return at == std::string::npos ? 0 : std::stoul(info.substr(at + key.size() + 3));
}

}  // namespace tutti::server
