#include "wire/zeromq_transport.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "wire/zeromq_peer.hpp"

namespace tutti::wire {
namespace {

using clock = std::chrono::steady_clock;

/// The maximum number of messages that are read before the thread does other work.
constexpr unsigned max_at_once = 256;
/// The maximum time to send the remaining output in the destructor.
constexpr std::chrono::milliseconds farewell{1000};

std::optional<curve_keys> keys_of(const transport_options& how) {
    if (!how.curve.are_set()) return std::nullopt;
    if (::zmq_has("curve") == 0)
        throw wire_error{
            "this machine's libzmq was built without CURVE, so it cannot encrypt: install one that has it"};
    return curve_keys::read(how.curve, how.own_number, how.addresses.size());
}

}  // namespace

zeromq_transport::zeromq_transport(const transport_options& how, std::vector<address> addresses, handler& to)
    : transport_base{how, std::move(addresses), to},
      keys_{keys_of(how)},
      key_requests_{context_, ZMQ_REP},
      router_{context_, ZMQ_ROUTER},
      of_router_{context_, router_,
                 ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                     ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL},
      wakeup_fd_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
    for (std::size_t i = 0; i < addresses_.size(); ++i) peers_.put<called_peer>(static_cast<node_number>(i));
    set_limits(router_);
    router_.set(ZMQ_ROUTER_MANDATORY, 1);
    router_.set(ZMQ_HANDSHAKE_IVL, static_cast<int>(options_.hello_timeout.count()));
    router_.set(ZMQ_ZAP_DOMAIN, "tutti");  // makes libzmq send requests about callers even without keys
    if (keys_) {
        router_.set(ZMQ_CURVE_SERVER, 1);
        router_.set(ZMQ_CURVE_SECRETKEY, text_of(keys_->secret));
    }
    const address& own = addresses_[options_.own_number];
    const bool listens =
        wakeup_fd_ >= 0 && key_requests_.bind("inproc://zeromq.zap.01") && router_.bind(endpoint_of(own));
    if (listens) return;
    const int failed = errno;
    of_router_.stop(router_);
    if (wakeup_fd_ >= 0) ::close(wakeup_fd_);
    refuse_to_listen(failed, ::zmq_strerror(failed));
}

zeromq_transport::~zeromq_transport() {
    // The output may contain the decision of the last commit. So the destructor waits until libzmq has all output, and
    // sets a linger time, within which libzmq passes the output to the kernel.
    const auto limit = clock::now() + farewell;
    for (std::size_t n = 0; n < peers_.size(); ++n) {
        const std::shared_ptr<peer> p = peers_.share(n);
        while (p->open.load(std::memory_order_acquire) && clock::now() < limit) {
            {
                const std::lock_guard hold{p->guard};
                if (p->output.empty()) break;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }
    closing_.store(true, std::memory_order_relaxed);
    wake_reader();
    if (thread_.joinable()) thread_.join();
    for (peer* const one : peers_) {
        called_peer& p = as_called_peer(*one);
        if (!p.out) continue;
        p.of_out.stop(p.out);
        if (p.open.load(std::memory_order_relaxed)) p.out.set(ZMQ_LINGER, static_cast<int>(farewell.count()));
    }
    peers_.clear();  // destroyed before context_
    of_router_.stop(router_);
    ::close(wakeup_fd_);
}

void zeromq_transport::disconnect(node_number to) noexcept {
    const std::shared_ptr<peer> p = peers_.share(to);
    if (p->open.load(std::memory_order_acquire)) end_soon(*p);
}

// ---- the reading thread

void zeromq_transport::run() {
    auto due = clock::now() + heartbeat_interval();
    while (!closing_.load(std::memory_order_relaxed)) {
        process_router_events();
        answer_key_requests();
        const bool none_left = receive_some();
        if (none_left) end_disconnected();
        for (peer* const p : peers_) service(as_called_peer(*p));
        answer_observers();
        const auto now = clock::now();
        if (now >= due) {
            send_heartbeats();
            due = now + heartbeat_interval();
        }
        // From here until the ROUTER's descriptor is polled, the ROUTER must not send or receive.
        if (none_left) wait_until(due);
    }
}

void zeromq_transport::wait_until(clock::time_point until) {
    const auto add = [this](int descriptor) { awaited_.push_back({.fd = descriptor, .events = POLLIN, .revents = 0}); };
    awaited_.clear();
    add(wakeup_fd_);
    add(router_.descriptor());
    add(of_router_.descriptor());
    add(key_requests_.descriptor());
    for (peer* const one : peers_) {
        called_peer& p = as_called_peer(*one);
        if (should_be_called(p)) until = std::min(until, p.due);
        if (p.of_out) {
            add(p.of_out.descriptor());
            add(p.out.descriptor());
        } else if (p.stuck.load(std::memory_order_relaxed)) {
            const std::lock_guard hold{p.guard};
            if (p.out) add(p.out.descriptor());
        }
    }
    for (const auto& [number, v] : observers_by_connection_) until = std::min(until, v.due);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()).count();
    static_cast<void>(::poll(awaited_.data(), awaited_.size(), static_cast<int>(std::max<std::int64_t>(left, 0))));
    std::uint64_t rung = 0;
    if (::read(wakeup_fd_, &rung, sizeof rung) < 0) return;  // no thread has written to wakeup_fd_
}

/// Receives messages. Returns false if there may be more.
bool zeromq_transport::receive_some() {
    bool none_left = false;
    for (unsigned n = 0; n < max_at_once && !none_left; ++n) {
        zmq_message who;
        if (!router_.receive(who)) {
            none_left = true;
            break;
        }
        std::uint32_t from = 0;
        const std::string_view name = who.bytes();
        const bool ours = name.size() == connection_name_bytes && name[0] == 0;  // not chosen by the caller
        if (ours) std::memcpy(&from, name.data() + 1, sizeof from);
        unsigned parts = 0;
        zmq_message what;
        for (bool more = who.more(); more; ++parts) {
            zmq_message rest;
            zmq_message& into = parts == 0 ? what : rest;
            if (!router_.receive(into)) break;  // all parts arrive together
            more = into.more();
        }
        if (ours && parts != 0) receive(from, what, parts == 1);
    }
    // The answers to one read are sent together.
    for (const std::shared_ptr<peer>& p : std::exchange(fresh_, {})) {
        if (p->open.load(std::memory_order_relaxed) && !with_memory([&] { return process_input(*p); })) end(*p);
    }
    return none_left;
}

void zeromq_transport::receive(connection_number from, zmq_message& what, bool whole) {
    auto at = incoming_.find(from);
    if (at == incoming_.end()) {
        // The monitor's events about earlier connections with the same descriptor must be handled first. libzmq's
        // thread reported these events before it closed those connections. Only afterwards did libzmq's thread open
        // this connection and deliver this message.
        process_router_events();
        const int descriptor = what.descriptor();
        if (!connections_.contains(descriptor)) return;  // the connection has been closed meanwhile
        at = incoming_.emplace(from, incoming_connection{.descriptor = descriptor}).first;
    }
    incoming_connection& c = at->second;
    if (!std::exchange(c.has_sent, true) && whole) return receive_hello(from, c, what);
    if (c.of == nullptr) return receive_from_observer(from, whole ? what.bytes() : std::string_view{});
    called_peer& p = *c.of;
    // A peer that is not open on this side may already be open on the other side, and may send. The bytes that it sends
    // are kept.
    const bool sound = whole && with_memory([&] {
                           if (!p.open.load(std::memory_order_relaxed) && p.input.size() > options_.max_unsent_bytes)
                               return false;
                           p.input.append(what.bytes());
                           if (std::ranges::find(fresh_, &p, &std::shared_ptr<peer>::get) == fresh_.end())
                               fresh_.push_back(p.shared_from_this());
                           return true;
                       });
    p.silent_heartbeats.store(0, std::memory_order_relaxed);
    received_bytes_.add(what.bytes().size());
    if (sound) return;
    c.of = nullptr;
    if (p.open.load(std::memory_order_relaxed)) return end(p);
    forget_connection(p);
}

void zeromq_transport::process_router_events() {
    while (const auto e = of_router_.next()) {
        switch (e->what) {
            case ZMQ_EVENT_ACCEPTED: connections_.insert(e->value); break;
            case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
            case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
                record_problem(
                    std::string{"a client that does not speak ZeroMQ, or "} +
                    (keys_ ? "has no key, or has another list of keys" : "uses keys, which this node does not have"));
                break;
            case ZMQ_EVENT_DISCONNECTED:
                connections_.erase(e->value);
                for (const auto& [number, c] : incoming_) {
                    if (c.descriptor == e->value) disconnected_.push_back(number);
                }
                break;
            default: break;
        }
    }
}

/// Handles the connections that were closed. REQUIRES: all of their bytes have been read.
void zeromq_transport::end_disconnected() {
    for (const connection_number number : std::exchange(disconnected_, {})) {
        const auto at = incoming_.find(number);
        if (at == incoming_.end()) continue;
        called_peer* const p = at->second.of;
        incoming_.erase(at);
        observers_by_connection_.erase(number);
        if (p == nullptr) continue;
        if (p->open.load(std::memory_order_relaxed)) end(*p);
        else forget_connection(*p);  // the peer has not joined yet, and calls again
    }
}

/// Answers libzmq's requests about callers (ZAP, RFC 27 of ZeroMQ): whether there is room for another connection, and,
/// with CURVE, to which node the caller's key belongs.
void zeromq_transport::answer_key_requests() {
    constexpr std::size_t max_parts = 8;
    std::string parts[max_parts];
    for (zmq_message first; key_requests_.receive(first);) {
        std::size_t n = 0;
        parts[n++] = first.bytes();
        for (bool more = first.more(); more;) {
            zmq_message next;
            if (!key_requests_.receive(next)) break;
            more = next.more();
            if (n < max_parts) parts[n++] = next.bytes();
        }
        // The parts are: version, number, domain, address, routing id, mechanism, key.
        std::string_view status = "400", why = "the nodes have no such key";
        std::string user;
        const std::string& from = parts[3];
        process_router_events();
        if (connections_.size() > peers_.size() + options_.max_pending_handshakes) {
            status = "300";  // the status that makes the caller try later
            why = "there are too many";
            record_problem("a connection from " + from + ", because there were " + std::to_string(connections_.size()) +
                           " others: find the program that opens so many connections");
        } else if (!keys_) {
            status = "200";
        } else if (n == 7 && parts[5] == "CURVE" && parts[6].size() == sizeof(curve_key)) {
            curve_key shown{};
            std::memcpy(shown.data(), parts[6].data(), shown.size());
            if (const auto whose = keys_->owner_of(shown)) {
                status = "200";
                user = std::to_string(*whose);
            }
        }
        if (status == "400") {
            record_problem("a connection from " + from + " shows a key that is not in " + options_.curve.nodes +
                           ": update that file on all nodes");
        }
        // If libzmq accepts the first part of a reply, it accepts the other parts, too.
        if (key_requests_.send("1.0", true)) {
            for (const std::string_view part : {std::string_view{parts[1]}, status, why, std::string_view{user}})
                static_cast<void>(key_requests_.send(part, true));
            static_cast<void>(key_requests_.send(""));
        }
    }
}

/// Executes what other threads have requested for this peer, and any remaining work.
void zeromq_transport::service(called_peer& p) {
    if (!p.open.load(std::memory_order_relaxed)) return advance(next_of(p));
    if (p.to_end.exchange(false, std::memory_order_relaxed)) end(p);
    if (!p.stuck.load(std::memory_order_relaxed)) return;
    const std::lock_guard hold{p.guard};
    flush_output(p);
}

// ---- sending

void zeromq_transport::flush(peer& one) {
    called_peer& p = as_called_peer(one);
    const std::lock_guard hold{p.guard};
    flush_output(p);
}

/// REQUIRES: the caller holds p.guard.
void zeromq_transport::flush_output(called_peer& p) {
    while (p.out && p.sent_from < p.output.size()) {
        const std::string_view next = std::string_view{p.output}.substr(p.sent_from, max_zeromq_message_bytes);
        system_calls_.fetch_add(1, std::memory_order_relaxed);
        if (p.out.send(next)) {
            p.sent_from += next.size();
            continue;
        }
        if (errno != EAGAIN) return end_soon(p);
        // The queue may not be full any more: unless has_room() is called, libzmq reads the commands of its thread only
        // occasionally.
        if (p.out.has_room()) continue;
        if (p.sent_from >= p.output.size() / 2) p.output.erase(0, std::exchange(p.sent_from, 0));
        if (!p.stuck.exchange(true, std::memory_order_relaxed)) wake_reader();
        return;
    }
    p.output.clear();
    p.sent_from = 0;
    p.stuck.store(false, std::memory_order_relaxed);
}

void zeromq_transport::end_soon(peer& p) {
    // The system call in wake_reader orders this store before the wake-up. In the reading thread, the system call that
    // reads wakeup_fd_ orders the wake-up before the load of `to_end`.
    as_called_peer(p).to_end.store(true, std::memory_order_relaxed);
    wake_reader();
}

void zeromq_transport::close_connection(peer& one) noexcept {
    called_peer& p = as_called_peer(one);
    forget_connection(p);
    p.is_former = true;
    const std::lock_guard hold{p.guard};
    p.out.close();
    flush_output(p);
}

void zeromq_transport::wake_reader() noexcept {
    const std::uint64_t once = 1;
    static_cast<void>(!::write(wakeup_fd_, &once, sizeof once));  // fails if too many wakeups are unread
}

}  // namespace tutti::wire
