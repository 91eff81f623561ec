#include "cluster/replica/transport.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <limits>
#include <list>
#include <map>
#include <new>
#include <utility>

#include "cluster/backend/backend.hpp"
#include "cluster/backend/member_connection.hpp"
#include "cluster/replica/injected_conditions.hpp"
#include "cluster/replica/throttled_log.hpp"
#include "cluster/replica/tls_relays.hpp"

namespace tutti::cluster::replica {
namespace {

using namespace backend::group;

constexpr std::uint64_t handshake_timeout_ms = 2000;  // for a handshake, a hello, and its answer
constexpr std::size_t max_half_open = 256;            // GTR1
constexpr std::size_t max_welcome_bytes = 4096;
constexpr std::size_t read_at_once = 16384;  // under TLS
// Keep-alive of TCP: idle seconds before the first probe, the number of probes, and the seconds between them.
constexpr int idle_s = 10, probes = 3, probe_interval_s = 10;
constexpr const char* beyond_loopback = "is beyond loopback, and this member has no certificate for TLS: give it one";
constexpr int unacknowledged_ms = 10'000;  // a member's connection ends if sent bytes stay unacknowledged for this time

uv_handle_t* handle(uv_tcp_t* s) { return reinterpret_cast<uv_handle_t*>(s); }

uv_tcp_t* make_socket(uv_loop_t* loop) {
    auto* const made = static_cast<uv_tcp_t*>(raft_malloc(sizeof(uv_tcp_t)));
    if (made == nullptr) return nullptr;
    ::uv_tcp_init(loop, made);
    return made;
}

/// Sets an option. Ignores errors, because the connection works without it.
void set(uv_tcp_t* s, int option, int value) {
    uv_os_fd_t fd = -1;
    if (::uv_fileno(handle(s), &fd) == 0)
        static_cast<void>(::setsockopt(fd, IPPROTO_TCP, option, &value, sizeof value));
}

/// Sends small messages at once, and detects a host that has disappeared, even if this side only receives.
void set_up(uv_tcp_t* s) {
    ::uv_tcp_nodelay(s, 1);
    ::uv_tcp_keepalive(s, 1, idle_s);
    set(s, TCP_KEEPINTVL, probe_interval_s);
    set(s, TCP_KEEPCNT, probes);
}

/// Makes the kernel end a connection whose bytes stay unacknowledged. C-Raft then connects again as soon as the member
/// can be reached. Without this limit, C-Raft would wait for one of the kernel's retransmissions, which become rarer
/// and rarer.
void set_send_timeout(uv_tcp_t* s) { set(s, TCP_USER_TIMEOUT, unacknowledged_ms); }

/// Returns the peer's address for messages. Leaves out the port, because each connection has another one.
std::string whereabouts_of(const uv_tcp_t* s) {
    sockaddr_storage at{};
    int size = sizeof at;
    char text[INET6_ADDRSTRLEN] = "nowhere";
    if (::uv_tcp_getpeername(s, reinterpret_cast<sockaddr*>(&at), &size) == 0)
        ::uv_ip_name(reinterpret_cast<sockaddr*>(&at), text, sizeof text);
    return std::string{"a connection from "} + text;
}

}  // namespace

struct transport::impl {
    /// A connection that has not identified itself. Without TLS, this object reads no more than `awaited` bytes,
    /// because later bytes belong to the connection's next owner.
    struct half_open_connection {
        impl* of = nullptr;
        uv_tcp_t* socket = nullptr;
        std::uint64_t since = 0;
        std::unique_ptr<wire::tls_session> tls;  // null: in the clear
        std::string chunk;
        std::string input;  // received plain bytes
        std::size_t awaited = 0;
        bool over = false;  // the connection was rejected, and waits until the other side closes
        std::list<std::unique_ptr<half_open_connection>>::iterator place;
        // of an outgoing connection:
        raft_uv_connect* asked = nullptr;
        std::uint64_t wanted = 0;
        std::string address;
        uv_connect_t connecting{};
        uv_getaddrinfo_t resolving{};
        bool resolves = false;  // a lookup of the peer's name is pending, and may outlast the socket
        bool closed = false;
        int failed = 0;  // RAFT_…, once it is being closed

        [[nodiscard]] bool came() const noexcept { return asked == nullptr; }
    };

    raft_uv_transport face{};
    uv_loop_t* loop = nullptr;
    uv_tcp_t* listener = nullptr;  // null once it is closed
    self own;
    address_book* where = nullptr;
    std::map<std::string, std::size_t> tries;  // by name: the number of lookups
    on_program_connected take;
    log_function operator_log;
    raft_uv_accept_cb accept = nullptr;
    raft_uv_transport_close_cb closed = nullptr;
    bool closing = false;
    std::list<std::unique_ptr<half_open_connection>> half_open;
    std::unique_ptr<tls_relays> member_relays;        // for members under TLS
    std::map<std::uint64_t, std::string> complained;  // by id: the last message about that member
    throttled_log rejections;

    half_open_connection& add(uv_tcp_t* socket) {
        half_open.push_back(std::make_unique<half_open_connection>());
        half_open_connection& h = *half_open.back();
        h.place = std::prev(half_open.end());
        h.of = this;
        h.socket = socket;
        h.since = ::uv_now(loop);
        socket->data = &h;
        return h;
    }
    void drop(half_open_connection& h) { half_open.erase(h.place); }

    /// Ends the connection. C-Raft is notified when the connection is closed.
    static void end(half_open_connection& h, int why) {
        if (h.failed != 0) return;
        h.failed = why;
        if (h.resolves) static_cast<void>(::uv_cancel(reinterpret_cast<uv_req_t*>(&h.resolving)));
        ::uv_close(handle(h.socket), [](uv_handle_t* s) {
            half_open_connection& mine = *static_cast<half_open_connection*>(s->data);
            mine.closed = true;
            if (!mine.resolves) dispose(mine);
        });
    }
    /// Disposes of a closed connection that has no pending operations.
    static void dispose(half_open_connection& h) {
        impl& of = *h.of;
        if (h.asked != nullptr) {
            auto* const callback = static_cast<raft_uv_connect_cb>(h.asked->cb);
            callback(h.asked, nullptr, h.failed);
        }
        raft_free(h.socket);
        of.drop(h);
        of.maybe_closed();
    }
    void maybe_closed() {
        if (!closing || listener != nullptr || !half_open.empty() || !member_relays->empty() || closed == nullptr)
            return;
        raft_uv_transport_close_cb const callback = std::exchange(closed, nullptr);
        callback(&face);
    }

    /// Reads until `input` has `want` bytes, and then continues the handshake.
    static void read(half_open_connection& h, std::size_t want) {
        h.awaited = want;
        if (h.input.size() >= want) return h.of->process_input(h);
        const int failed = ::uv_read_start(
            stream(h.socket),
            [](uv_handle_t* s, std::size_t, uv_buf_t* to) {
                half_open_connection& mine = *static_cast<half_open_connection*>(s->data);
                mine.chunk.resize(mine.tls || mine.over ? read_at_once : mine.awaited - mine.input.size());
                *to = ::uv_buf_init(mine.chunk.data(), static_cast<unsigned>(mine.chunk.size()));
            },
            [](uv_stream_t* s, ssize_t n, const uv_buf_t*) {
                half_open_connection& mine = *static_cast<half_open_connection*>(s->data);
                if (n == 0 || mine.failed != 0) return;
                if (n < 0 || mine.over) return end(mine, RAFT_NOCONNECTION);
                mine.of->receive_bytes(mine, std::string_view{mine.chunk}.substr(0, static_cast<std::size_t>(n)));
            });
        // UV_EALREADY is no failure, because the connection is already reading after a TLS handshake.
        if (failed != 0 && failed != UV_EALREADY) end(h, RAFT_NOCONNECTION);
    }
    void receive_bytes(half_open_connection& h, std::string_view came) {
        if (!h.tls) {
            h.input.append(came);
        } else {
            const bool was = h.tls->is_established();
            const bool goes_on = h.tls->decrypt(came, h.input);
            if (!send_pending(h)) return end(h, RAFT_NOCONNECTION);
            if (!goes_on) return refuse(h, h.tls->error());
            if (!was && h.tls->is_established() && !h.came()) return send_hello(h);
        }
        if (h.input.size() >= h.awaited) process_input(h);
    }
    /// Stops reading, because the next reader may be another object.
    void process_input(half_open_connection& h) {
        ::uv_read_stop(stream(h.socket));
        if (h.came()) receive_hello(h);
        else receive_welcome(h);
    }
    static bool send(half_open_connection& h, std::string bytes) {
        return (!h.tls || h.tls->encrypt(bytes)) && write(*stream(h.socket), std::move(bytes));
    }
    static bool send_pending(half_open_connection& h) {
        std::string pending = h.tls->pending_output();
        return pending.empty() || write(*stream(h.socket), std::move(pending));
    }

    /// Rejects the connection for the reason `why`. If `why` is empty, the other side has ended the connection.
    void refuse(half_open_connection& h, const std::string& why) {
        if (!h.came()) {
            if (!why.empty()) log_lookup_failure(h.wanted, h.address + " " + why);
            return end(h, RAFT_NOCONNECTION);
        }
        if (why.empty()) return end(h, RAFT_NOCONNECTION);
        log_rejection(whereabouts_of(h.socket) + " " + why);
        await_close(h);
    }
    /// Waits until the other side closes. If this side closed with unread bytes, the other side could lose the
    /// last message.
    static void await_close(half_open_connection& h) {
        h.over = true;
        read(h, std::numeric_limits<std::size_t>::max());
    }
    void log_rejection(std::string what) {
        if (const std::string line = rejections.reject(std::move(what), ::uv_now(loop)); !line.empty())
            operator_log(line);
    }

    // ---- incoming connections

    void on_connection() {
        uv_tcp_t* const socket = make_socket(loop);
        if (socket == nullptr) return;
        evict_oldest();
        half_open_connection& h = add(socket);
        if (::uv_accept(stream(listener), stream(socket)) != 0 || closing) return end(h, RAFT_NOCONNECTION);
        set_up(socket);
        if (own.credentials) h.tls = own.credentials->server_session();
        read(h, hello::size);
    }
    void evict_oldest() {
        const auto waits = [](const std::unique_ptr<half_open_connection>& h) { return h->came() && h->failed == 0; };
        if (static_cast<std::size_t>(std::ranges::count_if(half_open, waits)) < max_half_open) return;
        half_open_connection& oldest = **std::ranges::find_if(half_open, waits);
        log_rejection(whereabouts_of(oldest.socket) +
                      " was closed to make room for others, before it had identified itself");
        end(oldest, RAFT_NOCONNECTION);
    }
    void receive_hello(half_open_connection& h) {
        hello received;
        if (!wire::decode(std::string_view{h.input}.substr(0, hello::size), received) ||
            received.magic != hello_magic || received.text_length > max_hello_text ||
            (received.kind != peer_kind::program && received.kind != peer_kind::member))
            return receive_other_than_hello(h);
        const std::size_t whole = hello::size + received.text_length;
        if (h.input.size() < whole) return read(h, whole);
        const std::string address = h.input.substr(hello::size, received.text_length);
        h.input.erase(0, whole);
        welcome answer;
        answer.group = own.group;
        answer.own_id = own.id;
        answer.text = refusal_of(h, received);
        answer.refused = answer.text.empty() ? 0 : 1;
        if (!send(h, frame(answer))) return end(h, RAFT_NOCONNECTION);
        if (answer.refused != 0) {
            log_rejection(
                (received.kind == peer_kind::member ? address + " was refused: it " : whereabouts_of(h.socket) + " ") +
                answer.text);
            return await_close(h);
        }
        identified_connection a{h.socket, std::move(h.tls), std::move(h.input), true};
        if (a.tls) a.has_member_rights = own.credentials->reason_to_reject(*a.tls, peer_kind::member).empty();
        drop(h);
        if (received.kind == peer_kind::member) where->update(received.own_id, address);
        if (received.kind == peer_kind::program) return take(std::move(a));
        set_send_timeout(a.socket);
        if (uv_stream_t* const to = for_raft(std::move(a)); to != nullptr)
            accept(&face, received.own_id, address.c_str(), to);
    }
    /// Returns the stream that C-Raft reads and writes. Returns null on failure, and then closes the connection.
    uv_stream_t* for_raft(identified_connection a) {
        return a.tls ? member_relays->add(std::move(a)) : stream(a.socket);
    }

    /// Rejects bytes that are not a hello. If a client begins a TLS handshake with a member without TLS, the member
    /// sends the reason as plain text.
    void receive_other_than_hello(half_open_connection& h) {
        if (h.tls || !wire::looks_like_handshake(h.input)) return refuse(h, "has sent bytes of another protocol");
        welcome answer;
        answer.refused = 1;
        answer.text = peer_uses_tls;
        if (!send(h, frame(answer))) return end(h, RAFT_NOCONNECTION);
        refuse(h, peer_uses_tls);
    }
    std::string refusal_of(const half_open_connection& h, const hello& received) const {
        if (received.version != protocol_version)
            return "speaks version " + std::to_string(received.version) + " of the protocol, and " + own.address +
                   " version " + std::to_string(protocol_version) + ": run the same release on both sides";
        if (h.tls) {
            if (std::string why = own.credentials->reason_to_reject(*h.tls, received.kind); !why.empty()) return why;
        }
        if (received.group != 0 && received.group != own.group)
            return "belongs to another group than " + own.address + ": check the addresses";
        if (received.kind == peer_kind::member && received.expected_id != own.id)
            return "wants member " + std::to_string(received.expected_id) + ", and " + own.address + " is member " +
                   std::to_string(own.id) +
                   ": if the wanted member has lost its disk, remove it, and let the new one join";
        if (received.kind == peer_kind::member && (accept == nullptr || received.own_id == 0))
            return "has called before this member was ready";
        return {};
    }

    // ---- outgoing connections, for C-Raft

    int connect(raft_uv_connect* request, raft_id whom, const char* address, raft_uv_connect_cb callback) {
        const raft_id id = whom & ~second_connection;
        request->cb = callback;
        uv_tcp_t* const socket = make_socket(loop);
        if (socket == nullptr) return RAFT_NOMEM;
        half_open_connection& h = add(socket);
        h.asked = request;
        h.wanted = id;
        h.address = where->of(id, address);
        h.connecting.data = &h;
        const std::string to = injected_route_to(h.address);
        std::string host;
        int port = 0;
        socket_address number;
        if (!parse_member_address(to, host, port, own.credentials != nullptr)) refuse(h, beyond_loopback);
        else if (parse_numeric_address(to, number)) call(h, *number.raw());
        else look_up(h, host, port);
        return 0;
    }
    void look_up(half_open_connection& h, const std::string& host, int port) {
        h.resolving.data = &h;
        addrinfo wanted{};
        wanted.ai_socktype = SOCK_STREAM;
        const int failed = ::uv_getaddrinfo(
            loop, &h.resolving,
            [](uv_getaddrinfo_t* r, int status, addrinfo* found) {
                half_open_connection& mine = *static_cast<half_open_connection*>(r->data);
                mine.resolves = false;
                if (mine.closed) dispose(mine);
                else if (mine.failed == 0) mine.of->call_one_of(mine, status, found);
                ::uv_freeaddrinfo(found);
            },
            host.c_str(), std::to_string(port).c_str(), &wanted);
        h.resolves = failed == 0;
        if (failed != 0) end(h, RAFT_NOCONNECTION);
    }
    /// Connects to one of the name's addresses. Each try of C-Raft uses the next address.
    void call_one_of(half_open_connection& h, int status, const addrinfo* found) {
        if (status != 0) return refuse(h, std::string{"cannot be looked up: "} + ::uv_strerror(status));
        std::vector<const sockaddr*> all;
        for (; found != nullptr; found = found->ai_next) {
            if (own.credentials || is_loopback(*found->ai_addr)) all.push_back(found->ai_addr);
        }
        if (all.empty()) return refuse(h, beyond_loopback);
        call(h, *all[tries[h.address]++ % all.size()]);
    }
    static void call(half_open_connection& h, const sockaddr& to) {
        const int failed = ::uv_tcp_connect(&h.connecting, h.socket, &to, [](uv_connect_t* c, int status) {
            half_open_connection& mine = *static_cast<half_open_connection*>(c->data);
            if (mine.failed != 0) return;
            if (status != 0) return end(mine, RAFT_NOCONNECTION);
            mine.of->begin(mine);
        });
        if (failed != 0) end(h, RAFT_NOCONNECTION);
    }
    void begin(half_open_connection& h) {
        set_up(h.socket);
        if (!own.credentials) return send_hello(h);
        h.tls = own.credentials->client_session();
        if (!h.tls->decrypt({}, h.input) || !send_pending(h)) return end(h, RAFT_NOCONNECTION);
        read(h, std::numeric_limits<std::size_t>::max());  // until the handshake is over
    }
    void send_hello(half_open_connection& h) {
        hello ours;
        ours.kind = peer_kind::member;
        ours.group = own.group;
        ours.own_id = own.id;
        ours.expected_id = h.wanted;
        ours.text_length = static_cast<std::uint32_t>(own.address.size());
        if (!send(h, wire::encode(ours) + own.address)) return end(h, RAFT_NOCONNECTION);
        read(h, 4);
    }
    void receive_welcome(half_open_connection& h) {
        std::uint32_t length = 0;
        std::memcpy(&length, h.input.data(), 4);
        if (length > max_welcome_bytes) {
            if (!h.tls && wire::looks_like_alert(h.input)) return refuse(h, peer_uses_tls);
            return end(h, RAFT_MALFORMED);
        }
        if (h.input.size() < 4 + length) return read(h, 4 + length);
        welcome received;
        if (!wire::decode(std::string_view{h.input}.substr(4, length), received)) return end(h, RAFT_MALFORMED);
        if (received.refused != 0) return refuse(h, "refuses this member: it " + received.text);
        h.input.erase(0, 4 + length);
        complained.erase(h.wanted);
        set_send_timeout(h.socket);
        raft_uv_connect* const asked = h.asked;
        identified_connection a{h.socket, std::move(h.tls), std::move(h.input), true};
        drop(h);
        uv_stream_t* const to = for_raft(std::move(a));
        asked->cb(asked, to, to == nullptr ? RAFT_NOCONNECTION : 0);
    }
    /// Logs a message about a member, unless the last message about this member was the same.
    void log_lookup_failure(std::uint64_t id, const std::string& what) {
        std::string& last = complained[id];
        if (last == what) return;
        last = what;
        operator_log(what);
    }
};

transport::transport(uv_loop_t& loop, self who, address_book& where, on_program_connected take, log_function log_to)
    : impl_{std::make_unique<impl>()} {
    impl& b = *impl_;
    b.loop = &loop;
    b.own = std::move(who);
    b.where = &where;
    b.take = std::move(take);
    b.operator_log = std::move(log_to);
    b.member_relays = std::make_unique<tls_relays>(loop, [&b] { b.maybe_closed(); });
    b.face.impl = &b;
    b.face.init = [](raft_uv_transport*, raft_id, const char*) { return 0; };
    b.face.listen = [](raft_uv_transport* t, raft_uv_accept_cb taken) {
        static_cast<impl*>(t->impl)->accept = taken;
        return 0;
    };
    b.face.connect = [](raft_uv_transport* t, raft_uv_connect* request, raft_id id, const char* address,
                        raft_uv_connect_cb callback) {
        return static_cast<impl*>(t->impl)->connect(request, id, address, callback);
    };
    b.face.close = [](raft_uv_transport* t, raft_uv_transport_close_cb callback) {
        impl& mine = *static_cast<impl*>(t->impl);
        mine.closing = true;
        mine.closed = callback;
        ::uv_close(handle(mine.listener), [](uv_handle_t* l) {
            impl& of = *static_cast<impl*>(l->data);
            raft_free(std::exchange(of.listener, nullptr));
            of.maybe_closed();
        });
        for (const auto& h : mine.half_open) {
            impl::end(*h, RAFT_CANCELED);
            h->failed = RAFT_CANCELED;  // even if the connection was already ending
        }
        mine.member_relays->end_all();
    };
    std::string why;
    const std::string& at = b.own.listen.empty() ? b.own.address : b.own.listen;
    const std::vector<socket_address> places = resolve_addresses(at, b.own.credentials != nullptr, why);
    int failed = UV_EINVAL;
    for (std::size_t i = 0; i < places.size() && failed != 0; ++i) {
        b.listener = make_socket(&loop);
        if (b.listener == nullptr) throw std::bad_alloc{};
        b.listener->data = &b;
        failed = ::uv_tcp_bind(b.listener, places[i].raw(), 0);
        if (failed == 0) {
            failed = ::uv_listen(stream(b.listener), 128, [](uv_stream_t* l, int status) {
                if (status == 0) static_cast<impl*>(l->data)->on_connection();
            });
        }
        if (failed == 0) return;
        ::uv_close(handle(b.listener), [](uv_handle_t* l) { raft_free(l); });
    }
    throw backend::engine_error{"cannot listen on " + at + ": " + (places.empty() ? why : ::uv_strerror(failed))};
}

transport::~transport() = default;

raft_uv_transport* transport::raft() noexcept { return &impl_->face; }

void transport::end_overdue_handshakes() {
    const std::uint64_t now = ::uv_now(impl_->loop);
    for (const auto& h : impl_->half_open) {
        if (now - h->since <= handshake_timeout_ms || h->failed != 0) continue;
        if (h->came() && !h->over) {
            impl_->log_rejection(whereabouts_of(h->socket) + " has not identified itself within " +
                                 std::to_string(handshake_timeout_ms) + " ms");
        }
        impl::end(*h, RAFT_NOCONNECTION);
    }
}

std::uint64_t transport::connections_rejected() const noexcept { return impl_->rejections.count(); }

}  // namespace tutti::cluster::replica
