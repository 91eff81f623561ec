#include "cluster/replica/transport.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <new>
#include <utility>

#include "cluster/backend/backend.hpp"
#include "cluster/backend/group_link.hpp"

namespace tutti::cluster::replica {
namespace {

using namespace backend::group;

constexpr std::uint64_t patience_ms = 2000;  // with a hello, and with its answer

uv_handle_t* handle(uv_tcp_t* s) { return reinterpret_cast<uv_handle_t*>(s); }

uv_tcp_t* make_socket(uv_loop_t* loop) {
    auto* const made = static_cast<uv_tcp_t*>(raft_malloc(sizeof(uv_tcp_t)));
    if (made == nullptr) return nullptr;
    ::uv_tcp_init(loop, made);
    return made;
}

sockaddr_in number_of(const std::string& address) {
    std::string host;
    int port = 0;
    sockaddr_in to{};
    if (parse_member_address(address, host, port)) ::uv_ip4_addr(host.c_str(), port, &to);
    return to;
}

}  // namespace

struct transport::body {
    /// A connection that is not yet what it will be. No more is read than `input` has room for, because what follows is
    /// another's.
    struct half {
        body* of = nullptr;
        uv_tcp_t* socket = nullptr;
        std::uint64_t since = 0;
        std::string input;
        std::size_t have = 0;
        bool over = false;  // it was refused, and waits for the other side to close
        std::list<std::unique_ptr<half>>::iterator place;
        // of one that we have made
        raft_uv_connect* asked = nullptr;
        std::uint64_t wanted = 0;
        std::string address;
        uv_connect_t connecting{};
        int failed = 0;  // RAFT_…, once it is being closed
    };

    raft_uv_transport face{};
    uv_loop_t* loop = nullptr;
    uv_tcp_t* listener = nullptr;  // gone once it is closed
    self own;
    take_program take;
    say tell;
    std::string raft_address;  // C-Raft's own, which it may drop
    raft_uv_accept_cb accept = nullptr;
    raft_uv_transport_close_cb closed = nullptr;
    bool closing = false;
    std::list<std::unique_ptr<half>> halves;
    std::map<std::uint64_t, std::string> complained;  // of the member with that id, what we have said last

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
        ::uv_close(handle(h.socket), [](uv_handle_t* s) {
            half& mine = *static_cast<half*>(s->data);
            body& of = *mine.of;
            if (mine.asked != nullptr) {
                auto* const told = static_cast<raft_uv_connect_cb>(mine.asked->cb);
                told(mine.asked, nullptr, mine.failed);
            }
            raft_free(s);
            of.drop(mine);
            of.maybe_closed();
        });
    }
    void maybe_closed() {
        if (!closing || listener != nullptr || !halves.empty() || closed == nullptr) return;
        raft_uv_transport_close_cb const told = std::exchange(closed, nullptr);
        told(&face);
    }

    static void read(half& h, std::size_t want) {
        h.input.resize(want);
        const int failed = ::uv_read_start(
            stream(h.socket),
            [](uv_handle_t* s, std::size_t, uv_buf_t* to) {
                half& mine = *static_cast<half*>(s->data);
                *to =
                    ::uv_buf_init(mine.input.data() + mine.have, static_cast<unsigned>(mine.input.size() - mine.have));
            },
            [](uv_stream_t* s, ssize_t n, const uv_buf_t*) {
                half& mine = *static_cast<half*>(s->data);
                if (n < 0 || mine.over) return end(mine, RAFT_NOCONNECTION);
                mine.have += static_cast<std::size_t>(n);
                if (mine.have < mine.input.size()) return;
                ::uv_read_stop(s);
                if (mine.asked != nullptr) mine.of->hear_welcome(mine);
                else mine.of->hear_hello(mine);
            });
        if (failed != 0) end(h, RAFT_NOCONNECTION);
    }

    // ---- connections that come

    void come() {
        uv_tcp_t* const socket = make_socket(loop);
        if (socket == nullptr) return;
        half& h = add(socket);
        if (::uv_accept(stream(listener), stream(socket)) != 0 || closing) return end(h, RAFT_NOCONNECTION);
        ::uv_tcp_nodelay(socket, 1);
        read(h, hello::size);
    }
    void hear_hello(half& h) {
        hello said;
        if (!wire::decode(std::string_view{h.input}.substr(0, hello::size), said) || said.magic != hello_magic ||
            said.text_length > most_hello_text)
            return end(h, RAFT_MALFORMED);
        if (h.input.size() < hello::size + said.text_length) return read(h, hello::size + said.text_length);
        const std::string address = h.input.substr(hello::size);
        welcome answer;
        answer.group = own.group;
        answer.self = own.id;
        answer.text = refusal_of(said);
        answer.refused = answer.text.empty() ? 0 : 1;
        if (!write(*h.socket, frame(answer))) return end(h, RAFT_NOCONNECTION);
        if (answer.refused != 0) {
            if (said.who == speaker::member) complain(said.self, address + " was refused: it " + answer.text);
            h.over = true;
            return read(h, h.input.size() + 1);
        }
        uv_tcp_t* const socket = h.socket;
        drop(h);
        if (said.who == speaker::program) take(socket);
        else accept(&face, said.self, address.c_str(), stream(socket));
    }
    std::string refusal_of(const hello& said) const {
        if (said.version != protocol_version)
            return "speaks version " + std::to_string(said.version) + " of the protocol, and " + own.address +
                   " version " + std::to_string(protocol_version) + ": run the same release on both sides";
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

    int connect(raft_uv_connect* request, raft_id id, const char* address, raft_uv_connect_cb told) {
        request->cb = told;
        uv_tcp_t* const socket = make_socket(loop);
        if (socket == nullptr) return RAFT_NOMEM;
        half& h = add(socket);
        h.asked = request;
        h.wanted = id;
        h.address = address;
        h.connecting.data = &h;
        const sockaddr_in to = number_of(h.address);
        const int failed = ::uv_tcp_connect(&h.connecting, socket, reinterpret_cast<const sockaddr*>(&to),
                                            [](uv_connect_t* c, int status) {
                                                half& mine = *static_cast<half*>(c->data);
                                                if (mine.failed != 0) return;
                                                if (status != 0) return end(mine, RAFT_NOCONNECTION);
                                                mine.of->greet(mine);
                                            });
        if (failed != 0) end(h, RAFT_NOCONNECTION);
        return 0;
    }
    void greet(half& h) {
        ::uv_tcp_nodelay(h.socket, 1);
        hello ours;
        ours.who = speaker::member;
        ours.group = own.group;
        ours.self = own.id;
        ours.wanted = h.wanted;
        ours.text_length = static_cast<std::uint32_t>(own.address.size());
        if (!write(*h.socket, wire::encode(ours) + own.address)) return end(h, RAFT_NOCONNECTION);
        read(h, 4);
    }
    void hear_welcome(half& h) {
        std::uint32_t length = 0;
        std::memcpy(&length, h.input.data(), 4);
        if (length > 4096) return end(h, RAFT_MALFORMED);
        if (h.input.size() < 4 + length) return read(h, 4 + length);
        welcome said;
        if (!wire::decode(std::string_view{h.input}.substr(4), said)) return end(h, RAFT_MALFORMED);
        if (said.refused != 0) {
            complain(h.wanted, h.address + " refuses this member: it " + said.text);
            return end(h, RAFT_NOCONNECTION);
        }
        complained.erase(h.wanted);
        uv_tcp_t* const socket = h.socket;
        raft_uv_connect* const asked = h.asked;
        drop(h);
        asked->cb(asked, stream(socket), 0);
    }
    /// Once, and again when it is something else.
    void complain(std::uint64_t id, const std::string& what) {
        std::string& last = complained[id];
        if (last == what) return;
        last = what;
        tell(what);
    }
};

transport::transport(uv_loop_t& loop, self who, take_program take, say tell) : body_{std::make_unique<body>()} {
    body& b = *body_;
    b.loop = &loop;
    b.own = std::move(who);
    b.take = std::move(take);
    b.tell = std::move(tell);
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
    };
    b.listener = make_socket(&loop);
    if (b.listener == nullptr) throw std::bad_alloc{};
    b.listener->data = &b;
    const sockaddr_in at = number_of(b.own.address);
    int failed = ::uv_tcp_bind(b.listener, reinterpret_cast<const sockaddr*>(&at), 0);
    if (failed == 0) {
        failed = ::uv_listen(stream(b.listener), 128, [](uv_stream_t* l, int status) {
            if (status == 0) static_cast<body*>(l->data)->come();
        });
    }
    if (failed != 0) {
        ::uv_close(handle(b.listener), [](uv_handle_t* l) { raft_free(l); });
        throw backend::refusal{"cannot listen on " + b.own.address + ": " + ::uv_strerror(failed)};
    }
}

transport::~transport() = default;

raft_uv_transport* transport::raft() noexcept { return &body_->face; }

void transport::look_at_clock() {
    const std::uint64_t now = ::uv_now(body_->loop);
    for (const auto& h : body_->halves) {
        if (now - h->since > patience_ms) body::end(*h, RAFT_NOCONNECTION);
    }
}

}  // namespace tutti::cluster::replica
