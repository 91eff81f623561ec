#include "server/net/tls.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <stdexcept>
#include <utility>

#include "secure/openssl.hpp"

namespace tutti::server {
namespace {

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error{"TLS: " + what + ": " + secure::why_openssl_failed()};
}

secure::protocol_choice protocol_of(const tls_files& how) {
    return {.minimum_version = how.minimum_version, .ciphers = how.ciphers, .ciphersuites = how.ciphersuites};
}

void choose(SSL_CTX* context, const tls_files& how) {
    const std::string unknown = secure::choose_protocol(context, protocol_of(how));
    if (!unknown.empty()) fail(unknown);
}

class tls_stream final : public stream {
public:
    tls_stream(handle socket, SSL_CTX* context) : stream{std::move(socket)}, ssl_{::SSL_new(context), ::SSL_free} {
        if (ssl_ == nullptr || ::SSL_set_fd(ssl_.get(), stream::socket()) != 1) throw std::bad_alloc{};
        ::SSL_set_accept_state(ssl_.get());
    }

    // The buffer has room for a whole record, and OpenSSL without read-ahead reads one record at a time. So one read
    // returns everything that OpenSSL has read from the socket. All remaining data is in the socket, where epoll
    // reports it.
    result read(std::span<char> into) noexcept override {
        ::ERR_clear_error();
        std::size_t bytes = 0;
        const int done = ::SSL_read_ex(ssl_.get(), into.data(), into.size(), &bytes);
        wants_to_write_ = done != 1 && ::SSL_get_error(ssl_.get(), done) == SSL_ERROR_WANT_WRITE;
        return result_of(done, bytes);
    }
    result write(std::string_view text) noexcept override {
        ::ERR_clear_error();
        std::size_t bytes = 0;
        const int done = ::SSL_write_ex(ssl_.get(), text.data(), text.size(), &bytes);
        return result_of(done, bytes);
    }
    void finish() noexcept override {
        ::ERR_clear_error();
        if (is_established()) ::SSL_shutdown(ssl_.get());
        stream::finish();
    }
    [[nodiscard]] bool is_established() const noexcept override { return ::SSL_is_init_finished(ssl_.get()) == 1; }
    [[nodiscard]] bool wants_to_write() const noexcept override { return wants_to_write_; }

private:
    result result_of(int done, std::size_t bytes) noexcept {
        if (done == 1) return {state::good, bytes};
        switch (::SSL_get_error(ssl_.get(), done)) {
            case SSL_ERROR_WANT_WRITE:
            case SSL_ERROR_WANT_READ: return {state::would_block};
            case SSL_ERROR_ZERO_RETURN: return {state::ended};
            default: return {state::broken};
        }
    }

    std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
    bool wants_to_write_ = false;
};

}  // namespace

void require_known_ciphers(const tls_files& how) {
    const std::string objection = secure::objection_to(protocol_of(how));
    if (!objection.empty()) throw std::runtime_error{objection};
}

tls::context tls::read(const tls_files& files) {
    ::ERR_clear_error();
    context made{::SSL_CTX_new(::TLS_server_method()), ::SSL_CTX_free};
    SSL_CTX* const c = made.get();
    if (c == nullptr) fail("no context");
    secure::ask_for_no_passphrase(c);
    choose(c, files);
    ::SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    // A missing TLS shutdown is no error. Many clients close without it, and the server does not run a truncated
    // request anyway.
    ::SSL_CTX_set_options(c, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION);
    if (::SSL_CTX_use_certificate_chain_file(c, files.certificate.c_str()) != 1)
        fail(secure::certificate_in(files.certificate));
    if (::SSL_CTX_use_PrivateKey_file(c, files.key.c_str(), SSL_FILETYPE_PEM) != 1) fail(secure::key_in(files.key));
    if (files.client_authority.empty()) return made;
    if (::SSL_CTX_load_verify_file(c, files.client_authority.c_str()) != 1)
        fail("client authority " + files.client_authority + " (PEM)");
    ::SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    return made;
}

tls::tls(tls_files files) : files_{std::move(files)}, context_{read(files_)} {}

void tls::renew() {
    context fresh = read(files_);
    const std::scoped_lock lock{mutex_};
    context_.swap(fresh);
}

std::unique_ptr<stream> tls::make_stream(handle socket) const {
    const context now = [this] {
        const std::scoped_lock lock{mutex_};
        return context_;
    }();
    return std::make_unique<tls_stream>(std::move(socket), now.get());
}

}  // namespace tutti::server
