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
#include "cluster/backend/group_link.hpp"
#include "cluster/replica/hardship.hpp"
#include "cluster/replica/notes.hpp"
#include "cluster/replica/relays.hpp"

namespace tutti::cluster::replica {
namespace {

using namespace backend::group;

constexpr std::uint64_t patience_ms = 2000;  // with a handshake, a hello, and its answer
constexpr std::size_t most_greeting = 256;   // T1
constexpr std::size_t most_welcome = 4096;
constexpr std::size_t read_at_once = 16384;  // under TLS
// When nothing has come for so long, the kernel asks whether the other side is there, so often, after so long each.
constexpr int quiet_s = 10, questions = 3, again_s = 10;
constexpr const char* beyond_loopback =
    "is beyond loopback, and this member has no certificate to speak TLS with: give it one";
constexpr int unacknowledged_ms = 10'000;  // after which a member's connection is given up

uv_handle_t* handle(uv_tcp_t* s) { return reinterpret_cast<uv_handle_t*>(s); }

uv_tcp_t* make_socket(uv_loop_t* loop) {
    auto* const made = static_cast<uv_tcp_t*>(raft_malloc(sizeof(uv_tcp_t)));
    if (made == nullptr) return nullptr;
    ::uv_tcp_init(loop, made);
    return made;
}

/// What the kernel does not take, it does not do; the connection works without.
void set(uv_tcp_t* s, int option, int value) {
    uv_os_fd_t fd = -1;
    if (::uv_fileno(handle(s), &fd) == 0)
        static_cast<void>(::setsockopt(fd, IPPROTO_TCP, option, &value, sizeof value));
}

/// Small messages go at once; and a machine that has gone without a word is noticed, also by who only listens.
void set_up(uv_tcp_t* s) {
    ::uv_tcp_nodelay(s, 1);
    ::uv_tcp_keepalive(s, 1, quiet_s);
    set(s, TCP_KEEPINTVL, again_s);
    set(s, TCP_KEEPCNT, questions);
}

/// A member that the network hides is called again when it is there again, and not when the kernel's retransmissions,
/// which come less and less often, happen to find it.
void give_up_early(uv_tcp_t* s) { set(s, TCP_USER_TIMEOUT, unacknowledged_ms); }

/// For messages. Without the port, which is another one each time.
std::string whereabouts_of(const uv_tcp_t* s) {
    sockaddr_storage at{};
    int size = sizeof at;
    char text[INET6_ADDRSTRLEN] = "nowhere";
    if (::uv_tcp_getpeername(s, reinterpret_cast<sockaddr*>(&at), &size) == 0)
        ::uv_ip_name(reinterpret_cast<sockaddr*>(&at), text, sizeof text);
    return std::string{"a connection from "} + text;
}

}  // namespace

struct transport::body {
    /// A connection that is not yet what it will be. In the clear no more is read than is `awaited`, because what
    /// follows is another's.
    struct half {
        body* of = nullptr;
        uv_tcp_t* socket = nullptr;
        std::uint64_t since = 0;
        std::unique_ptr<wire::tls_session> tls;  // null: in the clear
        std::string chunk;
        std::string input;  // has come, in the clear
        std::size_t awaited = 0;
        bool over = false;  // it was turned away, and waits for the other side to close
        std::list<std::unique_ptr<half>>::iterator place;
        // of one that we have made
        raft_uv_connect* asked = nullptr;
        std::uint64_t wanted = 0;
        std::string address;
        uv_connect_t connecting{};
        uv_getaddrinfo_t resolving{};
        bool resolves = false;  // its name is being looked up, which may go on when the socket is closed
        bool closed = false;
        int failed = 0;  // RAFT_…, once it is being closed

        [[nodiscard]] bool came() const noexcept { return asked == nullptr; }
    };

    raft_uv_transport face{};
    uv_loop_t* loop = nullptr;
    uv_tcp_t* listener = nullptr;  // gone once it is closed
    self own;
    address_book* where = nullptr;
    std::map<std::string, std::size_t> tries;  // of a name: so often it was looked up
    take_program take;
    say tell;
    raft_uv_accept_cb accept = nullptr;
    raft_uv_transport_close_cb closed = nullptr;
    bool closing = false;
    std::list<std::unique_ptr<half>> halves;
    std::unique_ptr<relays> secured;                  // of members under TLS
    std::map<std::uint64_t, std::string> complained;  // of the member with that id, what we have said last
    notes strangers;

    half& add(uv_tcp_t* socket) {
        halves.push_back(std::make_unique<half>());
        half& h = *halves.back();
        h.place = std::prev(halves.end());
        h.of = this;
        h.socket = socket;
        h.since = ::uv_now(loop);
        socket->data = &h;
        return h;
    }
    void drop(half& h) { halves.erase(h.place); }

    /// Ends it; C-Raft hears of it when it is closed.
    static void end(half& h, int why) {
        if (h.failed != 0) return;
        h.failed = why;
        if (h.resolves) static_cast<void>(::uv_cancel(reinterpret_cast<uv_req_t*>(&h.resolving)));
        ::uv_close(handle(h.socket), [](uv_handle_t* s) {
            half& mine = *static_cast<half*>(s->data);
            mine.closed = true;
            if (!mine.resolves) bury(mine);
        });
    }
    /// It is closed, and nothing of it is in progress.
    static void bury(half& h) {
        body& of = *h.of;
        if (h.asked != nullptr) {
            auto* const told = static_cast<raft_uv_connect_cb>(h.asked->cb);
            told(h.asked, nullptr, h.failed);
        }
        raft_free(h.socket);
        of.drop(h);
        of.maybe_closed();
    }
    void maybe_closed() {
        if (!closing || listener != nullptr || !halves.empty() || !secured->empty() || closed == nullptr) return;
        raft_uv_transport_close_cb const told = std::exchange(closed, nullptr);
        told(&face);
    }

    /// Goes on when so many bytes have come.
    static void read(half& h, std::size_t want) {
        h.awaited = want;
        if (h.input.size() >= want) return h.of->hear_all(h);
        const int failed = ::uv_read_start(
            stream(h.socket),
            [](uv_handle_t* s, std::size_t, uv_buf_t* to) {
                half& mine = *static_cast<half*>(s->data);
                mine.chunk.resize(mine.tls || mine.over ? read_at_once : mine.awaited - mine.input.size());
                *to = ::uv_buf_init(mine.chunk.data(), static_cast<unsigned>(mine.chunk.size()));
            },
            [](uv_stream_t* s, ssize_t n, const uv_buf_t*) {
                half& mine = *static_cast<half*>(s->data);
                if (n == 0 || mine.failed != 0) return;
                if (n < 0 || mine.over) return end(mine, RAFT_NOCONNECTION);
                mine.of->take_bytes(mine, std::string_view{mine.chunk}.substr(0, static_cast<std::size_t>(n)));
            });
        // It reads already, where a handshake has been going on.
        if (failed != 0 && failed != UV_EALREADY) end(h, RAFT_NOCONNECTION);
    }
    void take_bytes(half& h, std::string_view came) {
        if (!h.tls) {
            h.input.append(came);
        } else {
            const bool was = h.tls->established();
            const bool goes_on = h.tls->open(came, h.input);
            if (!send_owed(h)) return end(h, RAFT_NOCONNECTION);
            if (!goes_on) return refuse(h, h.tls->trouble());
            if (!was && h.tls->established() && !h.came()) return greet(h);
        }
        if (h.input.size() >= h.awaited) hear_all(h);
    }
    /// It reads no more, because who reads next may be another.
    void hear_all(half& h) {
        ::uv_read_stop(stream(h.socket));
        if (h.came()) hear_hello(h);
        else hear_welcome(h);
    }
    static bool send(half& h, std::string bytes) {
        return (!h.tls || h.tls->seal(bytes)) && write(*stream(h.socket), std::move(bytes));
    }
    static bool send_owed(half& h) {
        std::string owed = h.tls->owed();
        return owed.empty() || write(*stream(h.socket), std::move(owed));
    }

    /// It comes to nothing, for that reason; empty: the other side has ended it, and that is all.
    void refuse(half& h, const std::string& why) {
        if (!h.came()) {
            if (!why.empty()) complain(h.wanted, h.address + " " + why);
            return end(h, RAFT_NOCONNECTION);
        }
        if (why.empty()) return end(h, RAFT_NOCONNECTION);
        note(whereabouts_of(h.socket) + " " + why);
        linger(h);
    }
    /// What it was told last would be lost, if it were closed with bytes of the other side unread.
    static void linger(half& h) {
        h.over = true;
        read(h, std::numeric_limits<std::size_t>::max());
    }
    void note(std::string what) {
        if (const std::string line = strangers.turned_away(std::move(what), ::uv_now(loop)); !line.empty()) tell(line);
    }

    // ---- connections that come

    void come() {
        uv_tcp_t* const socket = make_socket(loop);
        if (socket == nullptr) return;
        make_room();
        half& h = add(socket);
        if (::uv_accept(stream(listener), stream(socket)) != 0 || closing) return end(h, RAFT_NOCONNECTION);
        set_up(socket);
        if (own.secured) h.tls = own.secured->answer();
        read(h, hello::size);
    }
    void make_room() {
        const auto waits = [](const std::unique_ptr<half>& h) { return h->came() && h->failed == 0; };
        if (static_cast<std::size_t>(std::ranges::count_if(halves, waits)) < most_greeting) return;
        half& oldest = **std::ranges::find_if(halves, waits);
        note(whereabouts_of(oldest.socket) + " had to make room for others, before it had said who it is");
        end(oldest, RAFT_NOCONNECTION);
    }
    void hear_hello(half& h) {
        hello said;
        if (!wire::decode(std::string_view{h.input}.substr(0, hello::size), said) || said.magic != hello_magic ||
            said.text_length > most_hello_text || (said.who != speaker::program && said.who != speaker::member))
            return hear_no_hello(h);
        const std::size_t whole = hello::size + said.text_length;
        if (h.input.size() < whole) return read(h, whole);
        const std::string address = h.input.substr(hello::size, said.text_length);
        h.input.erase(0, whole);
        welcome answer;
        answer.group = own.group;
        answer.self = own.id;
        answer.text = refusal_of(h, said);
        answer.refused = answer.text.empty() ? 0 : 1;
        if (!send(h, frame(answer))) return end(h, RAFT_NOCONNECTION);
        if (answer.refused != 0) {
            note((said.who == speaker::member ? address + " was refused: it " : whereabouts_of(h.socket) + " ") +
                 answer.text);
            return linger(h);
        }
        arrival a{h.socket, std::move(h.tls), std::move(h.input), true};
        if (a.tls) a.as_member = own.secured->objection(*a.tls, speaker::member).empty();
        drop(h);
        if (said.who == speaker::member) where->hear(said.self, address);
        if (said.who == speaker::program) return take(std::move(a));
        give_up_early(a.socket);
        if (uv_stream_t* const to = for_raft(std::move(a)); to != nullptr)
            accept(&face, said.self, address.c_str(), to);
    }
    /// What C-Raft reads and writes; null: there is none, and the connection is being closed.
    uv_stream_t* for_raft(arrival a) { return a.tls ? secured->add(std::move(a)) : stream(a.socket); }

    /// Not one of ours; or one that wants TLS where there is none, and is told so in the clear.
    void hear_no_hello(half& h) {
        if (h.tls || !wire::looks_like_handshake(h.input)) return refuse(h, "speaks like no member and no program");
        welcome answer;
        answer.refused = 1;
        answer.text = speaks_tls;
        if (!send(h, frame(answer))) return end(h, RAFT_NOCONNECTION);
        refuse(h, speaks_tls);
    }
    std::string refusal_of(const half& h, const hello& said) const {
        if (said.version != protocol_version)
            return "speaks version " + std::to_string(said.version) + " of the protocol, and " + own.address +
                   " version " + std::to_string(protocol_version) + ": run the same release on both sides";
        if (h.tls) {
            if (std::string why = own.secured->objection(*h.tls, said.who); !why.empty()) return why;
        }
        if (said.group != 0 && said.group != own.group)
            return "belongs to another group than " + own.address + ": look at the addresses";
        if (said.who == speaker::member && said.wanted != own.id)
            return "wants member " + std::to_string(said.wanted) + ", and at " + own.address + " there is member " +
                   std::to_string(own.id) +
                   ": if that one's disk was lost, remove the old member and let the new one join";
        if (said.who == speaker::member && (accept == nullptr || said.self == 0)) return "comes too early";
        return {};
    }

    // ---- whom C-Raft wants

    int connect(raft_uv_connect* request, raft_id whom, const char* address, raft_uv_connect_cb told) {
        const raft_id id = whom & ~beside;
        request->cb = told;
        uv_tcp_t* const socket = make_socket(loop);
        if (socket == nullptr) return RAFT_NOMEM;
        half& h = add(socket);
        h.asked = request;
        h.wanted = id;
        h.address = where->of(id, address);
        h.connecting.data = &h;
        const std::string to = route_to(h.address);
        std::string host;
        int port = 0;
        socket_place number;
        if (!parse_member_address(to, host, port, own.secured != nullptr)) refuse(h, beyond_loopback);
        else if (place_of_number(to, number)) call(h, *number.raw());
        else look_up(h, host, port);
        return 0;
    }
    void look_up(half& h, const std::string& host, int port) {
        h.resolving.data = &h;
        addrinfo wanted{};
        wanted.ai_socktype = SOCK_STREAM;
        const int failed = ::uv_getaddrinfo(
            loop, &h.resolving,
            [](uv_getaddrinfo_t* r, int status, addrinfo* found) {
                half& mine = *static_cast<half*>(r->data);
                mine.resolves = false;
                if (mine.closed) bury(mine);
                else if (mine.failed == 0) mine.of->call_one_of(mine, status, found);
                ::uv_freeaddrinfo(found);
            },
            host.c_str(), std::to_string(port).c_str(), &wanted);
        h.resolves = failed == 0;
        if (failed != 0) end(h, RAFT_NOCONNECTION);
    }
    /// Of several numbers another one each time that C-Raft asks: it asks again until there is a connection.
    void call_one_of(half& h, int status, const addrinfo* found) {
        if (status != 0) return refuse(h, std::string{"cannot be looked up: "} + ::uv_strerror(status));
        std::vector<const sockaddr*> all;
        for (; found != nullptr; found = found->ai_next) {
            if (own.secured || is_loopback(*found->ai_addr)) all.push_back(found->ai_addr);
        }
        if (all.empty()) return refuse(h, beyond_loopback);
        call(h, *all[tries[h.address]++ % all.size()]);
    }
    static void call(half& h, const sockaddr& to) {
        const int failed = ::uv_tcp_connect(&h.connecting, h.socket, &to, [](uv_connect_t* c, int status) {
            half& mine = *static_cast<half*>(c->data);
            if (mine.failed != 0) return;
            if (status != 0) return end(mine, RAFT_NOCONNECTION);
            mine.of->begin(mine);
        });
        if (failed != 0) end(h, RAFT_NOCONNECTION);
    }
    void begin(half& h) {
        set_up(h.socket);
        if (!own.secured) return greet(h);
        h.tls = own.secured->call();
        if (!h.tls->open({}, h.input) || !send_owed(h)) return end(h, RAFT_NOCONNECTION);
        read(h, std::numeric_limits<std::size_t>::max());  // until the handshake is over
    }
    void greet(half& h) {
        hello ours;
        ours.who = speaker::member;
        ours.group = own.group;
        ours.self = own.id;
        ours.wanted = h.wanted;
        ours.text_length = static_cast<std::uint32_t>(own.address.size());
        if (!send(h, wire::encode(ours) + own.address)) return end(h, RAFT_NOCONNECTION);
        read(h, 4);
    }
    void hear_welcome(half& h) {
        std::uint32_t length = 0;
        std::memcpy(&length, h.input.data(), 4);
        if (length > most_welcome) {
            if (!h.tls && wire::looks_like_alert(h.input)) return refuse(h, speaks_tls);
            return end(h, RAFT_MALFORMED);
        }
        if (h.input.size() < 4 + length) return read(h, 4 + length);
        welcome said;
        if (!wire::decode(std::string_view{h.input}.substr(4, length), said)) return end(h, RAFT_MALFORMED);
        if (said.refused != 0) return refuse(h, "refuses this member: it " + said.text);
        h.input.erase(0, 4 + length);
        complained.erase(h.wanted);
        give_up_early(h.socket);
        raft_uv_connect* const asked = h.asked;
        arrival a{h.socket, std::move(h.tls), std::move(h.input), true};
        drop(h);
        uv_stream_t* const to = for_raft(std::move(a));
        asked->cb(asked, to, to == nullptr ? RAFT_NOCONNECTION : 0);
    }
    /// Once, and again when it is something else.
    void complain(std::uint64_t id, const std::string& what) {
        std::string& last = complained[id];
        if (last == what) return;
        last = what;
        tell(what);
    }
};

transport::transport(uv_loop_t& loop, self who, address_book& where, take_program take, say tell)
    : body_{std::make_unique<body>()} {
    body& b = *body_;
    b.loop = &loop;
    b.own = std::move(who);
    b.where = &where;
    b.take = std::move(take);
    b.tell = std::move(tell);
    b.secured = std::make_unique<relays>(loop, [&b] { b.maybe_closed(); });
    b.face.impl = &b;
    b.face.init = [](raft_uv_transport*, raft_id, const char*) { return 0; };
    b.face.listen = [](raft_uv_transport* t, raft_uv_accept_cb taken) {
        static_cast<body*>(t->impl)->accept = taken;
        return 0;
    };
    b.face.connect = [](raft_uv_transport* t, raft_uv_connect* request, raft_id id, const char* address,
                        raft_uv_connect_cb told) {
        return static_cast<body*>(t->impl)->connect(request, id, address, told);
    };
    b.face.close = [](raft_uv_transport* t, raft_uv_transport_close_cb told) {
        body& mine = *static_cast<body*>(t->impl);
        mine.closing = true;
        mine.closed = told;
        ::uv_close(handle(mine.listener), [](uv_handle_t* l) {
            body& of = *static_cast<body*>(l->data);
            raft_free(std::exchange(of.listener, nullptr));
            of.maybe_closed();
        });
        for (const auto& h : mine.halves) {
            body::end(*h, RAFT_CANCELED);
            h->failed = RAFT_CANCELED;  // also where it was ending
        }
        mine.secured->end_all();
    };
    std::string why;
    const std::string& at = b.own.listen.empty() ? b.own.address : b.own.listen;
    const std::vector<socket_place> places = places_of(at, b.own.secured != nullptr, why);
    int failed = UV_EINVAL;
    for (std::size_t i = 0; i < places.size() && failed != 0; ++i) {
        b.listener = make_socket(&loop);
        if (b.listener == nullptr) throw std::bad_alloc{};
        b.listener->data = &b;
        failed = ::uv_tcp_bind(b.listener, places[i].raw(), 0);
        if (failed == 0) {
            failed = ::uv_listen(stream(b.listener), 128, [](uv_stream_t* l, int status) {
                if (status == 0) static_cast<body*>(l->data)->come();
            });
        }
        if (failed == 0) return;
        ::uv_close(handle(b.listener), [](uv_handle_t* l) { raft_free(l); });
    }
    throw backend::refusal{"cannot listen on " + at + ": " + (places.empty() ? why : ::uv_strerror(failed))};
}

transport::~transport() = default;

raft_uv_transport* transport::raft() noexcept { return &body_->face; }

void transport::look_at_clock() {
    const std::uint64_t now = ::uv_now(body_->loop);
    for (const auto& h : body_->halves) {
        if (now - h->since <= patience_ms || h->failed != 0) continue;
        if (h->came() && !h->over) {
            body_->note(whereabouts_of(h->socket) + " has not said who it is within " + std::to_string(patience_ms) +
                        " ms");
        }
        body::end(*h, RAFT_NOCONNECTION);
    }
}

std::uint64_t transport::turned_away() const noexcept { return body_->strangers.count(); }

}  // namespace tutti::cluster::replica
