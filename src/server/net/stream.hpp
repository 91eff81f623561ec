// A non-blocking socket, with or without TLS.
//
// Thread safety: not thread-safe. An I/O thread owns the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace tutti::server {

/// Owns a file descriptor, and closes it in its destructor.
class handle {
public:
    handle() noexcept = default;
    explicit handle(int descriptor) noexcept : descriptor_{descriptor} {}
    handle(handle&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
    handle& operator=(handle&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~handle();

    [[nodiscard]] int get() const noexcept { return descriptor_; }
    [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
    void close() noexcept { *this = handle{}; }

private:
    int descriptor_ = -1;
};

class stream {
public:
    enum class state : std::uint8_t {
        good,         ///< `bytes` bytes were transferred, at least one
        would_block,  ///< the operation would block
        ended,        ///< the other side will send no more
        broken
    };
    struct result {
        state how;
        std::size_t bytes = 0;
    };

    explicit stream(handle socket) noexcept : socket_{std::move(socket)} {}
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    virtual ~stream() = default;

    [[nodiscard]] virtual result read(std::span<char> into) noexcept;
    [[nodiscard]] virtual result write(std::string_view bytes) noexcept;
    /// Informs the other side that nothing more will be written.
    virtual void finish() noexcept;
    /// Returns true if the other side may send requests. With TLS, this is the case after the handshake.
    [[nodiscard]] virtual bool is_established() const noexcept { return true; }
    /// Returns true if a read cannot continue until the socket is writable.
    [[nodiscard]] virtual bool wants_to_write() const noexcept { return false; }

    /// Returns true if the other side's system has received all written data, and this side has read all received data.
    /// Closing the socket then loses no data.
    [[nodiscard]] virtual bool is_all_received() const noexcept;

    [[nodiscard]] int socket() const noexcept { return socket_.get(); }

private:
    handle socket_;
};

}  // namespace tutti::server
