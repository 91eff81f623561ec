// A socket that never blocks, in the clear or under TLS.
//
// Thread safety: none; an I/O thread owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace tutti::server {

/// Closes a descriptor at its end.
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
    [[nodiscard]] bool open() const noexcept { return descriptor_ >= 0; }
    void close() noexcept { *this = handle{}; }

private:
    int descriptor_ = -1;
};

class stream {
public:
    enum class state : std::uint8_t {
        good,   ///< `bytes` were moved, at least one
        later,  ///< not now
        ended,  ///< the other side will send no more
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
    /// Says that no more will be written.
    virtual void finish() noexcept;
    /// Whether the other side has been let in: under TLS, whether the handshake is over.
    [[nodiscard]] virtual bool established() const noexcept { return true; }
    /// Whether a read waits until the socket can be written to.
    [[nodiscard]] virtual bool wants_to_write() const noexcept { return false; }

    /// Whether the other side's system has all that was written, and this side has read all that has come: then closing
    /// the socket loses nothing.
    [[nodiscard]] virtual bool all_taken() const noexcept;

    [[nodiscard]] int socket() const noexcept { return socket_.get(); }

private:
    handle socket_;
};

}  // namespace tutti::server
