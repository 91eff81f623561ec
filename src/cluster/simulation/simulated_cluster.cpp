#include "cluster/simulation/simulated_cluster.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "wire/bytes.hpp"

namespace tutti::cluster::simulation {
namespace {

constexpr unsigned bits_of_call = 40;  // the low bits of a request's number; the thread's number is above

}  // namespace

/// Sends the messages that a protocol node sends on its own initiative. Even messages to the node itself go over the
/// network.
class simulated_cluster::simulated_sender final : public change_listener {
public:
    simulated_sender(simulated_cluster& in, node_number at) noexcept : cluster_{in}, at_{at} {}

    void on_change(const object_id& id, std::span<const node_number> watchers) override {
        for (const node_number n : watchers)
            cluster_.send(at_, n, wire::message_type::object_changed, 0, wire::encode(wire::object_changed{id}), true);
    }
    bool report_eviction(const object_id& id, node_number owner, std::uint64_t version) noexcept override {
        const auto nodes = static_cast<node_number>(cluster_.nodes_.size());
        cluster_.send(at_, home_of(id, nodes), wire::message_type::owner_update, 0,
                      wire::encode(wire::owner_update{id, owner, version}), true);
        ++cluster_.evictions_reported_;
        return true;
    }

    void invalidate_copy(const object_id& id, node_number holder, std::uint64_t grant) noexcept override {
        cluster_.send(at_, holder, wire::message_type::invalidate, 0,
                      wire::encode(wire::invalidation{.id = id, .grant = grant}), false);
    }

private:
    simulated_cluster& cluster_;
    const node_number at_;
};

/// Sends the messages of the rejoin protocol, and those about transactions in doubt and lost nodes.
class simulated_cluster::rejoin_sender final : public rejoin_transport {
public:
    rejoin_sender(simulated_cluster& in, node_number at) noexcept : cluster_{in}, at_{at} {}

    void send_one_way(node_number to, wire::message_type type, std::string body) override {
        cluster_.send(at_, to, type, 0, body, true);
    }
    std::uint64_t process_of(node_number n) override { return cluster_.links_[at_][n]; }

private:
    simulated_cluster& cluster_;
    const node_number at_;
};

simulated_cluster::simulated_cluster(node_number nodes, object_placement how, std::uint64_t seed,
                                     const wire::network_conditions& network)
    : placement_{how},
      lives_(nodes, life::running),
      processes_(nodes, 1),
      links_(nodes, std::vector<process>(nodes, 1)),
      network_{seed, network, [this](node_number to, const std::string& frame) { on_arrival(to, frame); }} {
    for (node_number i = 0; i < nodes; ++i) {
        nodes_.push_back(std::make_unique<protocol_node>(i, nodes, how));
        senders_.push_back(std::make_unique<simulated_sender>(*this, i));
        nodes_[i]->objects.set_listener(*senders_[i]);
        rejoin_senders_.push_back(std::make_unique<rejoin_sender>(*this, i));
        nodes_[i]->set_sender(*rejoin_senders_[i]);
        rejoins_.push_back(std::make_unique<rejoin_protocol>(*nodes_[i], *rejoin_senders_[i]));
    }
}

simulated_cluster::~simulated_cluster() = default;

void simulated_cluster::send(node_number from, node_number to, wire::message_type type, std::uint64_t call,
                             const std::string& body, bool sure) {
    const bool has_lost = from != to && at(from).objects.is_lost(to);
    if (has_lost && !wire::is_rejoin_message(type) && !injected(fault::rejoin_as_former)) return;
    const wire::header h{
        static_cast<std::uint32_t>(body.size()), type, wire::protocol_version, from, call, at(from).clock.now(),
        at(from).snapshots.low_watermark()};
    const ends of{processes_[from], from == to ? processes_[to] : links_[from][to]};
    std::string frame{reinterpret_cast<const char*>(&of), sizeof of};
    network_.send(from, to, std::move(frame) + wire::encode(h) + body, sure);
}

void simulated_cluster::end_node(node_number n, std::uint64_t notice) {
    end_unnoticed(n);
    for (node_number other = 0; other < lives_.size(); ++other) {
        if (other == n) continue;
        network_.after(1 + network_.random_below(notice), [this, other, n, ended = processes_[n]] {
            if (links_[other][n] == ended) lose_node(other, n);
        });
    }
}

void simulated_cluster::restart_node(node_number n, std::uint64_t notice) {
    begin_rejoin(n);
    if (!is_serving(n)) rejoin(n, processes_[n], notice);
}

void simulated_cluster::begin_rejoin(node_number n) {
    const auto nodes = static_cast<node_number>(nodes_.size());
    former_nodes_.push_back(std::exchange(nodes_[n], std::make_unique<protocol_node>(n, nodes, placement_)));
    nodes_[n]->objects.set_listener(*senders_[n]);
    nodes_[n]->set_sender(*rejoin_senders_[n]);
    on_new_node(*nodes_[n]);
    former_rejoins_.push_back(
        std::exchange(rejoins_[n], std::make_unique<rejoin_protocol>(*nodes_[n], *rejoin_senders_[n])));
    const process fresh = ++processes_[n];
    for (node_number other = 0; other < nodes; ++other) {
        links_[n][other] = lives_[other] == life::ended && other != n ? 0 : processes_[other];
        if (injected(fault::rejoin_as_former)) links_[other][n] = fresh;
    }
    lives_[n] = life::rejoining;
    if (injected(fault::rejoin_as_former)) {
        lives_[n] = life::rejoined;
        return on_rejoined(n);
    }
    std::vector<bool> serving;
    for (node_number other = 0; other < nodes; ++other) serving.push_back(is_serving(other));
    rejoins_[n]->begin(serving);
}

bool simulated_cluster::is_admitted(node_number n) {
    if (lives_[n] != life::rejoining || !rejoins_[n]->is_over()) return false;
    lives_[n] = life::rejoined;
    on_rejoined(n);
    return true;
}

void simulated_cluster::rejoin(node_number n, process which, std::uint64_t notice) {
    if (processes_[n] != which || lives_[n] != life::rejoining) return;
    rejoin_protocol& a = *rejoins_[n];
    if (a.lost_before_report()) {
        end_node(n, notice);
        return network_.after(2 * notice, [this, n, notice] { restart_node(n, notice); });
    }
    if (is_admitted(n)) return;
    // Sends the requests again only if all nodes run, because an ended node has no process to connect with.
    if (std::ranges::find(lives_, life::ended) == lives_.end()) a.resend();
    network_.after(50, [this, n, which, notice] { rejoin(n, which, notice); });
}

void simulated_cluster::lose_node(node_number at, node_number lost) {
    if (lives_[at] == life::ended) return;
    links_[at][lost] = 0;
    this->at(at).on_node_lost(lost);
    rejoins_[at]->on_node_lost(lost);
    for (simulated_thread* const c : threads_) {
        if (c->home() == at) c->fail_calls_to(lost);
    }
    on_node_lost(at, lost);
}

bool simulated_cluster::accepts(node_number to, const wire::header& h, ends of) {
    if (lives_[to] == life::ended) return false;
    if (to == h.from || injected(fault::accept_late_messages) || injected(fault::rejoin_as_former)) return true;
    process& known = links_[to][h.from];
    // Once the former process of the sender is lost, the first rejoin message connects the receiver with the new
    // process.
    const bool calls =
        wire::is_rejoin_message(h.type) && lives_[h.from] != life::ended && of.from == processes_[h.from];
    if (known == 0 && calls) known = of.from;
    return of.to == processes_[to] && of.from == known;
}

bool simulated_cluster::knows_lost(node_number at, node_number other) {
    return this->at(at).objects.is_lost(other) && !injected(fault::rejoin_as_former);
}

bool simulated_cluster::read_header(const std::string& frame, wire::header& h) {
    return frame.size() >= sizeof(ends) + wire::header::size &&
           wire::decode(std::string_view{frame}.substr(sizeof(ends), wire::header::size), h);
}

void simulated_cluster::deliver(node_number to, const std::string& frame) {
    wire::header h;
    ends of{};
    std::memcpy(&of, frame.data(), sizeof of);
    if (!read_header(frame, h)) return fail("a header cannot be read");
    if (!accepts(to, h, of)) return;
    const std::string_view body = body_of(frame);
    if (!at(to).receive_header(h)) fail("a clock has jumped");
    if (wire::is_rejoin_message(h.type)) {
        if (!rejoins_[to]->receive(h, body)) fail("a message of a return cannot be read");
        return;
    }
    const bool is_lost = to != h.from && at(to).objects.is_lost(h.from) && !injected(fault::rejoin_as_former);
    if (is_lost && !rejoins_[to]->receive_other(h.from)) {
        if (!injected(fault::accept_late_messages)) fail("one that is lost asks for something");
        return;
    }
    if (is_reply(h.type)) return threads_[(h.call >> bits_of_call) - 1]->receive_answer(h.call, body);
    if (h.type == wire::message_type::object_changed) {
        wire::object_changed message;
        if (!wire::decode(body, message)) return fail("a change cannot be read");
        return on_change(to, message.id);
    }
    bool sound = true;
    if (auto a = at(to).serve(h, body, sound)) send(to, h.from, a->type, h.call, a->body, false);
    if (!sound) fail("a message cannot be read");
}

simulated_thread::simulated_thread(simulated_cluster& in, node_number at)
    : cluster_{in}, home_{at}, number_{static_cast<unsigned>(in.threads_.size())} {
    in.threads_.push_back(this);
}

bool simulated_thread::call_batch::is_complete() const noexcept {
    return std::ranges::all_of(calls, [](const call& c) { return c.answered || c.peer_lost; });
}

void simulated_thread::start_batch(call_batch& r, std::span<call> calls) {
    for (call& c : calls) {
        c.answered = false;
        c.peer_lost = cluster_.knows_lost(home_, c.to);
        c.sent = !c.peer_lost;
    }
    r.calls = calls;
    r.first = (std::uint64_t{number_ + 1} << bits_of_call) | next_call_;
    next_call_ += calls.size();
    send_unanswered(r.first);
}

void simulated_thread::wait_for(call_batch& r) {
    struct at_end {  // also runs when the thread's node ends and its stack is unwound
        simulated_thread& of;
        call_batch& r;
        ~at_end() {
            of.awaited_ = nullptr;
            r.calls = {};
        }
    } const forgets_them{*this, r};
    awaited_ = &r;
    while (!r.is_complete()) suspend();
}

void simulated_thread::exchange(std::span<call> calls) {
    if (calls.empty()) return;
    start_batch(current_, calls);
    wait_for(current_);
}

void simulated_thread::begin(std::span<call> calls) { start_batch(prefetch_, calls); }

void simulated_thread::finish() { wait_for(prefetch_); }

void simulated_thread::post(node_number to, wire::message_type type, std::string body) {
    cluster_.send(home_, to, type, 0, body, true);
}

bool simulated_thread::is_reachable(node_number node) const noexcept { return !cluster_.knows_lost(home_, node); }

void simulated_thread::receive_answer(std::uint64_t number, std::string_view body) {
    for (call_batch& r : batches_) {
        const std::uint64_t i = number - r.first;
        if (i >= r.calls.size() || r.calls[i].answered || r.calls[i].peer_lost) continue;
        r.calls[i].answer = body;
        r.calls[i].answered = true;
        if (awaited_ == &r && r.is_complete()) return resume();
    }
}

void simulated_thread::fail_calls_to(node_number lost) {
    const bool waits = awaited_ != nullptr && !awaited_->is_complete();
    for (call_batch& r : batches_) {
        for (call& c : r.calls) c.peer_lost = c.peer_lost || (c.to == lost && !c.answered);
    }
    if (waits && awaited_->is_complete()) resume();
}

void simulated_thread::send_unanswered(std::uint64_t first) {
    for (call_batch& r : batches_) {
        if (r.first != first || r.is_complete()) continue;
        for (std::size_t i = 0; i < r.calls.size(); ++i) {
            const call& c = r.calls[i];
            if (!c.answered && !c.peer_lost) cluster_.send(home_, c.to, c.type, first + i, c.body, false);
        }
        if (failure_timeout() != 0)
            cluster_.network().after(failure_timeout(), [this, first] { send_unanswered(first); });
    }
}

}  // namespace tutti::cluster::simulation
