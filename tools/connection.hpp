// A connection of the commands that ask a running server, in the clear or under TLS.
//
// hiredis connects, and knows the protocol. Debian's has no TLS, so the bytes go through OpenSSL here.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "command_line.hpp"
#include "secure_client.hpp"

struct redisContext;

namespace tutti::tools {

class connection {
public:
    /// Reads the files of TLS, connects, shakes hands if TLS is asked for, and authenticates if there is a password.
    /// @throws std::runtime_error  also when the server's certificate is not one to trust for its host
    explicit connection(const server_address& to);

    /// The text of the answer. @throws std::runtime_error  when the server refuses, goes away, or says nothing for long
    std::string ask(std::initializer_list<std::string_view> words);

private:
    connection(const server_address& to, const tls_context& by);
    void send(std::string_view bytes);
    /// What has come, up to the size of the buffer; waits for some.
    std::size_t receive(char* buffer, std::size_t size);

    std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
    std::unique_ptr<ssl_st, void (*)(ssl_st*)> secure_;
    bool heard_ = false;  ///< something has come in the clear
};

}  // namespace tutti::tools
