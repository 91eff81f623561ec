#include "exposition/web_server.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <deque>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "exposition/page_maker.hpp"
#include "exposition/web_listener.hpp"
#include "exposition/web_request.hpp"

namespace tutti::exposition {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// How long the server accepts no clients after `accept` has run out of descriptors or memory. Without this pause, poll
/// would return immediately again and again, because the listener stays readable.
constexpr milliseconds accept_pause{100};

}  // namespace

class web_server::impl {
public:
    impl(const std::string& host, std::uint16_t port, pages all)
        : pages_{std::move(all)},
          listener_{listen_for_web(host, port)},
          port_{port_of(listener_)},
          wakeup_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)} {
        if (wakeup_.get() < 0)
            throw std::system_error{errno, std::generic_category(), "cannot create a descriptor for metrics"};
        for (const auto& [path, make] : pages_) {
            makers_.try_emplace(path, make, [this](std::vector<client_id> whose, page made) {
                const std::scoped_lock lock{mutex_};
                made_.push_back({std::move(whose), std::move(made)});
                ring();
            });
        }
        thread_ = std::thread{[this] { serve(); }};
    }
    ~impl() {
        // The page makers end first, so that the pages in progress are still sent.
        ends_.store(true);
        ring();
        for (auto& [path, maker] : makers_) maker.end();
        thread_ended_.store(true);
        ring();
        thread_.join();
    }
    impl(const impl&) = delete;
    impl& operator=(const impl&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

private:
    struct web_client {
        enum class state : std::uint8_t {
            reading,    ///< the head of its request is not complete
            waiting,    ///< for its page
            writing,    ///< its answer goes out
            lingering,  ///< discards received bytes, so that the system does not reset the connection
            gone
        };

        web_peer peer;
        clock::time_point until;  // the deadline of the next progress; not used in state `waiting`
        state is = state::reading;
        bool head_only = false;
        std::string received{};
        std::string answer{};
        std::size_t sent = 0;

        /// Returns true if the connection is open only because the client is slow.
        [[nodiscard]] bool is_idle() const noexcept { return is == state::reading || is == state::lingering; }
    };

    struct finished_page {
        std::vector<client_id> whose;
        page made;
    };

    void ring() noexcept { static_cast<void>(::eventfd_write(wakeup_.get(), 1)); }
    void serve() noexcept;
    void sleep() noexcept;
    void accept();
    void displace() noexcept;
    void serve_client(client_id id) noexcept;
    void read(client_id id, web_client& c);
    void discard(web_client& c);
    void handle_request(client_id id, web_client& c);
    void answer(web_client& c, const page& p);
    void write(web_client& c);
    void hand_out();
    void close(client_id id) noexcept;

    const pages pages_;
    const owned_descriptor listener_;
    const std::uint16_t port_;
    const owned_descriptor wakeup_;
    std::mutex mutex_;
    std::deque<finished_page> made_;  // under mutex_
    std::atomic<bool> ends_{false}, thread_ended_{false};
    std::map<std::string, page_maker, std::less<>> makers_;

    // Only the server's thread uses the following members:
    std::map<client_id, web_client> clients_;  // in the order of their arrival
    client_id next_ = 0;
    clock::time_point now_ = clock::now();
    clock::time_point accepts_from_ = now_;
    std::array<pollfd, max_connections + 2> polled_{};
    std::array<client_id, max_connections> polled_clients_{};
    std::thread thread_;
};

void web_server::impl::serve() noexcept {
    begin_page_thread();
    while (!thread_ended_) {
        sleep();
        now_ = clock::now();
        try {
            hand_out();
            if ((polled_[1].revents & POLLIN) != 0 && !ends_) accept();
        } catch (const std::bad_alloc&) {
            accepts_from_ = now_ + accept_pause;
        }
    }
    try {
        hand_out();
    } catch (const std::bad_alloc&) {
        // The connections of these clients are closed without an answer.
    }
}

/// Waits until a socket is ready. Serves the clients whose sockets are ready, and closes clients whose deadline has
/// passed.
void web_server::impl::sleep() noexcept {
    const auto now = clock::now();
    const bool accepts = now >= accepts_from_ && !ends_;
    auto until = accepts || ends_ ? clock::time_point::max() : accepts_from_;
    polled_[0] = {.fd = wakeup_.get(), .events = POLLIN, .revents = 0};
    polled_[1] = {.fd = accepts ? listener_.get() : -1, .events = POLLIN, .revents = 0};
    std::size_t count = 0;
    for (const auto& [id, c] : clients_) {
        using state = web_client::state;
        const short events = c.is == state::waiting ? 0 : c.is == state::writing ? POLLOUT : POLLIN;
        polled_[count + 2] = {.fd = c.peer.socket.get(), .events = events, .revents = 0};
        polled_clients_[count++] = id;
        if (c.is != state::waiting) until = std::min(until, c.until);
    }
    const auto left = std::chrono::ceil<milliseconds>(std::max(until - now, clock::duration::zero())).count();
    const int timeout = until == clock::time_point::max() ? -1 : static_cast<int>(left);
    if (::poll(polled_.data(), count + 2, timeout) < 0)
        for (pollfd& p : polled_) p.revents = 0;
    now_ = clock::now();
    eventfd_t rung = 0;
    if (polled_[0].revents != 0) static_cast<void>(::eventfd_read(wakeup_.get(), &rung));
    for (std::size_t i = 0; i < count; ++i) {
        const web_client& c = clients_.at(polled_clients_[i]);
        const bool is_late = c.is != web_client::state::waiting && now_ >= c.until;
        if (is_late) close(polled_clients_[i]);
        else if (polled_[i + 2].revents != 0) serve_client(polled_clients_[i]);
    }
}

void web_server::impl::accept() {
    for (std::size_t i = 0; i < max_connections; ++i) {
        web_peer peer = accept_web(listener_);
        if (peer.socket.get() < 0) {
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) accepts_from_ = now_ + accept_pause;
            return;
        }
        if (clients_.size() == max_connections) displace();
        const client_id id = next_++;
        clients_.emplace(id, web_client{.peer = std::move(peer), .until = now_ + progress_timeout});
        serve_client(id);  // the request usually arrives together with the connection
    }
}

/// Closes one client of the address that has the most clients: the oldest idle client, or the oldest client if none is
/// idle.
void web_server::impl::displace() noexcept {
    const auto from_there = [this](const web_client& c) {
        return std::ranges::count_if(clients_,
                                     [&](const auto& other) { return other.second.peer.origin == c.peer.origin; });
    };
    auto chosen = clients_.begin();
    auto most_connections = from_there(chosen->second);
    for (auto next = std::next(chosen); next != clients_.end(); ++next) {
        const auto many = from_there(next->second);
        const bool is_idler = next->second.is_idle() && !chosen->second.is_idle();
        if (many < most_connections || (many == most_connections && !is_idler)) continue;
        chosen = next;
        most_connections = many;
    }
    close(chosen->first);
}

void web_server::impl::serve_client(client_id id) noexcept try {
    using state = web_client::state;
    web_client& c = clients_.at(id);
    switch (c.is) {
        case state::reading: read(id, c); break;
        case state::writing: write(c); break;
        case state::lingering: discard(c); break;
        case state::waiting:  // poll reports such a client only when its connection has ended
        case state::gone: c.is = state::gone;
    }
    if (c.is == state::gone) close(id);
} catch (const std::exception&) {
    close(id);
}

/// Reads the head of a request. The loop ends, because a head has a maximum size.
void web_server::impl::read(client_id id, web_client& c) {
    std::array<char, 4096> bytes;
    while (c.is == web_client::state::reading) {
        const ssize_t got = ::recv(c.peer.socket.get(), bytes.data(), bytes.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got <= 0) {
            c.is = web_client::state::gone;
            return;
        }
        c.received.append(bytes.data(), static_cast<std::size_t>(got));
        handle_request(id, c);
    }
}

/// Discards received bytes. One call reads only once, because a client may send without end.
void web_server::impl::discard(web_client& c) {
    std::array<char, 4096> bytes;
    const ssize_t got = ::recv(c.peer.socket.get(), bytes.data(), bytes.size(), 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) c.is = web_client::state::gone;
}

void web_server::impl::handle_request(client_id id, web_client& c) {
    using state = web_request::state;
    const web_request r = read_request(c.received);
    if (r.is == state::incomplete) return;
    if (r.is == state::too_long) return answer(c, {.status = 431, .text = "request header too long\n"});
    if (r.is == state::malformed) return answer(c, {.status = 400, .text = "not an HTTP/1 request\n"});
    const auto found = makers_.find(r.path);
    c.head_only = r.method == "HEAD";
    if (found == makers_.end()) {
        page nothing{.status = 404, .text = "no such page; available are"};
        for (const auto& [path, make] : pages_) nothing.text += " " + path;
        nothing.text += '\n';
        return answer(c, nothing);
    }
    if (r.method != "GET" && r.method != "HEAD")
        return answer(c, {.status = 405, .text = "only GET and HEAD are allowed\n"});
    found->second.request(id);
    c.is = web_client::state::waiting;
}

void web_server::impl::answer(web_client& c, const page& p) {
    c.answer = answer_of(p, c.head_only);
    c.is = web_client::state::writing;
    c.until = now_ + progress_timeout;
    write(c);
}

void web_server::impl::write(web_client& c) {
    while (c.sent < c.answer.size()) {
        const ssize_t done =
            ::send(c.peer.socket.get(), c.answer.data() + c.sent, c.answer.size() - c.sent, MSG_NOSIGNAL);
        if (done < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (done < 0) {
            c.is = web_client::state::gone;
            return;
        }
        c.sent += static_cast<std::size_t>(done);
        c.until = now_ + progress_timeout;
    }
    ::shutdown(c.peer.socket.get(), SHUT_WR);
    c.is = web_client::state::lingering;
}

void web_server::impl::hand_out() {
    std::deque<finished_page> all;
    {
        const std::scoped_lock lock{mutex_};
        all.swap(made_);
    }
    for (const finished_page& f : all) {
        for (const client_id id : f.whose) {
            const auto found = clients_.find(id);
            if (found == clients_.end()) continue;
            answer(found->second, f.made);
            if (found->second.is == web_client::state::gone) close(id);
        }
    }
}

void web_server::impl::close(client_id id) noexcept {
    const auto found = clients_.find(id);
    if (found == clients_.end()) return;
    if (found->second.is == web_client::state::waiting)
        for (auto& [path, maker] : makers_) maker.forget(id);
    clients_.erase(found);
}

web_server::web_server(const std::string& host, std::uint16_t port, pages all)
    : impl_{std::make_unique<impl>(host, port, std::move(all))} {}

web_server::~web_server() = default;

std::uint16_t web_server::port() const noexcept { return impl_->port(); }

}  // namespace tutti::exposition
