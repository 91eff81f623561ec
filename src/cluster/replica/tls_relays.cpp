#include "cluster/replica/tls_relays.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <utility>

namespace tutti::cluster::replica {
namespace {

constexpr std::size_t max_pending_bytes = std::size_t{1} << 20;
constexpr std::size_t read_at_once = 65536;

}  // namespace

/// One of the two connections of a relay.
struct tls_relays::side {
    tls_relay* of = nullptr;
    uv_stream_t* stream = nullptr;  // null once it is closed
    std::string chunk;
    std::size_t pending = 0;  // bytes that were sent on this side and not accepted yet
    bool reads = false;
};

struct tls_relays::tls_relay : std::enable_shared_from_this<tls_relay> {
    tls_relays* all = nullptr;
    std::unique_ptr<wire::tls_session> tls;
    side out, in;  // `out` leads to the other member, and `in` to C-Raft
    bool ended = false;

    [[nodiscard]] side& other(const side& s) noexcept { return &s == &out ? in : out; }
};

uv_stream_t* tls_relays::add(identified_connection a) {
    auto made = std::make_shared<tls_relay>();
    tls_relay& r = *made;
    all_.push_back(std::move(made));
    r.all = this;
    r.tls = std::move(a.tls);
    r.out.of = r.in.of = &r;
    r.out.stream = stream(a.socket);
    a.socket->data = &r.out;
    uv_stream_t* raft_end = nullptr;
    if (!connect(r, raft_end)) {
        end(r);
        return nullptr;
    }
    if (!a.input.empty() && !send(r.in, std::move(a.input))) end(r);
    read(r.out);
    read(r.in);
    return raft_end;
}

/// Makes the local socket pair of a relay.
bool tls_relays::connect(tls_relay& r, uv_stream_t*& raft_end) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return false;
    uv_stream_t* made[2] = {nullptr, nullptr};
    for (int i = 0; i < 2; ++i) {
        auto* const pipe = static_cast<uv_pipe_t*>(raft_malloc(sizeof(uv_pipe_t)));
        if (pipe == nullptr) break;
        ::uv_pipe_init(&loop_, pipe, 0);
        made[i] = reinterpret_cast<uv_stream_t*>(pipe);
        if (::uv_pipe_open(pipe, ends[i]) != 0) break;
        ends[i] = -1;  // the pipe owns the descriptor now
    }
    const bool whole = ends[0] < 0 && ends[1] < 0;
    for (int i = 0; i < 2; ++i) {
        if (ends[i] >= 0) ::close(ends[i]);
        if (!whole && made[i] != nullptr)
            ::uv_close(reinterpret_cast<uv_handle_t*>(made[i]), [](uv_handle_t* s) { raft_free(s); });
    }
    if (!whole) return false;
    raft_end = made[0];
    r.in.stream = made[1];
    r.in.stream->data = &r.in;
    return true;
}

void tls_relays::read(side& from) {
    if (from.stream == nullptr || from.reads || from.of->ended) return;
    from.reads = true;
    const int failed = ::uv_read_start(
        from.stream,
        [](uv_handle_t* s, std::size_t, uv_buf_t* to) {
            side& mine = *static_cast<side*>(s->data);
            mine.chunk.resize(read_at_once);
            *to = ::uv_buf_init(mine.chunk.data(), read_at_once);
        },
        [](uv_stream_t* s, ssize_t n, const uv_buf_t* had) {
            side& mine = *static_cast<side*>(s->data);
            tls_relay& r = *mine.of;
            if (n == 0 || r.ended) return;
            if (n < 0 || !forward(mine, {had->base, static_cast<std::size_t>(n)})) return end(r);
            // RLY1
            if (r.other(mine).pending < max_pending_bytes) return;
            ::uv_read_stop(s);
            mine.reads = false;
        });
    if (failed != 0) end(*from.of);
}

bool tls_relays::forward(side& from, std::string_view came) {
    tls_relay& r = *from.of;
    std::string bytes;
    if (&from == &r.in) {
        bytes = came;
        return r.tls->encrypt(bytes) && send(r.out, std::move(bytes));
    }
    const bool goes_on = r.tls->decrypt(came, bytes);
    return send(r.out, r.tls->pending_output()) && goes_on && send(r.in, std::move(bytes));
}

bool tls_relays::send(side& to, std::string bytes) {
    const std::size_t size = bytes.size();
    if (size == 0) return true;
    const auto sent = [of = to.of->weak_from_this(), &to, size] {
        const auto alive = of.lock();
        if (!alive) return;
        to.pending -= size;
        if (to.pending < max_pending_bytes / 2) read(alive->other(to));
    };
    if (!write(*to.stream, std::move(bytes), sent)) return false;
    to.pending += size;
    return true;
}

void tls_relays::end(tls_relay& r) {
    if (std::exchange(r.ended, true)) return;
    for (side* const s : {&r.out, &r.in}) {
        if (s->stream == nullptr) continue;
        ::uv_close(reinterpret_cast<uv_handle_t*>(s->stream), [](uv_handle_t* h) {
            side& mine = *static_cast<side*>(h->data);
            tls_relay& whole = *mine.of;
            tls_relays& all = *whole.all;
            mine.stream = nullptr;
            raft_free(h);
            if (whole.out.stream != nullptr || whole.in.stream != nullptr) return;
            all.all_.remove_if([&whole](const std::shared_ptr<tls_relay>& one) { return one.get() == &whole; });
            if (all.all_.empty()) all.on_empty_();
        });
    }
}

void tls_relays::end_all() {
    for (const auto& one : all_) end(*one);
}

}  // namespace tutti::cluster::replica
