// Handles of libzmq that close themselves in their destructors, with the functions that Tutti needs.
//
// Thread safety: as in libzmq: one thread at a time.
#pragma once

#include <zmq.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace tutti::wire {

class zmq_context {
public:
    /// Throws wire_error.
    zmq_context();
    /// Waits until the kernel has accepted all sent bytes, or until the linger time of their socket is over.
    ~zmq_context();
    zmq_context(const zmq_context&) = delete;
    zmq_context& operator=(const zmq_context&) = delete;
    [[nodiscard]] void* get() const noexcept { return context_; }

private:
    void* const context_;
};

/// A received message.
/// REQUIRES for all members except the destructor: zmq_socket::receive returned true.
class zmq_message {
public:
    zmq_message() noexcept { ::zmq_msg_init(&message_); }
    ~zmq_message() { ::zmq_msg_close(&message_); }
    zmq_message(const zmq_message&) = delete;
    zmq_message& operator=(const zmq_message&) = delete;

    [[nodiscard]] std::string_view bytes() const noexcept {
        return {static_cast<const char*>(::zmq_msg_data(&message_)), ::zmq_msg_size(&message_)};
    }
    [[nodiscard]] bool more() const noexcept { return ::zmq_msg_more(&message_) != 0; }
    /// Returns the descriptor of the connection over which the message arrived.
    [[nodiscard]] int descriptor() const noexcept { return ::zmq_msg_get(&message_, ZMQ_SRCFD); }
    /// Returns a property of the message, or an empty text if it is unknown.
    [[nodiscard]] std::string_view property(const char* name) const noexcept {
        const char* const text = ::zmq_msg_gets(&message_, name);
        return text == nullptr ? std::string_view{} : std::string_view{text};
    }

private:
    friend class zmq_socket;
    mutable zmq_msg_t message_{};
};

class zmq_socket {
public:
    zmq_socket() noexcept = default;
    /// Throws wire_error.
    zmq_socket(const zmq_context& of, int type);

    [[nodiscard]] explicit operator bool() const noexcept { return socket_ != nullptr; }
    [[nodiscard]] void* get() const noexcept { return socket_.get(); }
    void close() noexcept { socket_.reset(); }
    template <class T>
        requires std::is_integral_v<T>
    void set(int option, T value) noexcept {
        ::zmq_setsockopt(socket_.get(), option, &value, sizeof value);
    }
    void set(int option, std::string_view bytes) noexcept;
    /// `bind` and `connect` return false on failure, and set errno.
    [[nodiscard]] bool bind(const std::string& endpoint) noexcept;
    [[nodiscard]] bool connect(const std::string& endpoint) noexcept;

    /// Receives a message. Returns false if no message is available now.
    [[nodiscard]] bool receive(zmq_message& into) noexcept;
    /// Sends a message. On failure, returns false and sets errno. EAGAIN means that the queue is full.
    [[nodiscard]] bool send(std::string_view bytes, bool more = false) noexcept;
    /// Returns a descriptor that becomes readable when libzmq may have a message or room again. The descriptor is
    /// edge-triggered: before waiting for it, receive until there is no message, or call has_room().
    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
    [[nodiscard]] bool has_room() noexcept;

private:
    struct closed {
        void operator()(void* s) const noexcept { ::zmq_close(s); }
    };
    std::unique_ptr<void, closed> socket_;
    int descriptor_ = -1;
};

/// Reports the events of a socket's connections.
class zmq_monitor {
public:
    struct event {
        unsigned what;
        int value;  ///< a descriptor, errno, or a code
    };

    zmq_monitor() noexcept = default;
    /// Throws wire_error.
    /// REQUIRES: stop() is called before the socket is closed.
    zmq_monitor(const zmq_context& context, zmq_socket& of, int events);
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(socket_); }
    [[nodiscard]] std::optional<event> next() noexcept;
    [[nodiscard]] int descriptor() const noexcept { return socket_.descriptor(); }
    void stop(zmq_socket& of) noexcept;

private:
    zmq_socket socket_;
};

}  // namespace tutti::wire
