// TLS on the server's side, by OpenSSL.
#pragma once

#include <memory>

#include "server/net/stream.hpp"
#include "tutti/server/service.hpp"

struct ssl_ctx_st;

namespace tutti::server {

/// Certificate and key, read once. Thread safety: `greet` from any thread.
class tls {
public:
    /// @throws std::runtime_error  that names the file and what is wrong with it
    explicit tls(const tls_files& files);

    /// A stream whose handshake happens as it is read from.
    [[nodiscard]] std::unique_ptr<stream> greet(handle socket) const;

private:
    std::unique_ptr<ssl_ctx_st, void (*)(ssl_ctx_st*)> context_;
};

}  // namespace tutti::server
