#include "connection.hpp"

#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace tutti::tools {
namespace {

// The timeout for a reply. Even a server under load replies within this time, but a server that expects TLS never
// replies to a connection without TLS.
constexpr timeval io_timeout{.tv_sec = 30, .tv_usec = 0};

[[noreturn]] void fail_disconnected(const std::string& why) {
    throw std::runtime_error{fmt::format("lost the connection to the server: {}", why)};
}

/// Returns why a connection without TLS has ended. A server that expects TLS closes such a connection, or waits, before
/// it sends anything.
std::string reason(bool has_received, int error) {
    std::string why = error == 0 ? "the server closed it" : std::strerror(error);
    if (error == EAGAIN || error == EWOULDBLOCK)
        why = fmt::format("the server has sent nothing for {} s", io_timeout.tv_sec);
    if (!has_received) why += " (does the server expect TLS?)";
    return why;
}

}  // namespace

// As in the server, connections over a Unix socket never use TLS.
connection::connection(const server_address& to)
    : connection{to, to.tls && to.unix_socket.empty() ? read_tls_files(*to.tls) : nullptr} {}

connection::connection(const server_address& to, const secure::context& by)
    : context_{to.unix_socket.empty() ? ::redisConnectWithTimeout(to.host.c_str(), to.port, io_timeout)
                                      : ::redisConnectUnixWithTimeout(to.unix_socket.c_str(), io_timeout),
               ::redisFree} {
    if (context_ == nullptr || context_->err != 0)
        throw std::runtime_error{
            fmt::format("the server cannot be reached: {}", context_ ? context_->errstr : "no memory")};
    ::redisSetTimeout(context_.get(), io_timeout);
    if (by != nullptr) session_.emplace(do_tls_handshake(context_->fd, to.host, by));
    if (!to.user.empty()) static_cast<void>(request({"AUTH", to.user, to.password}));
    else if (!to.password.empty()) static_cast<void>(request({"AUTH", to.password}));
}

void connection::send(std::string_view bytes) {
    while (!bytes.empty()) {
        std::size_t sent = 0;
        if (session_) {
            const sigpipe_guard guard;
            errno = 0;
            const secure::session::result written = session_->write(bytes);
            if (written.now != secure::session::status::done) fail_disconnected(last_tls_error());
            sent = written.bytes;
        } else {
            const ssize_t some = ::send(context_->fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (some < 0 && errno == EINTR) continue;
            if (some < 0) fail_disconnected(reason(received_plaintext_, errno));
            sent = static_cast<std::size_t>(some);
        }
        bytes.remove_prefix(sent);
    }
}

std::size_t connection::receive(char* buffer, std::size_t size) {
    if (session_) {
        const sigpipe_guard guard;
        errno = 0;
        const secure::session::result read = session_->read({buffer, size});
        if (read.now != secure::session::status::done) fail_disconnected(last_tls_error());
        return read.bytes;
    }
    for (;;) {
        const ssize_t got = ::recv(context_->fd, buffer, size, 0);
        if (got > 0) {
            received_plaintext_ = true;
            return static_cast<std::size_t>(got);
        }
        if (got == 0) fail_disconnected(reason(received_plaintext_, 0));
        if (errno != EINTR) fail_disconnected(reason(received_plaintext_, errno));
    }
}

std::string connection::request(std::initializer_list<std::string_view> words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string_view w : words) {
        texts.push_back(w.data());
        sizes.push_back(w.size());
    }
    char* request = nullptr;
    const auto length = ::redisFormatCommandArgv(&request, static_cast<int>(texts.size()), texts.data(), sizes.data());
    if (length < 0) throw std::bad_alloc{};
    const std::unique_ptr<char, void (*)(char*)> owned{request, ::redisFreeCommand};
    send({request, static_cast<std::size_t>(length)});
    void* read = nullptr;
    while (::redisReaderGetReply(context_->reader, &read) == REDIS_OK && read == nullptr) {
        std::array<char, 16'384> buffer;
        const std::size_t got = receive(buffer.data(), buffer.size());
        if (::redisReaderFeed(context_->reader, buffer.data(), got) != REDIS_OK) break;
    }
    const std::unique_ptr<redisReply, void (*)(void*)> reply{static_cast<redisReply*>(read), ::freeReplyObject};
    if (reply == nullptr)
        throw std::runtime_error{fmt::format("the server did not reply in RESP: {}", context_->reader->errstr)};
    std::string text{reply->str, static_cast<std::size_t>(reply->len)};
    if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error{"the server refused the request: " + text};
    return text;
}

}  // namespace tutti::tools
