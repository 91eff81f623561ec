// A connection, with or without TLS, from its first byte until the other side has identified itself. Asio's async_read
// and async_write accept this class as a stream. Afterwards, `socket_transport` reads and writes the socket directly.
//
// Not thread-safe: the thread that runs the sockets owns it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "wire/address.hpp"
#include "wire/tls.hpp"

namespace tutti::wire {

class connection : public std::enable_shared_from_this<connection> {
public:
    using executor_type = stream::socket::executor_type;
    using done = std::function<void(asio::error_code)>;

    explicit connection(asio::io_context& io) : socket{io}, deadline{io} {}
    [[nodiscard]] executor_type get_executor() noexcept { return socket.get_executor(); }

    template <class Buffers, class F>
    void async_read_some(const Buffers& into, F&& then) {
        if (!tls) {
            socket.async_read_some(into, std::forward<F>(then));
            return;
        }
        const auto kept = std::make_shared<std::decay_t<F>>(std::forward<F>(then));
        await_plain([this, into, kept](asio::error_code failed) {
            const std::size_t n = failed ? 0 : asio::buffer_copy(into, asio::buffer(plain));
            plain.erase(0, n);
            (*kept)(failed, n);
        });
    }
    /// REQUIRES: the handshake is over.
    template <class Buffers, class F>
    void async_write_some(const Buffers& from, F&& then) {
        if (!tls) {
            socket.async_write_some(from, std::forward<F>(then));
            return;
        }
        std::string bytes(asio::buffer_size(from), '\0');
        asio::buffer_copy(asio::buffer(bytes), from);
        const auto kept = std::make_shared<std::decay_t<F>>(std::forward<F>(then));
        send(bytes, [kept, n = bytes.size()](asio::error_code failed) { (*kept)(failed, failed ? 0 : n); });
    }

    /// Performs the handshake if the connection uses TLS. If the handshake fails, sends the error to the other side.
    /// Never calls `then` before this function returns.
    void shake_hands(done then);
    /// Calls `then` once the kernel has accepted all bytes that are to be sent.
    void flush(done then);

    stream::socket socket;
    asio::steady_timer deadline;
    std::unique_ptr<wire::tls_session> tls;  // null: the connection does not use TLS
    std::string plain;                       // plain text that was received and not read yet
    bool is_late = false;                    // true: the connection was closed at its deadline

private:
    /// Calls `then` once `plain` is not empty.
    void await_plain(done then);
    void send(std::string plain_bytes, done then);
    void receive(done then);
    struct writing;
    void continue_writing();

    std::string input_, output_, next_;
    std::deque<done> waiting_;
    bool busy_ = false;
};

}  // namespace tutti::wire
