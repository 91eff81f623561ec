#include "wire/transport_base.hpp"

#include <algorithm>
#include <cerrno>
#include <random>

#include "wire/bytes.hpp"
#include "wire/frames.hpp"

namespace tutti::wire {
namespace {

/// The peer whose frames the calling thread is handling. Answers to this peer wait for the end of the read.
thread_local const void* serving_peer = nullptr;

constexpr unsigned heartbeats_per_timeout = 8;

/// Returns a random number for this process. Two processes of one node must have different numbers.
std::uint64_t any_process() {
    std::random_device entropy;
    const std::uint64_t high = entropy();
    return high << 32 | entropy() | 1;
}

std::int64_t steady_ms() {
    using namespace std::chrono;
    return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

transport_base::transport_base(const transport_options& how, std::vector<address> addresses, handler& to)
    : options_{how},
      handler_{to},
      addresses_{std::move(addresses)},
      observer_server_{how.own_number, to},
      peers_{addresses_.size()},
      process_{any_process()},
      joined_(addresses_.size(), false) {}

std::chrono::milliseconds transport_base::heartbeat_interval() const noexcept {
    return std::max(options_.failure_timeout / heartbeats_per_timeout, std::chrono::milliseconds{1});
}

// ---- receiving

bool transport_base::process_input(peer& p) {
    struct serving {
        explicit serving(const peer& whom) noexcept { serving_peer = &whom; }
        ~serving() { serving_peer = nullptr; }
    };
    bool sound = false;
    {
        const serving it{p};
        sound = process_frames(p);
    }
    if (sound) flush(p);
    return sound;
}

bool transport_base::process_frames(peer& p) {
    return split_frames(p.input, p.number, options_.max_message_bytes, [this](const header& h, std::string_view body) {
        received_frames_.add_one();
        return handler_.receive(h, body);
    });
}

// ---- sending

bool transport_base::send(node_number to, header h, std::string_view body) {
    h.length = static_cast<std::uint32_t>(body.size());
    h.from = options_.own_number;
    const bool asks = h.type != message_type::heartbeat && !is_rejoin_message(h.type);
    std::shared_ptr<peer> share;
    {
        const std::lock_guard hold{peers_.guard(to)};
        peer& p = *peers_.latest(to);
        // `has_admitted` is called with the lock held, so that its result is about the current process of the node. The
        // handler was notified of the loss of the former process before the current process replaced it.
        if (!p.open.load(std::memory_order_relaxed) || (asks && !handler_.has_admitted(to))) return false;
        p.output.reserve(p.output.size() + header::size + body.size());  // half a frame would break all later ones
        writer{p.output}(h);
        p.output.append(body);
        p.has_sent = true;
        if (p.output.size() > options_.max_unsent_bytes && !std::exchange(p.doomed, true)) end_soon(p);
        share = peers_.latest(to);
    }
    frames_.fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_add(header::size + body.size(), std::memory_order_relaxed);
    if (serving_peer != share.get()) flush(*share);
    return true;
}

// ---- watching the peers

// Counts heartbeat intervals instead of time. A process that was stopped has not heard from any node for a long time.
// When that process continues, it must not count all nodes as lost.
void transport_base::send_heartbeats() {
    for (peer* const p : peers_) {
        if (!p->open.load(std::memory_order_acquire)) continue;
        if (p->silent_heartbeats.fetch_add(1, std::memory_order_relaxed) >= heartbeats_per_timeout) {
            end(*p);
            continue;
        }
        bool has_sent = false;
        {
            const std::lock_guard hold{p->guard};
            has_sent = std::exchange(p->has_sent, false);
        }
        if (has_sent) continue;
        try {
            handler_.heartbeat(p->number);
        } catch (const std::bad_alloc&) {
            // There is no memory for this heartbeat. The next one follows soon enough.
        }
        const std::lock_guard hold{p->guard};
        p->has_sent = false;  // so that the next heartbeat is sent, too
    }
}

void transport_base::end(peer& p) {
    if (!p.open.load(std::memory_order_relaxed)) return;
    // This process is ending. The handler is not notified of losses any more, but the destructor waits until `open` is
    // false.
    if (closing_.load(std::memory_order_relaxed)) return p.open.store(false, std::memory_order_release);
    p.lost_at.store(steady_ms(), std::memory_order_relaxed);
    p.open.store(false, std::memory_order_release);  // partner: `describe`, which then sees lost_at
    close_connection(p);
    handler_.on_node_lost(p.number);
}

void transport_base::describe(cluster::node_status& to) const {
    to.messages_sent = frames_.load(std::memory_order_relaxed);
    to.bytes_sent = bytes_.load(std::memory_order_relaxed);
    to.system_calls = system_calls_.load(std::memory_order_relaxed);
    to.messages_received = received_frames_.get();
    to.bytes_received = received_bytes_.get();
    observer_server_.describe(to);
    to.peers.clear();
    for (std::size_t n = 0; n < peers_.size(); ++n) {
        using enum cluster::peer_state;
        const std::shared_ptr<peer> p = peers_.share(n);
        if (p->number == options_.own_number) {
            to.peers.push_back({self, 0});
        } else if (p->open.load(std::memory_order_acquire)) {
            const auto beats = static_cast<std::uint64_t>(p->silent_heartbeats.load(std::memory_order_relaxed));
            to.peers.push_back({connected, beats * static_cast<std::uint64_t>(heartbeat_interval().count())});
        } else if (const std::int64_t at = p->lost_at.load(std::memory_order_relaxed); at != 0) {
            to.peers.push_back({lost, static_cast<std::uint64_t>(steady_ms() - at)});
        } else {
            to.peers.push_back({connecting, 0});
        }
    }
}

// ---- joining

std::string transport_base::name_of(node_number n) const {
    return "node " + std::to_string(n) + " (" + addresses_[n].text + ")";
}

void transport_base::refuse_to_listen(int error, const std::string& in_words) const {
    const address& own = addresses_[options_.own_number];
    std::string what =
        "node " + std::to_string(options_.own_number) + " cannot listen on " + own.text + ": " + in_words;
    if (!own.path.empty()) {
        what += "; remove the file if no node uses it";
    } else if (error == EADDRINUSE) {
        what +=
            "; end the program that uses it, or, if that is a node of this cluster, give this node a number of its own";
    }
    throw wire_error{what};
}

void transport_base::await_all() {
    std::unique_lock hold{joining_};
    const auto over = [this] { return !problem_.empty() || all_have_joined(); };
    const bool in_time = changed_.wait_for(hold, options_.connect_timeout, over);
    if (in_time && problem_.empty()) return;
    std::string what = problem_;
    if (what.empty()) {
        what = "these nodes did not connect within " + std::to_string(options_.connect_timeout.count()) + " ms:";
        for (std::size_t n = 0; n < peers_.size(); ++n) {
            if (n != options_.own_number && !peers_.share(n)->open.load(std::memory_order_acquire))
                what += " " + std::to_string(n) + " (" + addresses_[n].text + ")";
        }
        what += "; start them, with the same list of nodes";
        if (!recorded_problem_.empty()) what += ". The last rejected connection: " + recorded_problem_;
    }
    throw wire_error{what};
}

void transport_base::report_problem(std::string what) {
    const std::lock_guard hold{joining_};
    if (problem_.empty()) problem_ = std::move(what);
    changed_.notify_all();
}

void transport_base::record_problem(std::string what) {
    const std::lock_guard hold{joining_};
    recorded_problem_ = std::move(what);
}

void transport_base::on_peer_joined(peer& p, const header& hello) {
    p.process = hello.oldest;
    p.begun = (hello.call & wire::has_begun) != 0;
    if (!has_begun() && p.begun) handler_.merge_clock(hello.clock);
    p.open.store(true, std::memory_order_release);
    const std::lock_guard hold{joining_};
    joined_[p.number] = true;
    others_begun_ = others_begun_ || p.begun;
    if (all_have_joined() && !others_begun_) begin();
    changed_.notify_all();
}

/// REQUIRES: the caller holds joining_.
bool transport_base::all_have_joined() const {
    return static_cast<std::size_t>(std::ranges::count(joined_, true)) + 1 == joined_.size();
}

bool transport_base::others_have_begun() const {
    const std::lock_guard hold{joining_};
    return others_begun_;
}

bool transport_base::has_begun(node_number n) const {
    const std::shared_ptr<peer> p = peers_.share(n);
    return p->open.load(std::memory_order_acquire) && p->begun;
}

std::uint64_t transport_base::process_of(node_number n) const {
    if (n == options_.own_number) return process_;
    const std::shared_ptr<peer> p = peers_.share(n);
    return p->open.load(std::memory_order_acquire) ? p->process : 0;
}

std::string transport_base::own_hello(std::uint64_t flags) {
    const std::string body = encode(hello{options_.cluster, static_cast<std::uint16_t>(peers_.size())});
    header h;
    h.length = static_cast<std::uint32_t>(body.size());
    h.type = message_type::hello;
    h.from = options_.own_number;
    h.call = (has_begun() ? wire::has_begun : 0) | flags;
    h.clock = handler_.clock();
    h.oldest = process_;
    return encode(h) + body;
}

void transport_base::report_version_mismatch(const header& got) {
    report_problem("node " + std::to_string(got.from) + " speaks version " + std::to_string(got.version) +
                   " of the protocol, and this one version " + std::to_string(protocol_version) +
                   ": build all nodes from one release of Tutti");
}

bool transport_base::accepts_hello(const header& got, const hello& received, node_number called, bool may_call) {
    const bool known = is_node(called);
    if (received.cluster != options_.cluster || received.nodes != peers_.size()) {
        report_problem("node " + std::to_string(got.from) +
                       " belongs to another cluster: give all nodes the same name and the same list of addresses");
        return false;
    }
    if (known ? got.from != called : !may_call) {
        report_problem("a second node has the number " + std::to_string(got.from) + ": give each its own");
        return false;
    }
    if (known && (got.call & has_another) != 0) {
        record_problem(
            name_of(called) + " is still connected with another process that claims to be node " +
            std::to_string(options_.own_number) +
            ": if that process has ended, try again after node_options::failure_timeout; if it runs, give this one a "
            "number of its own");
        return false;
    }
    return true;
}

}  // namespace tutti::wire
