// The sockets of a web server: a listener, and clients with their addresses.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace tutti::exposition {

/// Owns a file descriptor, and closes it on destruction.
class owned_descriptor {
public:
    owned_descriptor() noexcept = default;
    explicit owned_descriptor(int descriptor) noexcept : descriptor_{descriptor} {}
    owned_descriptor(owned_descriptor&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
    owned_descriptor& operator=(owned_descriptor&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~owned_descriptor();

    [[nodiscard]] int get() const noexcept { return descriptor_; }

private:
    int descriptor_ = -1;
};

/// Listens on TCP; accept never blocks. @throws std::runtime_error that names the address
[[nodiscard]] owned_descriptor listen_for_web(const std::string& host, std::uint16_t port);

/// Returns the port to which a socket is bound.
[[nodiscard]] std::uint16_t port_of(const owned_descriptor& listener) noexcept;

/// A client's socket, which never blocks, and its address.
struct web_peer {
    owned_descriptor socket;
    /// The bytes of the client's address. For IPv6, only the first 64 bits, because one machine may own all addresses
    /// that begin with these bits.
    std::string origin;
};

/// Accepts a client. If no client waits or accept fails, the socket is -1, and errno has the reason. @throws
/// std::bad_alloc
[[nodiscard]] web_peer accept_web(const owned_descriptor& listener);

}  // namespace tutti::exposition
