// Handles of libzmq that close themselves, and what we ask of them.
//
// Thread safety: as libzmq's: one thread at a time.
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
    /// Throws refusal.
    zmq_context();
    /// Waits until what was sent is with the kernel, or the linger time of its socket is over.
    ~zmq_context();
    zmq_context(const zmq_context&) = delete;
    zmq_context& operator=(const zmq_context&) = delete;
    [[nodiscard]] void* get() const noexcept { return context_; }

private:
    void* const context_;
};

/// What came. REQUIRES of the rest: `receive` was true.
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
    /// Of the connection that it came over.
    [[nodiscard]] int descriptor() const noexcept { return ::zmq_msg_get(&message_, ZMQ_SRCFD); }
    /// What is known of it; empty: nothing.
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
    /// Throws refusal.
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
    /// False: errno says why.
    [[nodiscard]] bool bind(const std::string& endpoint) noexcept;
    [[nodiscard]] bool connect(const std::string& endpoint) noexcept;

    /// False: there is none now.
    [[nodiscard]] bool receive(zmq_message& into) noexcept;
    /// False: errno says why; EAGAIN where it is full.
    [[nodiscard]] bool send(std::string_view bytes, bool more = false) noexcept;
    /// Is readable when something may have changed since libzmq had none, or no room: an edge, so receive until there
    /// is none, or ask has_room(), before waiting for it.
    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
    [[nodiscard]] bool has_room() noexcept;

private:
    struct closed {
        void operator()(void* s) const noexcept { ::zmq_close(s); }
    };
    std::unique_ptr<void, closed> socket_;
    int descriptor_ = -1;
};

/// What befalls a socket's connections.
class zmq_monitor {
public:
    struct event {
        unsigned what;
        int value;  ///< a descriptor, errno, or a code
    };

    zmq_monitor() noexcept = default;
    /// Throws refusal. REQUIRES: stop() before the socket is closed.
    zmq_monitor(const zmq_context& context, zmq_socket& of, int events);
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(socket_); }
    [[nodiscard]] std::optional<event> next() noexcept;
    [[nodiscard]] int descriptor() const noexcept { return socket_.descriptor(); }
    void stop(zmq_socket& of) noexcept;

private:
    zmq_socket socket_;
};

}  // namespace tutti::wire
