// TLS by OpenSSL: encrypts and decrypts bytes, without a socket. Both sides show a certificate that the same authority
// has signed. Each certificate is made for the name of its owner: a node, or a role in a group.
//
// A session uses memory instead of a socket. So partial writes, batching, and the limit to one writer at a time work as
// without TLS. OpenSSL never waits for either direction. Asio's loop, libuv's loop and blocking threads all use
// sessions in the same way.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "secure/session.hpp"
#include "wire/message.hpp"

struct x509_store_ctx_st;

namespace tutti::wire {

/// The names of PEM files (all three, or none for connections without TLS), and the versions and ciphers of the
/// connections.
struct tls_files {
    std::string certificate;  ///< of this side, followed by the intermediate certificates
    std::string key;          ///< the key of the certificate, without a passphrase
    std::string authority;    ///< the authority that has signed the certificates of all sides
    secure::protocol_choice protocol{};
    [[nodiscard]] bool are_set() const noexcept { return !certificate.empty() || !key.empty() || !authority.empty(); }
};

/// Throws wire_error if OpenSSL does not know a version or a cipher in `what`. Reads no files.
void require_known(const secure::protocol_choice& what);

/// Returns the DNS name that a node's certificate must have among its subject alternative names: node-<number>.<name of
/// the cluster>. The node's address is not used as the name, because nodes of one machine must not impersonate each
/// other, and because a node may move.
[[nodiscard]] std::string certificate_name(node_number node, std::string_view cluster);

/// One connection. Thread safety: every member may be called by one reading and one writing thread.
class tls_session {
public:
    /// Decrypts bytes from the other side, and appends the plain text to `plain`. Returns false if these bytes end the
    /// connection; error() then returns the reason. The caller should still send pending_output(), which may contain
    /// the reason for the other side.
    [[nodiscard]] bool decrypt(std::string_view came, std::string& plain);
    /// Replaces `plain` by its TLS record (several beyond 16 KiB), preceded by all bytes that pending_output() would
    /// return. Returns false if the connection has ended. Then the caller must not send anything. REQUIRES:
    /// is_established().
    [[nodiscard]] bool encrypt(std::string& plain);
    /// Returns bytes of the session itself that the caller has to send: handshakes and alerts.
    [[nodiscard]] std::string pending_output();
    [[nodiscard]] bool is_established() const;

    /// Returns true if the other side's certificate is made for the name `name`.
    /// REQUIRES: is_established().
    [[nodiscard]] bool has_name(const std::string& name) const;
    /// Returns the names in the other side's certificate as text for messages: printable, and of limited length.
    [[nodiscard]] std::string names() const;
    /// Returns why the connection has ended, or an empty string if the other side has ended it without an alert.
    [[nodiscard]] std::string error() const;

private:
    friend class tls;
    tls_session(const secure::context& context, secure::end side, const std::string& expected);
    static int record_refused_certificate(int good, x509_store_ctx_st* check);
    bool step(std::string& plain);
    void fail();

    mutable std::mutex guard_;
    secure::session session_;
    std::string_view alert_;  // the alert for a peer that does not use TLS; pending_output() returns and clears it
    bool over_ = false;
    bool has_received_ = false;  // bytes have arrived
    std::string expected_;
    std::string refused_names_;  // the names of a refused certificate
    std::string error_;
};

/// The certificates and settings that the connections of a process share. The files are read once. Thread safety: every
/// member may be called from any thread.
class tls {
public:
    /// Reads the files. Throws wire_error if a file or a setting is missing or unusable, or if other sides would refuse
    /// this side's own certificate. Other sides refuse a certificate that has expired, that the authority has not
    /// signed, or that is not made for any of `own_names`. If `own_names` is empty, any name is accepted.
    tls(const tls_files& files, const std::vector<std::string>& own_names);

    /// Makes the calling side of a connection. The handshake fails if the other side's certificate is not made for the
    /// name `expected`.
    [[nodiscard]] std::unique_ptr<tls_session> call(const std::string& expected) const;
    /// Makes the called side of a connection. The caller must have a certificate of the authority; has_name() checks
    /// its name.
    [[nodiscard]] std::unique_ptr<tls_session> answer() const;

private:
    secure::context context_;
};

/// Returns the answer to a peer that does not use TLS: an unencrypted alert, which shows the reason.
[[nodiscard]] std::string_view alert_in_the_clear() noexcept;
/// Returns true if the bytes look like the start of a TLS handshake. looks_like_alert does the same for an alert.
[[nodiscard]] bool looks_like_handshake(std::string_view bytes) noexcept;
[[nodiscard]] bool looks_like_alert(std::string_view bytes) noexcept;

}  // namespace tutti::wire
