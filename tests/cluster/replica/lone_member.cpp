#include "cluster/replica/lone_member.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace tutti::cluster::replica::testing {
namespace {

/// Returns the lower part of a 127.x.y.z address that no other process uses, so two members never get the same port.
std::uint32_t own_host() { return (1u << 22) + (static_cast<std::uint32_t>(::getpid()) & 0x3f'ffffu); }

std::string address_of(std::uint16_t port) {
    const std::uint32_t host = own_host();
    return "127." + std::to_string(host >> 16 & 255) + "." + std::to_string(host >> 8 & 255) + "." +
           std::to_string(host & 255) + ":" + std::to_string(port);
}

sockaddr_in loopback(std::uint16_t port, std::uint32_t host = own_host()) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl((127u << 24) + host);
    return at;
}

}  // namespace

lone_member::lone_member(std::uint16_t port)
    : who_{own_id, group_number, address_of(port), false},
      io_{events_, clock_, *this, stored_, own_id, 0},
      sessions_{[this](const std::shared_ptr<session>& from, backend::group::request_kind what, std::string_view body) {
          requests_->serve(from, what, body);
      }},
      loop_{1'000'000, [] {}, [this] { requests_->flush(); }, [] {}} {
    transport_.emplace(
        loop_.raw(), transport::self{own_id, group_number, who_.address, nullptr}, where_,
        [this](identified_connection a) { sessions_.add(std::move(a)); }, [](const std::string&) {});
    // As C-Raft does. C-Raft checks the messages of members itself.
    demand(transport_->raft()->listen(transport_->raft(), [](raft_uv_transport*, raft_id, const char*, uv_stream_t* s) {
        ::uv_close(reinterpret_cast<uv_handle_t*>(s), [](uv_handle_t* h) { raft_free(h); });
    }) == 0);
    raft_node_.emplace(io_.io(), raft_settings{.self = {own_id, who_.address}, .history = {}});
    requests_.emplace(*raft_node_, sessions_, who_, nullptr, [this] { return transport_->connections_rejected(); });
    raft_node_->on_change([this] { requests_->send_changes_to_followers(); });
    const member self{own_id, who_.address};
    raft_node_->bootstrap({&self, 1});
    raft_node_->start();
    while (!raft_node_->is_leader()) demand(events_.step());
}

lone_member::~lone_member() {
    bool closed = false;
    raft_node_->close([&closed] { closed = true; });
    while (!closed) demand(events_.step());
    sessions_.end_all();
    bool gone = false;
    transport_->raft()->data = &gone;
    transport_->raft()->close(transport_->raft(), [](raft_uv_transport* t) { *static_cast<bool*>(t->data) = true; });
    loop_.close();
    loop_.run();
    demand(gone);
    requests_.reset();
}

void lone_member::turn() {
    ::uv_run(&loop_.raw(), UV_RUN_NOWAIT);
    // A request is on the disk and applied within this time; elections and membership changes take longer.
    const instant until = events_.now() + 1 * ms;
    while (events_.now() < until && events_.step()) {}
}

void lone_member::call(std::uint64_t whom, std::uint16_t port, std::function<void(int)> callback) {
    struct calling {
        raft_uv_connect request{};
        std::function<void(int)> callback;
    };
    auto* const mine = new calling{{}, std::move(callback)};
    mine->request.data = mine;
    demand(transport_->raft()->connect(transport_->raft(), &mine->request, whom, address_of(port).c_str(),
                                       [](raft_uv_connect* r, uv_stream_t* to, int status) {
                                           const std::unique_ptr<calling> all{static_cast<calling*>(r->data)};
                                           demand((to != nullptr) == (status == 0));
                                           if (to != nullptr) {
                                               ::uv_close(reinterpret_cast<uv_handle_t*>(to),
                                                          [](uv_handle_t* h) { raft_free(h); });
                                           }
                                           all->callback(status);
                                       }) == 0);
}

socket_end::~socket_end() {
    if (fd_ >= 0) ::close(fd_);
}

socket_end socket_end::listen(std::uint16_t& port) {
    socket_end made{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    sockaddr_in at = loopback(0);
    socklen_t size = sizeof at;
    demand(made.fd_ >= 0 && ::bind(made.fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 &&
           ::listen(made.fd_, 8) == 0 && ::getsockname(made.fd_, reinterpret_cast<sockaddr*>(&at), &size) == 0);
    port = ntohs(at.sin_port);
    return made;
}

socket_end socket_end::connect(std::uint16_t port) {
    socket_end made{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    // Uses another source address each time: a closed connection keeps its port for about a minute, so one address
    // could run out of ports.
    static std::uint32_t host = 0;
    host = host % 0xfffffd + 2;
    const sockaddr_in from = loopback(0, host), to = loopback(port);
    const int yes = 1;
    demand(made.fd_ >= 0 && ::setsockopt(made.fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0 &&
           ::bind(made.fd_, reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0 &&
           ::connect(made.fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    return made;
}

std::optional<socket_end> socket_end::accept() const {
    const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return std::nullopt;
    return socket_end{fd};
}

void socket_end::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0) return;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

void socket_end::send_no_more() { ::shutdown(fd_, SHUT_WR); }

bool socket_end::receive(std::string& all) {
    char some[4096];
    while (true) {
        const ssize_t n = ::recv(fd_, some, sizeof some, MSG_DONTWAIT);
        if (n > 0) all.append(some, static_cast<std::size_t>(n));
        else return n < 0 && errno == EAGAIN;
    }
}

}  // namespace tutti::cluster::replica::testing
