// TLS by OpenSSL: bytes in, bytes out, no socket. Both sides show a certificate that the same authority has signed, and
// that is made for the name of the one who shows it: of a node, or of a role in a group.
//
// A session talks to memory, so that the socket's half (partial writes, batching, one writer at a time) is the same as
// in the clear, OpenSSL never waits for either direction, and Asio's loop, libuv's and threads that block use it alike.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "wire/message.hpp"

struct ssl_st;
struct ssl_ctx_st;
struct x509_store_ctx_st;

namespace tutti::wire {

/// PEM files. All three, or none: connections are in the clear.
struct tls_files {
    std::string certificate;  ///< of this side, and of those between it and the authority
    std::string key;          ///< of the certificate, without a passphrase
    std::string authority;    ///< of all sides
    [[nodiscard]] bool wanted() const noexcept { return !certificate.empty() || !key.empty() || !authority.empty(); }
};

/// What the certificate of a node is made for, as a DNS name among its subject alternative names: node-<number>.<name
/// of the cluster>. Not its address: nodes of one machine must not pass for each other, and a node may move.
[[nodiscard]] std::string certificate_name(node_number node, std::string_view cluster);

/// One connection. Thread safety: every member; a thread that reads and one that writes.
class tls_session {
public:
    /// Bytes of the other side: appends what they say to `plain`. False: they end the connection, for trouble(), and
    /// what is to be sent may say why to the other side.
    [[nodiscard]] bool open(std::string_view came, std::string& plain);
    /// Puts `plain` into the record that stands for it (records, beyond 16 KiB), behind what else is to be sent. False:
    /// the connection is at its end, and nothing is to be sent. REQUIRES: established().
    [[nodiscard]] bool seal(std::string& plain);
    /// What is to be sent without being asked: handshakes, alerts.
    [[nodiscard]] std::string owed();
    [[nodiscard]] bool established() const;

    /// Whether the certificate of the other side is made for that name. REQUIRES: established().
    [[nodiscard]] bool is(const std::string& name) const;
    /// The names that it is made for. As text, for messages: of a bounded length, and printable.
    [[nodiscard]] std::string names() const;
    /// Why the connection is at its end; empty: the other side has ended it without a word.
    [[nodiscard]] std::string trouble() const;

private:
    friend class tls;
    tls_session(ssl_ctx_st* context, bool calls, const std::string& expected);
    static int note_refused(int good, x509_store_ctx_st* check);
    bool step(std::string& plain);
    void fail(int status);
    void take(std::string& to);

    mutable std::mutex guard_;
    std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_;
    bool over_ = false;
    bool spoke_ = false;  // something has come
    std::string expected_;
    std::string shown_;  // the names of a certificate that is refused
    std::string trouble_;
};

/// What connections of a process share: files, read once. Thread safety: every member.
class tls {
public:
    /// Throws refusal, also where this side's own certificate would be refused by every other one: it has expired, the
    /// authority has not signed it, or it is made for none of `own_names`. Without names, any will do.
    tls(const tls_files& files, const std::vector<std::string>& own_names);

    /// The calling side. The other must be `expected`, or the handshake fails.
    [[nodiscard]] std::unique_ptr<tls_session> call(const std::string& expected) const;
    /// The called side. The caller has a certificate of the authority; is() says whose.
    [[nodiscard]] std::unique_ptr<tls_session> answer() const;

private:
    std::unique_ptr<ssl_ctx_st, void (*)(ssl_ctx_st*)> context_;
};

/// What who speaks TLS answers to who does not, so that it learns why: an alert in the clear.
[[nodiscard]] std::string_view alert_in_the_clear() noexcept;
/// Whether bytes begin as TLS does: a handshake, or an alert.
[[nodiscard]] bool looks_like_handshake(std::string_view bytes) noexcept;
[[nodiscard]] bool looks_like_alert(std::string_view bytes) noexcept;

}  // namespace tutti::wire
