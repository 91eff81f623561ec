// TLS on the server's side, with OpenSSL.
#pragma once

#include <memory>
#include <mutex>

#include "server/net/stream.hpp"
#include "tutti/server/settings.hpp"

struct ssl_ctx_st;

namespace tutti::server {

/// Throws if OpenSSL does not know one of the ciphers. @throws std::runtime_error  which names them
void require_known_ciphers(const tls_files& how);

/// A certificate and its key. The constructor reads the files, and renew() reads them again. Thread safety: any thread.
class tls {
public:
    /// @throws std::runtime_error  which names the file and the problem
    explicit tls(tls_files files);

    /// Reads the files again, for streams that are made from now on. Existing streams keep their certificate.
    /// @throws std::runtime_error  as the constructor; the previous certificate then stays in use
    void renew();

    /// Returns a stream whose first reads perform the handshake.
    [[nodiscard]] std::unique_ptr<stream> make_stream(handle socket) const;

private:
    using context = std::shared_ptr<ssl_ctx_st>;
    [[nodiscard]] static context read(const tls_files& files);

    const tls_files files_;
    mutable std::mutex mutex_;  // guards the pointer; each stream shares ownership of the context
    context context_;
};

}  // namespace tutti::server
