#include "secure/session.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <new>

namespace tutti::secure {
namespace {

std::unique_ptr<SSL, void (*)(SSL*)> made_by(const context& by, end side) {
    std::unique_ptr<SSL, void (*)(SSL*)> ssl{::SSL_new(by.get()), ::SSL_free};
    if (ssl == nullptr) throw std::bad_alloc{};
    if (side == end::accepting) ::SSL_set_accept_state(ssl.get());
    else ::SSL_set_connect_state(ssl.get());
    return ssl;
}

}  // namespace

session::session(const context& by, end side, int socket) : ssl_{made_by(by, side)} {
    if (::SSL_set_fd(ssl_.get(), socket) != 1) throw std::bad_alloc{};
}

session::session(const context& by, end side) : ssl_{made_by(by, side)} {
    const auto memory = [] { return std::unique_ptr<BIO, void (*)(BIO*)>{::BIO_new(::BIO_s_mem()), ::BIO_free_all}; };
    auto in = memory(), out = memory();
    if (!in || !out) throw std::bad_alloc{};
    ::SSL_set_bio(ssl_.get(), in.release(), out.release());
}

void session::expect_host(const std::string& host) {
    if (::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl_.get()), host.c_str()) == 1) return;
    // The server may have several certificates, and chooses by the name (RFC 6066, section 3: names, not addresses).
    if (::SSL_set1_host(ssl_.get(), host.c_str()) != 1 || ::SSL_set_tlsext_host_name(ssl_.get(), host.c_str()) != 1)
        throw std::bad_alloc{};
}

// OpenSSL also uses the thread's error queue to report a failure. So the queue must be empty before each operation.
session::result session::shake_hands() noexcept {
    ::ERR_clear_error();
    return result_of(::SSL_do_handshake(ssl_.get()), 0);
}

session::result session::read(std::span<char> into) noexcept {
    ::ERR_clear_error();
    std::size_t bytes = 0;
    const int code = ::SSL_read_ex(ssl_.get(), into.data(), into.size(), &bytes);
    return result_of(code, bytes);
}

session::result session::write(std::string_view bytes) noexcept {
    ::ERR_clear_error();
    std::size_t written = 0;
    const int code = ::SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written);
    return result_of(code, written);
}

void session::shut_down() noexcept {
    ::ERR_clear_error();
    if (is_established()) ::SSL_shutdown(ssl_.get());
}

bool session::is_established() const noexcept { return ::SSL_is_init_finished(ssl_.get()) == 1; }

void session::feed(std::string_view came) {
    std::size_t put = 0;
    if (!came.empty() && ::BIO_write_ex(::SSL_get_rbio(ssl_.get()), came.data(), came.size(), &put) != 1)
        throw std::bad_alloc{};
}

void session::take(std::string& to) {
    BIO* const out = ::SSL_get_wbio(ssl_.get());
    const std::size_t size = ::BIO_ctrl_pending(out), had = to.size();
    if (size == 0) return;
    to.resize(had + size);
    std::size_t got = 0;
    if (::BIO_read_ex(out, to.data() + had, size, &got) != 1) got = 0;
    to.resize(had + got);
}

session::result session::result_of(int code, std::size_t bytes) const noexcept {
    if (code == 1) return {status::done, bytes};
    switch (::SSL_get_error(ssl_.get(), code)) {
        case SSL_ERROR_WANT_READ: return {status::needs_input};
        case SSL_ERROR_WANT_WRITE: return {status::needs_output};
        case SSL_ERROR_ZERO_RETURN: return {status::ended};
        default: return {status::failed};
    }
}

}  // namespace tutti::secure
