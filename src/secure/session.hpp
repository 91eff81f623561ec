// One connection with TLS, over a socket or over memory.
//
// Thread safety: not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "secure/context.hpp"

struct ssl_st;

namespace tutti::secure {

/// The side of a connection.
enum class end : std::uint8_t { connecting, accepting };

class session {
public:
    enum class status : std::uint8_t {
        done,          ///< the handshake is complete, or `bytes` bytes were transferred, at least one
        needs_input,   ///< continue when the other side has sent more
        needs_output,  ///< continue when the socket can take more; never for a session over memory
        ended,         ///< the other side has ended its direction
        failed         ///< why_openssl_failed() returns the reason; if OpenSSL has no error, errno has the reason
    };
    struct result {
        status now;
        std::size_t bytes = 0;
    };

    /// Makes a session over a connected socket. The caller closes the socket, after the session's end.
    /// @throws std::bad_alloc
    session(const context& by, end side, int socket);
    /// Makes a session over memory. The caller passes received bytes to feed(), and sends the bytes from take() to the
    /// other side.
    /// @throws std::bad_alloc
    session(const context& by, end side);

    /// Requires that the other side's certificate is made for this host name or IP address. REQUIRES: the handshake has
    /// not begun.
    /// @throws std::bad_alloc
    void expect_host(const std::string& host);

    /// Each operation continues the handshake if it is not complete, and reports a blocked or failed handshake.
    [[nodiscard]] result shake_hands() noexcept;
    [[nodiscard]] result read(std::span<char> into) noexcept;
    /// Writes all bytes. A server's session over a socket may write only a part. After needs_output, call write() again
    /// with the same bytes. REQUIRES: !bytes.empty().
    [[nodiscard]] result write(std::string_view bytes) noexcept;
    /// Tells the other side that this side sends no more bytes. Does nothing if the handshake is not complete. Does not
    /// wait for an answer.
    void shut_down() noexcept;

    [[nodiscard]] bool is_established() const noexcept;

    /// Appends received bytes. REQUIRES: a session over memory. @throws std::bad_alloc
    void feed(std::string_view came);
    /// Appends to `to` the bytes that the other side has to get. REQUIRES: a session over memory.
    void take(std::string& to);

    /// Returns OpenSSL's object, for checks of certificates.
    [[nodiscard]] ssl_st* get() const noexcept { return ssl_.get(); }

private:
    [[nodiscard]] result result_of(int code, std::size_t bytes) const noexcept;

    std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_;
};

}  // namespace tutti::secure
