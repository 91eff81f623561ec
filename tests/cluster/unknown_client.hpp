// A peer that is not a node of the cluster. It calls a node or is called by one, with any certificate or without one,
// with or without TLS. Its calls block until the node closes the connection, or for some seconds.
#pragma once

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>

namespace tutti::strangers {

class unknown_client {
public:
    /// Connects to the port as soon as a process listens there.
    static unknown_client connect_to(int port) {
        for (;;) {
            const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            const sockaddr_in to = loopback(port);
            if (::connect(s, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return unknown_client{s};
            ::close(s);
            std::this_thread::yield();
        }
    }
    unknown_client(unknown_client&& other) noexcept
        : socket_{std::exchange(other.socket_, -1)}, ssl_{std::move(other.ssl_)} {}
    ~unknown_client() {
        ssl_.reset();
        if (socket_ >= 0) ::close(socket_);
    }

    /// Performs the TLS handshake with the certificate and key of these files, or without them. The client offers no
    /// version of TLS after `newest`; 0: any version. Returns false if the other side refused the handshake.
    bool encrypt(const std::string& files, bool calls = true, int newest = 0) {
        const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> c{::SSL_CTX_new(::TLS_method()), ::SSL_CTX_free};
        SSL_CTX_set_max_proto_version(c.get(), newest);
        if (!files.empty()) {
            ::SSL_CTX_use_certificate_chain_file(c.get(), (files + ".pem").c_str());
            ::SSL_CTX_use_PrivateKey_file(c.get(), (files + ".key").c_str(), SSL_FILETYPE_PEM);
        }
        ssl_.reset(::SSL_new(c.get()));
        ::SSL_set_fd(ssl_.get(), socket_);
        return (calls ? ::SSL_connect(ssl_.get()) : ::SSL_accept(ssl_.get())) == 1;
    }
    void send(const std::string& bytes) {
        if (ssl_ != nullptr) static_cast<void>(::SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())));
        else static_cast<void>(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
    }
    /// Reads until the other side closes the connection, or until `enough` bytes have arrived.
    std::string receive(std::size_t enough = ~std::size_t{0}) {
        std::string all;
        char some[512];
        while (all.size() < enough) {
            const ssize_t n =
                ssl_ != nullptr ? ::SSL_read(ssl_.get(), some, sizeof some) : ::recv(socket_, some, sizeof some, 0);
            if (n <= 0) break;
            all.append(some, static_cast<std::size_t>(n));
        }
        return all;
    }
    /// Returns the cipher that both sides have agreed on. REQUIRES: encrypt() was true.
    [[nodiscard]] std::string cipher() const { return SSL_get_cipher_name(ssl_.get()); }
    /// Returns the names in the certificate of the other side. REQUIRES: encrypt() was true.
    [[nodiscard]] std::string names_of_other() const {
        std::string all;
        X509* const shown = ::SSL_get1_peer_certificate(ssl_.get());
        auto* const names =
            static_cast<GENERAL_NAMES*>(::X509_get_ext_d2i(shown, NID_subject_alt_name, nullptr, nullptr));
        for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
            const ASN1_STRING* const name = sk_GENERAL_NAME_value(names, i)->d.dNSName;
            all +=
                (all.empty() ? "" : ", ") + std::string{reinterpret_cast<const char*>(::ASN1_STRING_get0_data(name))};
        }
        ::GENERAL_NAMES_free(names);
        ::X509_free(shown);
        return all;
    }

private:
    friend class strange_listener;
    explicit unknown_client(int socket) : socket_{socket} {
        const timeval limit{.tv_sec = 20, .tv_usec = 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    }
    static sockaddr_in loopback(int port) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_port = htons(static_cast<std::uint16_t>(port));
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return at;
    }

    struct free_ssl {
        void operator()(SSL* s) const noexcept { ::SSL_free(s); }
    };
    int socket_;
    std::unique_ptr<SSL, free_ssl> ssl_;
};

/// Listens at the address of a node until the destructor runs.
class strange_listener {
public:
    explicit strange_listener(int port) {
        const sockaddr_in at = unknown_client::loopback(port);
        const int on = 1;
        ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (::bind(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || ::listen(socket_, 8) != 0)
            std::abort();
    }
    ~strange_listener() { ::close(socket_); }
    strange_listener(const strange_listener&) = delete;
    strange_listener& operator=(const strange_listener&) = delete;
    unknown_client accept() { return unknown_client{::accept(socket_, nullptr, nullptr)}; }

private:
    const int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

}  // namespace tutti::strangers
