#include "wire/zeromq_sockets.hpp"

#include <cerrno>
#include <cstring>

#include "wire/wire_error.hpp"

namespace tutti::wire {
namespace {

[[noreturn]] void refuse(const char* what) {
    throw wire_error{std::string{"ZeroMQ has no "} + what + " left: " + ::zmq_strerror(::zmq_errno()) +
                     "; it takes three file descriptors for each other node while they join"};
}

}  // namespace

zmq_context::zmq_context() : context_{::zmq_ctx_new()} {
    if (context_ == nullptr) refuse("context");
}

zmq_context::~zmq_context() {
    while (::zmq_ctx_term(context_) != 0 && errno == EINTR) {}
}

zmq_socket::zmq_socket(const zmq_context& of, int type) : socket_{::zmq_socket(of.get(), type)} {
    std::size_t size = sizeof descriptor_;
    if (!socket_ || ::zmq_getsockopt(socket_.get(), ZMQ_FD, &descriptor_, &size) != 0) refuse("socket");
    set(ZMQ_LINGER, 0);
}

void zmq_socket::set(int option, std::string_view bytes) noexcept {
    ::zmq_setsockopt(socket_.get(), option, bytes.data(), bytes.size());
}

bool zmq_socket::bind(const std::string& endpoint) noexcept { return ::zmq_bind(socket_.get(), endpoint.c_str()) == 0; }

bool zmq_socket::connect(const std::string& endpoint) noexcept {
    return ::zmq_connect(socket_.get(), endpoint.c_str()) == 0;
}

bool zmq_socket::receive(zmq_message& into) noexcept {
    while (::zmq_msg_recv(&into.message_, socket_.get(), ZMQ_DONTWAIT) < 0) {
        if (errno != EINTR) return false;
    }
    return true;
}

bool zmq_socket::send(std::string_view bytes, bool more) noexcept {
    const int how = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);
    while (::zmq_send(socket_.get(), bytes.data(), bytes.size(), how) < 0) {
        if (errno != EINTR) return false;
    }
    return true;
}

bool zmq_socket::has_room() noexcept {
    int events = 0;
    std::size_t size = sizeof events;
    while (::zmq_getsockopt(socket_.get(), ZMQ_EVENTS, &events, &size) != 0) {
        if (errno != EINTR) return false;
    }
    return (events & ZMQ_POLLOUT) != 0;
}

zmq_monitor::zmq_monitor(const zmq_context& context, zmq_socket& of, int events) : socket_{context, ZMQ_PAIR} {
    const std::string endpoint = "inproc://monitor-" + std::to_string(of.descriptor());
    // The queue is unbounded, because a full queue would block libzmq's thread while that thread holds a lock that
    // stop() needs.
    socket_.set(ZMQ_RCVHWM, 0);
    if (::zmq_socket_monitor(of.get(), endpoint.c_str(), events) != 0 || !socket_.connect(endpoint)) refuse("monitor");
}

std::optional<zmq_monitor::event> zmq_monitor::next() noexcept {
    zmq_message first, where;
    if (!socket_.receive(first)) return std::nullopt;
    if (first.more()) static_cast<void>(socket_.receive(where));  // both parts arrive together
    std::uint16_t what = 0;
    std::int32_t value = 0;
    const std::string_view bytes = first.bytes();
    if (bytes.size() < sizeof what + sizeof value) return event{0, 0};
    std::memcpy(&what, bytes.data(), sizeof what);
    std::memcpy(&value, bytes.data() + sizeof what, sizeof value);
    return event{what, value};
}

void zmq_monitor::stop(zmq_socket& of) noexcept {
    if (!socket_) return;
    ::zmq_socket_monitor(of.get(), nullptr, 0);
    socket_.close();
}

}  // namespace tutti::wire
