#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "wire/bytes.hpp"
#include "wire/frames.hpp"
#include "wire/sockets_peer.hpp"

namespace tutti::wire {

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

}  // namespace

sockets::sockets(const socket_options& how, handler& to)
    : how_{how},
      handler_{to},
      observers_{how.self, how.silence, to},
      greeting_{how.most_greeting, how.greet_within},
      read_buffer_{std::make_unique_for_overwrite<char[]>(read_size)} {
    const bool encrypted = how_.tls.wanted();
    for (const std::string& text : how_.addresses) addresses_.push_back(parse_address(text, encrypted));
    if (encrypted) tls_ = std::make_unique<tls>(how_.tls, std::vector{certificate_name(how_.self, how_.cluster_name)});
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

// ---- reading

void sockets::read_next(peer& p) {
    p.socket().async_wait(stream::socket::wait_read, [this, &p](asio::error_code failed) {
        if (failed) return end(p);
        // Everything that is there, so that what it asks for is answered together.
        const ssize_t got = ::recv(p.socket().native_handle(), read_buffer_.get(), read_size, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return end(p);
        const std::string_view came{read_buffer_.get(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
        if (!with_memory([&] { return hear(p, came); })) return end(p);
        read_next(p);
    });
}

/// False: there is something that is no frame.
bool sockets::hear(peer& p, std::string_view came) {
    const std::size_t had = p.input.size();
    if (tls_session* const tls = p.link->tls.get(); tls == nullptr) p.input.append(came);
    else if (!tls->open(came, p.input)) return false;
    p.silent.store(0, std::memory_order_relaxed);
    received_bytes_.add(p.input.size() - had);  // as what is sent: without what TLS adds
    return serve(p);
}

/// Everything that has come. False: there is something that is no frame.
bool sockets::serve(peer& p) {
    struct serving {
        explicit serving(const peer& whom) noexcept { serving_peer = &whom; }
        ~serving() { serving_peer = nullptr; }
    };
    bool sound = false;
    {
        const serving it{p};
        sound = cut(p);
    }
    if (sound) flush(p);
    return sound;
}

bool sockets::cut(peer& p) {
    return cut_frames(p.input, p.number, how_.largest, [this](const header& h, std::string_view body) {
        received_frames_.add_one();
        return handler_.receive(h, body);
    });
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
        p.output.reserve(p.output.size() + header::size + body.size());  // half a frame would be the end of all others
        writer{p.output}(h);
        p.output.append(body);
        p.spoken = true;
        if (p.output.size() > how_.most_unsent && !std::exchange(p.doomed, true))
            asio::post(io_, [this, &p] { end(p); });
    }
    if (serving_peer != &p) flush(p);
    return true;
}

void sockets::give_up(node_number to) noexcept {
    const peer& p = *peers_[to];
    if (!p.open.load(std::memory_order_acquire)) return;
    ::shutdown(p.socket().native_handle(), SHUT_RDWR);  // the thread that reads finds its end, and tells the handler
}

/// Bytes could not be sealed or sent, which the reading thread need not learn: the error may be one of memory. Nothing
/// may follow them, so `sending` stays. REQUIRES: p.guard is held, and this thread sends.
void sockets::break_off(peer& p) {
    asio::post(io_, [this, &p] { end(p); });
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
            if (tls_session* const tls = p.link->tls.get()) {
                hold.unlock();
                const bool sealed = tls->seal(p.in_flight);
                hold.lock();
                if (!sealed) return break_off(p);
            }
        }
        if (p.in_flight.empty() || !p.open.load(std::memory_order_relaxed)) break;
        hold.unlock();
        system_calls_.fetch_add(1, std::memory_order_relaxed);
        const ssize_t sent = ::send(p.socket().native_handle(), p.in_flight.data() + p.in_flight_from,
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
                p.socket().async_wait(stream::socket::wait_write, [this, &p](asio::error_code failed) {
                    {
                        const std::lock_guard again{p.guard};
                        p.sending = false;
                    }
                    if (!failed) flush(p);
                });
            });
            return;
        }
        return break_off(p);
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
            try {
                handler_.beat(p->number);
            } catch (const std::bad_alloc&) {
                // The next beat is soon enough.
            }
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
    p.socket().shutdown(stream::socket::shutdown_both, ignored);
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
