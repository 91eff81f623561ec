// TLS: its files, and the results that a TLS stream reports to the I/O thread.

#include "server/net/tls.hpp"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>

#include "secure/session.hpp"
#include "server/checked_settings.hpp"

namespace tutti::server {
namespace {

template <class T, void (*Free)(T*)>
struct freed_by {
    void operator()(T* p) const noexcept { Free(p); }
};
template <class T, void (*Free)(T*)>
using owned = std::unique_ptr<T, freed_by<T, Free>>;

/// A key and a certificate signed with it, in files.
class identity {
public:
    explicit identity(const std::string& name, const std::string& passphrase = {}, bool uses_rsa = false)
        : base{testing::TempDir() + "tutti-tls-" + name + std::to_string(::getpid())} {
        const owned<EVP_PKEY, EVP_PKEY_free> key{uses_rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256")};
        const owned<X509, X509_free> certificate{X509_new()};
        X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
        X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
        X509_set_pubkey(certificate.get(), key.get());
        X509_sign(certificate.get(), key.get(), EVP_sha256());
        std::FILE* const to_key = std::fopen(files.key.c_str(), "w");
        PEM_write_PrivateKey(to_key, key.get(), passphrase.empty() ? nullptr : EVP_aes_128_cbc(),
                             reinterpret_cast<const unsigned char*>(passphrase.data()),
                             static_cast<int>(passphrase.size()), nullptr, nullptr);
        std::fclose(to_key);
        std::FILE* const to_certificate = std::fopen(files.certificate.c_str(), "w");
        PEM_write_X509(to_certificate, certificate.get());
        std::fclose(to_certificate);
    }
    ~identity() {
        ::unlink(files.key.c_str());
        ::unlink(files.certificate.c_str());
    }
    identity(const identity&) = delete;
    identity& operator=(const identity&) = delete;

    const std::string base;
    const tls_files files{.certificate = base + ".pem", .key = base + ".key", .client_authority = {}};
};

/// Returns the reason why TLS does not accept these files.
std::string said_of(const tls_files& files) {
    try {
        const tls speaks{files};
        return {};
    } catch (const std::runtime_error& e) {
        return e.what();
    }
}

// Catches an error without its reason, or with OpenSSL's last one: "system lib" for every unreadable file, and "PEM
// lib" for every file with other content. Catches a key that makes OpenSSL ask for a passphrase on the terminal, and a
// key of another certificate.
TEST(tls_files, errors_name_the_file_and_the_reason) {
    const identity mine{"mine"}, another{"another"}, locked{"locked", "a passphrase"};
    EXPECT_EQ(said_of(mine.files), "");
    const std::string nothing = mine.base + "-nothing", folder = testing::TempDir();
    const auto with = [&](std::string tls_files::* which, const std::string& file) {
        tls_files files = mine.files;
        files.*which = file;
        return said_of(files);
    };
    const std::string of_keys = " (one without a passphrase, that of the certificate)";
    EXPECT_EQ(with(&tls_files::certificate, nothing),
              "TLS: certificate " + nothing + " (PEM): No such file or directory");
    EXPECT_NE(with(&tls_files::certificate, folder).find(folder + " (PEM): "), std::string::npos);
    EXPECT_EQ(with(&tls_files::key, nothing), "TLS: key " + nothing + of_keys + ": No such file or directory");
    EXPECT_EQ(with(&tls_files::client_authority, nothing),
              "TLS: client authority " + nothing + " (PEM): No such file or directory");
    const std::string asked = with(&tls_files::key, locked.files.key);
    EXPECT_NE(asked.find(locked.files.key + of_keys + ": "), std::string::npos);
    EXPECT_EQ(asked.find("UI routines"), std::string::npos) << asked;
    const std::string mismatch = with(&tls_files::key, another.files.key);
    EXPECT_NE(mismatch.find(another.files.key + of_keys + ": "), std::string::npos);
    EXPECT_NE(mismatch.find("key values mismatch"), std::string::npos);
    const identity of_another_kind{"another-kind", {}, true};
    EXPECT_NE(with(&tls_files::key, of_another_kind.files.key).find(of_keys + ": "), std::string::npos);
    EXPECT_NE(with(&tls_files::certificate, mine.files.key).find("no start line"), std::string::npos);
}

TEST(tls_files, errors_name_unknown_versions_and_ciphers) {
    const identity mine{"mine"};
    tls_files files = mine.files;
    files.ciphers = "swordfish";
    EXPECT_TRUE(said_of(files).starts_with("TLS: ciphers of TLS 1.2 'swordfish': ")) << said_of(files);
    files.ciphers.clear();
    files.ciphersuites = "TLS_SWORDFISH";
    EXPECT_TRUE(said_of(files).starts_with("TLS: ciphers of TLS 1.3 'TLS_SWORDFISH': ")) << said_of(files);
    EXPECT_THROW(require_known_ciphers(files), std::runtime_error);
    EXPECT_NO_THROW(require_known_ciphers(mine.files));
}

/// Returns the protocol that a server with these files and a client of TLS version `version` agree on, or `no`.
std::string agreed(const tls_files& files, int version) {
    const tls speaks{files};
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) return "no sockets";
    const std::unique_ptr<stream> served = speaks.make_stream(handle{ends[0]});
    const handle client{ends[1]};
    const owned<SSL_CTX, SSL_CTX_free> context{SSL_CTX_new(TLS_client_method())};
    SSL_CTX_set_min_proto_version(context.get(), version);
    SSL_CTX_set_max_proto_version(context.get(), version);
    const owned<SSL, SSL_free> theirs{SSL_new(context.get())};
    SSL_set_fd(theirs.get(), client.get());
    SSL_set_connect_state(theirs.get());
    std::array<char, 100> some{};
    while (!served->is_established() || SSL_is_init_finished(theirs.get()) != 1) {
        const int done = SSL_do_handshake(theirs.get());
        if (done != 1 && SSL_get_error(theirs.get(), done) != SSL_ERROR_WANT_READ) return "no";
        if (served->read(some).how == stream::state::broken) return "no";
    }
    return SSL_get_cipher_name(theirs.get());
}

TEST(tls_files, keep_a_newer_minimum_version_of_openssl) {
    const owned<SSL_CTX, SSL_CTX_free> context{SSL_CTX_new(TLS_method())};
    SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
    EXPECT_NO_THROW(secure::choose_protocol(context.get(), {.minimum_version = "1.2"}));
    EXPECT_EQ(SSL_CTX_get_min_proto_version(context.get()), TLS1_3_VERSION);
}

TEST(tls_stream, uses_the_configured_versions_and_ciphers) {
    const identity mine{"mine"};
    tls_files files = mine.files;
    EXPECT_NE(agreed(files, TLS1_2_VERSION), "no");
    files.ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256";
    files.ciphersuites = "TLS_CHACHA20_POLY1305_SHA256";
    EXPECT_EQ(agreed(files, TLS1_2_VERSION), "ECDHE-ECDSA-AES128-GCM-SHA256");
    EXPECT_EQ(agreed(files, TLS1_3_VERSION), "TLS_CHACHA20_POLY1305_SHA256");
    files.minimum_version = "1.3";
    EXPECT_EQ(agreed(files, TLS1_2_VERSION), "no");
    EXPECT_EQ(agreed(files, TLS1_3_VERSION), "TLS_CHACHA20_POLY1305_SHA256");
    EXPECT_THROW(static_cast<void>(checked({.tls = {.minimum_version = "1.1"}})), std::invalid_argument);
}

// Catches a session that attributes an earlier operation's error to the present operation. A blocked read would then
// look like a broken connection.
TEST(tls_session, ignores_errors_of_earlier_operations) {
    const identity mine{"mine"};
    const secure::context context = secure::make_context(secure::role::client, {.authority = mine.files.certificate});
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    const handle served{ends[0]}, client{ends[1]};
    secure::session calls{context, secure::end::connecting, client.get()};
    std::array<char, 100> some{};
    for (const auto& operation :
         {std::function{[&] { return calls.shake_hands(); }}, std::function{[&] { return calls.read(some); }},
          std::function{[&] { return calls.write("PING"); }}}) {
        ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR);
        EXPECT_EQ(operation().now, secure::session::status::needs_input);
    }
}

// Catches a stream that reports a waiting write as a waiting read. Its I/O thread would read from a paused client each
// time that client reads a little.
TEST(tls_stream, distinguishes_blocked_writes_from_blocked_reads) {
    const identity mine{"mine"};
    const tls speaks{mine.files};
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    const std::unique_ptr<stream> served = speaks.make_stream(handle{ends[0]});
    const handle client{ends[1]};
    const owned<SSL_CTX, SSL_CTX_free> context{SSL_CTX_new(TLS_client_method())};
    const owned<SSL, SSL_free> theirs{SSL_new(context.get())};
    SSL_set_fd(theirs.get(), client.get());
    SSL_set_connect_state(theirs.get());
    std::array<char, 100> some{};
    while (!served->is_established() || SSL_is_init_finished(theirs.get()) != 1) {
        std::ignore = SSL_do_handshake(theirs.get());
        ASSERT_EQ(served->read(some).how, stream::state::would_block);
    }
    EXPECT_FALSE(served->wants_to_write());
    const std::string answer(10'000, 'x');
    stream::result last{};
    do last = served->write(answer);
    while (last.how == stream::state::good);
    EXPECT_EQ(last.how, stream::state::would_block);
    EXPECT_FALSE(served->wants_to_write());
}

}  // namespace
}  // namespace tutti::server
