#include "wire/sockets.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "wire/bytes.hpp"

namespace tutti::wire {

struct sockets::peer {
    explicit peer(node_number n) : number{n} {}

    const node_number number;
    std::shared_ptr<stream::socket> socket;  // set once, by the reading thread, before `open`
    std::atomic<bool> open{false};           // release: whoever sees it sees the socket

    // Of the reading thread; others look at the two last.
    std::string input;
    std::atomic<unsigned> silent{0};       // beats since something came
    std::atomic<std::int64_t> lost_at{0};  // milliseconds of the steady clock; 0: it is not

    // What is to be sent; whoever finds nobody sending sends.
    std::mutex guard;
    std::string output;
    bool spoken = false;  // since the last beat
    std::string in_flight;
    std::size_t in_flight_from = 0;
    bool sending = false;
};

namespace {

/// The peer whose frames the calling thread is handling: answers to it wait for the end of the read.
thread_local const void* serving_peer = nullptr;

constexpr unsigned beats_of_silence = 8;
constexpr std::size_t read_size = std::size_t{64} * 1024;

std::chrono::milliseconds beat_of(const socket_options& how) {
    return std::max(how.silence / beats_of_silence, std::chrono::milliseconds{1});
}

std::int64_t steady_ms() {
    using namespace std::chrono;
    return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

void make_fast(stream::socket& s, const address& a) {
    if (!a.path.empty()) return;
    asio::error_code ignored;
    s.set_option(asio::ip::tcp::no_delay{true}, ignored);
}

}  // namespace

sockets::sockets(const socket_options& how, handler& to)
    : how_{how}, handler_{to}, observers_{how.self, how.silence, [&to] { return to.facts(); }} {
    for (const std::string& text : how_.addresses) addresses_.push_back(parse_address(text));
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
        peers_.push_back(std::make_unique<peer>(static_cast<node_number>(i)));
        for (std::size_t j = 0; j < i; ++j) {
            if (addresses_[i].endpoint == addresses_[j].endpoint)
                throw refusal{"two nodes have the address " + addresses_[i].text + "; give each its own"};
        }
    }
    const address& own = addresses_[how_.self];
    asio::error_code failed;
    acceptor_.open(own.endpoint.protocol(), failed);
    if (!failed && own.path.empty()) acceptor_.set_option(asio::socket_base::reuse_address{true}, failed);
    if (!failed) acceptor_.bind(own.endpoint, failed);
    if (!failed) acceptor_.listen(asio::socket_base::max_listen_connections, failed);
    if (failed) {
        throw refusal{"node " + std::to_string(how_.self) + " cannot listen on " + own.text + ": " + failed.message() +
                      (own.path.empty() ? "" : "; remove the file if no node uses it")};
    }
}

void sockets::join() {
    accept_next();
    for (node_number i = 0; i < how_.self; ++i) try_connect(i);
    beat();
    thread_ = std::thread{[this] { io_.run(); }};

    std::unique_lock hold{joining_};
    const auto over = [this] { return !trouble_.empty() || joined_ + 1 == peers_.size(); };
    const bool in_time = changed_.wait_for(hold, how_.connect_within, over);
    if (in_time && trouble_.empty()) return;
    std::string what = trouble_;
    if (what.empty()) {
        what = "these nodes did not come within " + std::to_string(how_.connect_within.count()) + " ms:";
        for (const auto& p : peers_) {
            if (p->number != how_.self && !p->open.load(std::memory_order_acquire))
                what += " " + std::to_string(p->number) + " (" + addresses_[p->number].text + ")";
        }
        what += "; start them, with the same list of nodes";
    }
    throw refusal{what};
}

sockets::~sockets() {
    // What was sent is written first: the decision of the last commit may be among it.
    for (const auto& p : peers_) {
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds{1};
        while (p->open.load(std::memory_order_acquire) && std::chrono::steady_clock::now() < limit) {
            {
                const std::lock_guard hold{p->guard};
                if (!p->sending && p->output.empty()) break;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }
    closing_.store(true, std::memory_order_relaxed);
    io_.stop();
    if (thread_.joinable()) thread_.join();
    if (const address& own = addresses_[how_.self]; !own.path.empty()) ::unlink(own.path.c_str());
}

void sockets::complain(std::string what) {
    const std::lock_guard hold{joining_};
    if (trouble_.empty()) trouble_ = std::move(what);
    changed_.notify_all();
}

// ---- joining

void sockets::accept_next() {
    auto s = std::make_shared<stream::socket>(io_);
    acceptor_.async_accept(*s, [this, s](asio::error_code failed) {
        if (failed == asio::error::operation_aborted) return;
        if (!failed) greet(s, static_cast<node_number>(peers_.size()));
        accept_next();
    });
}

void sockets::try_connect(node_number to) {
    auto s = std::make_shared<stream::socket>(io_);
    s->async_connect(addresses_[to].endpoint, [this, s, to](asio::error_code failed) {
        if (closing_.load(std::memory_order_relaxed)) return;
        if (!failed) return greet(s, to);
        // It is not up yet.
        auto later = std::make_shared<asio::steady_timer>(io_, std::chrono::milliseconds{20});
        later->async_wait([this, later, to](asio::error_code) { try_connect(to); });
    });
}

/// Exchanges hellos. `expected` is who is called, or no node's number for one that calls.
void sockets::greet(std::shared_ptr<stream::socket> s, node_number expected) {
    const std::string body = encode(hello{how_.cluster, static_cast<std::uint16_t>(peers_.size())});
    header h;
    h.length = static_cast<std::uint32_t>(body.size());
    h.kind = kind::hello;
    h.from = how_.self;
    const auto out = std::make_shared<std::string>(encode(h) + body);
    const auto in = std::make_shared<std::string>(header::size + body.size(), '\0');
    make_fast(*s, addresses_[how_.self]);
    asio::async_write(*s, asio::buffer(*out), [out](asio::error_code, std::size_t) {});
    // A stranger that says nothing holds a socket until the node ends, and no more than that.
    asio::async_read(*s, asio::buffer(*in), [this, s, in, expected](asio::error_code failed, std::size_t) {
        if (failed) {
            if (expected < peers_.size()) try_connect(expected);
            return;
        }
        header got;
        hello said;
        const std::string_view all{*in};
        const bool sound = decode(all.substr(0, header::size), got) && decode(all.substr(header::size), said) &&
                           got.kind == kind::hello;
        const bool known = expected < peers_.size();
        if (sound && got.version != protocol_version && (known || calls_us(got.from))) {
            return complain("node " + std::to_string(got.from) + " speaks version " + std::to_string(got.version) +
                            " of the protocol, and this one version " + std::to_string(protocol_version) +
                            ": build all nodes from one release of Tutti");
        }
        if (!sound || got.version != protocol_version) {
            if (known) complain("what listens on " + addresses_[expected].text + " is no node");
            return;
        }
        if (!known && got.from == observer_number) {
            // A stranger's mistake is no trouble of the cluster: it learns from our hello what is wrong.
            if (said.cluster == how_.cluster && said.nodes == peers_.size()) observers_.admit(s);
            return;
        }
        if (said.cluster != how_.cluster || said.nodes != peers_.size()) {
            complain("node " + std::to_string(got.from) +
                     " belongs to another cluster: give all nodes the same name and the same list of addresses");
            return;
        }
        if (known ? got.from != expected : !calls_us(got.from)) {
            complain("a second node has the number " + std::to_string(got.from) + ": give each its own");
            return;
        }
        if (peers_[got.from]->socket) {
            complain("two nodes have the number " + std::to_string(got.from) + ": give each its own");
            return;
        }
        adopt(s, got.from);
    });
}

void sockets::adopt(std::shared_ptr<stream::socket> s, node_number from) {
    peer& p = *peers_[from];
    p.socket = std::move(s);
    asio::error_code ignored;
    p.socket->non_blocking(true, ignored);
    p.open.store(true, std::memory_order_release);
    read_next(p);
    const std::lock_guard hold{joining_};
    ++joined_;
    changed_.notify_all();
}

// ---- reading

void sockets::read_next(peer& p) {
    p.socket->async_wait(stream::socket::wait_read, [this, &p](asio::error_code failed) {
        if (failed) return end(p);
        // Everything that is there, so that what it asks for is answered together.
        const std::size_t had = p.input.size();
        p.input.resize(had + read_size);
        const ssize_t got = ::recv(p.socket->native_handle(), p.input.data() + had, read_size, MSG_DONTWAIT);
        p.input.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return end(p);
        p.silent.store(0, std::memory_order_relaxed);
        received_bytes_.add(static_cast<std::uint64_t>(std::max<ssize_t>(got, 0)));
        serving_peer = &p;
        const bool sound = cut(p);
        serving_peer = nullptr;
        if (!sound) return end(p);
        flush(p);
        read_next(p);
    });
}

/// Hands on the frames that are complete. False: there is something that is none.
bool sockets::cut(peer& p) {
    std::string_view rest{p.input};
    while (rest.size() >= header::size) {
        header h;
        if (!decode(rest.substr(0, header::size), h) || h.version != protocol_version || h.from != p.number ||
            h.length > how_.largest)
            return false;
        if (rest.size() < header::size + h.length) break;
        received_frames_.add_one();
        if (!handler_.receive(h, rest.substr(header::size, h.length))) return false;
        rest.remove_prefix(header::size + h.length);
    }
    p.input.erase(0, p.input.size() - rest.size());
    return true;
}

// ---- sending

bool sockets::send(node_number to, header h, std::string_view body) {
    peer& p = *peers_[to];
    if (!p.open.load(std::memory_order_acquire)) return false;
    h.length = static_cast<std::uint32_t>(body.size());
    h.from = how_.self;
    frames_.fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_add(header::size + body.size(), std::memory_order_relaxed);
    {
        const std::lock_guard hold{p.guard};
        writer{p.output}(h);
        p.output.append(body);
        p.spoken = true;
    }
    if (serving_peer != &p) flush(p);
    return true;
}

void sockets::flush(peer& p) {
    std::unique_lock hold{p.guard};
    if (p.sending) return;
    p.sending = true;
    for (;;) {
        if (p.in_flight_from == p.in_flight.size()) {
            p.in_flight.clear();
            p.in_flight_from = 0;
            std::swap(p.in_flight, p.output);
        }
        if (p.in_flight.empty() || !p.open.load(std::memory_order_relaxed)) break;
        hold.unlock();
        system_calls_.fetch_add(1, std::memory_order_relaxed);
        const ssize_t sent = ::send(p.socket->native_handle(), p.in_flight.data() + p.in_flight_from,
                                    p.in_flight.size() - p.in_flight_from, MSG_DONTWAIT | MSG_NOSIGNAL);
        const bool full = sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
        hold.lock();
        if (sent > 0) {
            p.in_flight_from += static_cast<std::size_t>(sent);
            continue;
        }
        if (full) {
            // `sending` stays: the wait goes on where this left off.
            hold.unlock();
            asio::post(io_, [this, &p] {
                p.socket->async_wait(stream::socket::wait_write, [this, &p](asio::error_code failed) {
                    {
                        const std::lock_guard again{p.guard};
                        p.sending = false;
                    }
                    if (!failed) flush(p);
                });
            });
            return;
        }
        p.in_flight.clear();  // the reading thread meets the same error
        p.in_flight_from = 0;
        break;
    }
    p.sending = false;
}

// Beats are counted, and not the time: a process that was stopped itself has not heard anybody for long, and must not
// take them all for gone when it goes on.
void sockets::beat() {
    pulse_.expires_after(beat_of(how_));
    pulse_.async_wait([this](asio::error_code failed) {
        if (failed) return;
        for (const auto& p : peers_) {
            if (!p->open.load(std::memory_order_acquire)) continue;
            if (p->silent.fetch_add(1, std::memory_order_relaxed) >= beats_of_silence) {
                end(*p);
                continue;
            }
            bool spoken = false;
            {
                const std::lock_guard hold{p->guard};
                spoken = std::exchange(p->spoken, false);
            }
            if (spoken) continue;
            handler_.beat(p->number);
            const std::lock_guard hold{p->guard};
            p->spoken = false;  // the next beat is due as ever
        }
        beat();
    });
}

void sockets::end(peer& p) {
    if (closing_.load(std::memory_order_relaxed)) return;
    if (!p.open.load(std::memory_order_relaxed)) return;
    p.lost_at.store(steady_ms(), std::memory_order_relaxed);
    p.open.store(false, std::memory_order_release);  // partner: describe, which finds since when
    // Not closed: another thread may be about to send to it, and its number would go to somebody else.
    asio::error_code ignored;
    p.socket->shutdown(stream::socket::shutdown_both, ignored);
    handler_.lose(p.number);
}

void sockets::describe(cluster::node_facts& to) const {
    to.messages_sent = frames_.load(std::memory_order_relaxed);
    to.bytes_sent = bytes_.load(std::memory_order_relaxed);
    to.system_calls = system_calls_.load(std::memory_order_relaxed);
    to.messages_received = received_frames_.get();
    to.bytes_received = received_bytes_.get();
    observers_.describe(to);
    to.peers.clear();
    for (const auto& p : peers_) {
        using enum cluster::peer_state;
        if (p->number == how_.self) {
            to.peers.push_back({itself, 0});
        } else if (p->open.load(std::memory_order_acquire)) {
            const auto beats = static_cast<std::uint64_t>(p->silent.load(std::memory_order_relaxed));
            to.peers.push_back({connected, beats * static_cast<std::uint64_t>(beat_of(how_).count())});
        } else if (const std::int64_t at = p->lost_at.load(std::memory_order_relaxed); at != 0) {
            to.peers.push_back({lost, static_cast<std::uint64_t>(steady_ms() - at)});
        } else {
            to.peers.push_back({awaited, 0});
        }
    }
}

}  // namespace tutti::wire
