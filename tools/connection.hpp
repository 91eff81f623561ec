// A connection to a running server, with or without TLS, for the commands that send requests.
//
// hiredis connects and implements the protocol. Debian's hiredis has no TLS, so this class encrypts the bytes with
// OpenSSL.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "command_line.hpp"
#include "secure_client.hpp"

struct redisContext;

namespace tutti::tools {

class connection {
public:
    /// Reads the TLS files, connects, performs the TLS handshake if TLS is requested, and authenticates if there is a
    /// password.
    /// @throws std::runtime_error  also if the server's certificate is not trusted for its host
    explicit connection(const server_address& to);

    /// Returns the text of the reply. @throws std::runtime_error  if the server refuses, disconnects, or times out
    std::string request(std::initializer_list<std::string_view> words);

private:
    connection(const server_address& to, const secure::context& by);
    void send(std::string_view bytes);
    /// Waits for bytes and returns what has arrived, up to the size of the buffer.
    std::size_t receive(char* buffer, std::size_t size);

    std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
    std::optional<secure::session> session_;  ///< null: without TLS
    bool received_plaintext_ = false;         ///< bytes have arrived on a connection without TLS
};

}  // namespace tutti::tools
