// TLS on the server's side, by OpenSSL.
#pragma once

#include <memory>
#include <mutex>

#include "server/net/stream.hpp"
#include "tutti/server/service.hpp"

struct ssl_ctx_st;

namespace tutti::server {

/// Refuses ciphers that OpenSSL does not know. @throws std::runtime_error  that names them
void require_known_ciphers(const tls_files& how);

/// Certificate and key, read at the start and whenever they have been renewed. Thread safety: any thread.
class tls {
public:
    /// @throws std::runtime_error  that names the file and what is wrong with it
    explicit tls(tls_files files);

    /// Reads the files again, for streams from now on; those that there are keep what they began with.
    /// @throws std::runtime_error  as the constructor; then what was read before stays
    void renew();

    /// A stream whose handshake happens as it is read from.
    [[nodiscard]] std::unique_ptr<stream> greet(handle socket) const;

private:
    using context = std::shared_ptr<ssl_ctx_st>;
    [[nodiscard]] static context read(const tls_files& files);

    const tls_files files_;
    mutable std::mutex mutex_;  // of the pointer; a stream has a share of what it points to
    context context_;
};

}  // namespace tutti::server
