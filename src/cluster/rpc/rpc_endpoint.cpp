#include "cluster/rpc/rpc_endpoint.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/futex.hpp"
#include "cluster/protocol/call_messages.hpp"
#include "wire/bytes.hpp"

namespace tutti::cluster {
namespace {

constexpr unsigned slot_shift = 48;  // in a call's number: the bits from here on are the slot plus one
constexpr std::chrono::microseconds spin_limit{50};
constexpr unsigned max_waits_without_spinning = 63;

/// Counts this thread among the spinning threads.
class spinner {
public:
    explicit spinner(std::atomic<unsigned>& all) noexcept
        : all_{all}, number_{all.fetch_add(1, std::memory_order_relaxed) + 1} {}
    ~spinner() { all_.fetch_sub(1, std::memory_order_relaxed); }
    spinner(const spinner&) = delete;
    spinner& operator=(const spinner&) = delete;
    [[nodiscard]] unsigned number() const noexcept { return number_; }

private:
    std::atomic<unsigned>& all_;
    const unsigned number_;
};

}  // namespace

// ---- one thread's calls

void rpc_client::send_calls(call_batch& r, std::span<call> calls) {
    {
        const std::lock_guard hold{guard_};
        for (call& c : calls) c.answered = c.peer_lost = false;
        r.calls = calls;
        r.first = (std::uint64_t{slot} + 1) << slot_shift | next_call_;
        next_call_ += calls.size();
        r.missing = calls.size();
        r.sent_ns = endpoint_.timeline_.begin();
        r.sequence = attempt_;
        r.completed.store(0, std::memory_order_relaxed);
    }
    is_remote_ = true;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        calls[i].sent = endpoint_.send(calls[i].to, calls[i].type, r.first + i, calls[i].body);
        if (!calls[i].sent) fail_calls_to(calls[i].to);
    }
}

void rpc_client::wait_for(call_batch& r) {
    endpoint_.round_trips_.fetch_add(1, std::memory_order_relaxed);
    const std::int64_t since = endpoint_.timeline_.begin();
    const base::deadline deadline = base::now() + endpoint_.failure_timeout_;
    if (!spin_until_complete(r)) {
        while (!r.is_complete() && base::now() < deadline) api::park(descriptor_, r.completed, deadline);
    }
    if (since != 0) record_wait(r, since);
}

void rpc_client::discard(call_batch& r) noexcept {
    const std::lock_guard hold{guard_};
    for (std::size_t i = 0; i < r.calls.size() && r.sent_ns != 0; ++i) {
        if (!r.calls[i].answered && !r.calls[i].peer_lost) record_call(r, i, timeline_outcome::unanswered);
    }
    r.calls = {};
    r.missing = 0;
    r.completed.store(1, std::memory_order_relaxed);
}

void rpc_client::exchange(std::span<call> calls) {
    if (calls.empty()) return;
    struct at_end {  // also runs if the memory for a message cannot be allocated
        rpc_client& of;
        ~at_end() { of.discard(of.current_); }
    } const forgets_them{*this};
    send_calls(current_, calls);
    wait_for(current_);
}

void rpc_client::begin(std::span<call> calls) {
    discard(prefetch_);
    if (calls.empty()) return;
    try {
        send_calls(prefetch_, calls);
    } catch (...) {
        discard(prefetch_);
        throw;
    }
}

void rpc_client::finish() {
    if (!prefetch_.is_complete()) wait_for(prefetch_);
    discard(prefetch_);
}

/// Spins for a short time. Returns true if the batch is complete. Spinning pays because an answer from this machine, or
/// from a near one, arrives sooner than a sleeping thread wakes up. Yields the processor to other threads meanwhile. If
/// the answers take longer, the next waits do not spin. The number of waits without spinning grows each time.
bool rpc_client::spin_until_complete(const call_batch& r) noexcept {
    if (descriptor_.hooks != nullptr) return false;  // a scheduler's worker has other contexts to run
    if (waits_without_spinning_ != 0) {
        --waits_without_spinning_;
        return false;
    }
    const spinner one{endpoint_.spinning_};
    if (one.number() > endpoint_.max_spinning_) return false;
    const base::deadline limit = base::real_now() + spin_limit;
    do {
        if (r.is_complete()) {
            last_waits_without_spinning_ = 0;
            return true;
        }
        std::this_thread::yield();
    } while (base::real_now() < limit);
    waits_without_spinning_ = last_waits_without_spinning_ =
        std::min(2 * last_waits_without_spinning_ + 1, max_waits_without_spinning);
    return false;
}

void rpc_client::post(node_number to, wire::message_type type, std::string body) {
    is_remote_ = true;
    const std::int64_t since = endpoint_.timeline_.begin();
    endpoint_.send(to, type, 0, body);
    if (since == 0) return;
    endpoint_.timeline_.record({.role = timeline_role::asks,
                                .operation = operation_of(type, body),
                                .node = to,
                                .thread = slot,
                                .sequence = attempt_,
                                .began_ns = since});
}

void rpc_client::pause(unsigned attempt) {
    // A commit takes about one round trip.
    is_remote_ = true;
    if (attempt < 3) return std::this_thread::yield();
    const std::int64_t since = endpoint_.timeline_.begin();
    random_ = random_ * 6364136223846793005u + 1442695040888963407u + slot;
    const std::uint64_t most = std::uint64_t{20} << std::min(attempt, 8u);
    const tutti::detail::shared<std::uint32_t> nobody_ends_it{0};
    const base::deadline until = base::now() + std::chrono::microseconds{(random_ >> 33) % most};
    while (base::now() < until) api::park(descriptor_, nobody_ends_it, until);
    endpoint_.timeline_.record({.role = timeline_role::waits,
                                .operation = timeline_operation::pause,
                                .thread = slot,
                                .sequence = attempt_,
                                .began_ns = since});
}

/// Returns true if a message of `node` arrived within half of `failure_timeout`. `node` treats this node as lost after
/// a whole `failure_timeout` without a message. The other half of that time is a margin for the messages from this node
/// to `node`, because both nodes send equally often. Relaxed, because the time orders nothing, and an outdated value
/// only makes the node seem silent.
bool rpc_client::is_reachable(node_number node) const noexcept {
    const std::int64_t since = endpoint_.last_heard_ns_[node].load(std::memory_order_relaxed);
    return base::now().time_since_epoch().count() - since <
           std::chrono::nanoseconds{endpoint_.failure_timeout_}.count() / 2;
}

void rpc_client::subtract_missing(call_batch& r, std::size_t calls) noexcept {
    r.missing -= calls;
    if (calls != 0 && r.missing == 0 && r.completed.load(std::memory_order_relaxed) == 0)
        api::unpark(descriptor_, r.completed);
}

void rpc_client::receive_answer(std::uint64_t number, node_number from, std::string_view body) {
    const std::lock_guard hold{guard_};
    for (call_batch& r : batches_) {
        const std::uint64_t i = number - r.first;
        if (i >= r.calls.size() || r.calls[i].answered || r.calls[i].peer_lost || r.calls[i].to != from) continue;
        r.calls[i].answer = body;
        r.calls[i].answered = true;
        r.last_to_answer = from;
        if (r.sent_ns != 0) record_call(r, i, timeline_outcome::done);
        subtract_missing(r, 1);
    }
}

/// Stops waiting for the answers of `node`. Still waits for answers of other nodes, because each answer shows that its
/// node is not lost.
void rpc_client::fail_calls_to(node_number node) {
    const std::lock_guard hold{guard_};
    for (call_batch& r : batches_) {
        std::size_t given_up = 0;
        for (std::size_t i = 0; i < r.calls.size(); ++i) {
            call& c = r.calls[i];
            if (c.to != node || c.answered || c.peer_lost) continue;
            c.peer_lost = true;
            r.last_to_answer = node;
            if (r.sent_ns != 0) record_call(r, i, timeline_outcome::lost);
            ++given_up;
        }
        subtract_missing(r, given_up);
    }
}

// ---- what the timeline records of an RPC client

void rpc_client::on_attempt_begin() noexcept {
    outermost_attempt_ = attempt_;
    attempt_began_ns_ = endpoint_.timeline_.begin();
    is_remote_ = false;
}

void rpc_client::record_attempt(timeline_outcome how, rollback_reason why) noexcept {
    endpoint_.timeline_.record({.role = timeline_role::runs,
                                .operation = timeline_operation::attempt,
                                .outcome = how,
                                .why = why,
                                .thread = slot,
                                .sequence = outermost_attempt_,
                                .began_ns = attempt_began_ns_});
}

/// REQUIRES: the caller holds the lock.
void rpc_client::record_call(const call_batch& r, std::size_t which, timeline_outcome how) noexcept {
    const call& c = r.calls[which];
    endpoint_.timeline_.record({.role = timeline_role::asks,
                                .operation = operation_of(c.type, c.body),
                                .outcome = how,
                                .node = c.to,
                                .thread = slot,
                                .sequence = r.sequence,
                                .question = r.first + which,
                                .began_ns = r.sent_ns});
}

void rpc_client::record_wait(const call_batch& r, std::int64_t since) noexcept {
    const std::lock_guard hold{guard_};
    const auto missing = std::ranges::find_if(r.calls, [](const call& c) { return !c.answered && !c.peer_lost; });
    const bool timed_out = missing != r.calls.end();
    endpoint_.timeline_.record({.role = timeline_role::waits,
                                .operation = operation_of(r.calls.front().type, r.calls.front().body),
                                .outcome = timed_out ? timeline_outcome::unanswered : timeline_outcome::done,
                                .node = timed_out ? missing->to : r.last_to_answer,
                                .thread = slot,
                                .sequence = r.sequence,
                                .began_ns = since});
}

// ---- the endpoint

rpc_endpoint::rpc_endpoint(protocol_node& of, local_change_feed& local_changes, const wire::transport_options& how,
                           std::chrono::milliseconds failure_timeout, std::function<node_status()> status_source)
    : node_{of},
      local_changes_{local_changes},
      failure_timeout_{failure_timeout},
      connect_timeout_{how.connect_timeout},
      addresses_{how.addresses},
      status_source_{std::move(status_source)},
      rejoin_{of, *this} {
    node_.objects.set_listener(*this);
    node_.set_sender(*this);
    node_.max_message_bytes = how.max_message_bytes;
    if (how.addresses.size() >= 2) transport_ = wire::make_transport(how, *this);
}

void rpc_endpoint::join() {
    if (!transport_) return;
    transport_->join();  // from here on the transport's thread calls the endpoint
    if (transport_->others_have_begun()) rejoin();
}

/// Asks the other nodes to admit this node again. A former process of this node was in the cluster before.
void rpc_endpoint::rejoin() {
    // The pause before a try doubles each time, because lists of moved objects may be long. But each round begins
    // immediately, with the shortest pause, because several rounds are needed while objects move between the other
    // nodes.
    constexpr std::chrono::milliseconds shortest{5}, longest{1000};
    std::chrono::milliseconds before_next_try = shortest;
    std::vector<bool> serving;
    for (node_number n = 0; n < node_.nodes; ++n) serving.push_back(transport_->has_begun(n));
    rejoin_.begin(serving);
    const base::deadline deadline = base::now() + connect_timeout_;
    const auto list = [this](const std::vector<node_number>& nodes) {
        std::string all;
        for (const node_number n : nodes) all += " " + std::to_string(n) + " (" + addresses_[n] + ")";
        return all;
    };
    for (;;) {
        rejoin_.resend();
        const bool another_round = rejoin_.wait(base::now() + before_next_try);
        before_next_try = another_round ? shortest : std::min(2 * before_next_try, longest);
        if (rejoin_.is_over()) return transport_->begin();
        if (const auto lost = rejoin_.lost_before_report()) {
            throw wire::wire_error{"node" + list({*lost}) + " was lost while this node rejoined: restart both"};
        }
        if (base::now() < deadline) continue;
        throw wire::wire_error{
            "these nodes have not admitted this node within " + std::to_string(connect_timeout_.count()) +
            " ms:" + list(rejoin_.awaited_nodes()) +
            "; a block there may still hold locks of a former process of this node, or a node has not noticed that "
            "another one was restarted: restart this node"};
    }
}

void rpc_endpoint::fill_status(node_status& to) const {
    to.round_trips = round_trips_.load(std::memory_order_relaxed);
    if (transport_) {
        transport_->describe(to);
        for (node_number n = 0; n < node_.nodes; ++n) {
            if (to.peers[n].state == peer_state::connected && node_.objects.is_lost(n))
                to.peers[n].state = peer_state::connecting;
        }
    } else to.peers.assign(1, {peer_state::self, 0});
}

rpc_endpoint::~rpc_endpoint() = default;

rpc_client& rpc_endpoint::open_client(core::descriptor& context) {
    const std::lock_guard hold{guard_};
    if (clients_.size() == clients_by_slot_.size())
        throw std::length_error{"tutti: no more than 4096 threads may use one node of a cluster"};
    rpc_client& fresh = clients_.emplace_back(*this, context, static_cast<std::uint16_t>(clients_.size()));
    clients_by_slot_[fresh.slot].store(&fresh,
                                       std::memory_order_release);  // release; the partner is the acquire in `receive`
    return fresh;
}

bool rpc_endpoint::send(node_number to, wire::message_type type, std::uint64_t number, std::string_view body) {
    wire::header h;
    h.type = type;
    h.call = number;
    h.clock = node_.clock.now();
    h.oldest = node_.snapshots.low_watermark();
    return transport_->send(to, h, body);
}

bool rpc_endpoint::receive(const wire::header& h, std::string_view body) {
    if (!node_.receive_header(h)) return false;
    if (h.from < last_heard_ns_.size())
        last_heard_ns_[h.from].store(base::now().time_since_epoch().count(), std::memory_order_relaxed);
    if (wire::is_rejoin_message(h.type)) return rejoin_.receive(h, body);
    if (h.type != wire::message_type::heartbeat && node_.objects.is_lost(h.from) && !rejoin_.receive_other(h.from))
        return false;
    if (is_reply(h.type)) {
        const std::uint64_t slot = (h.call >> slot_shift) - 1;
        rpc_client* const to =
            slot < clients_by_slot_.size() ? clients_by_slot_[slot].load(std::memory_order_acquire) : nullptr;
        if (to != nullptr) to->receive_answer(h.call, h.from, body);
        return true;
    }
    bool sound = true;
    if (h.type == wire::message_type::object_changed) {
        wire::object_changed message;
        sound = wire::decode(body, message);
        if (sound) local_changes_.notify(message.id);
        return sound;
    }
    if (is_about_call(h.type)) return receive_call(h, body);
    const std::int64_t since = timeline_.begin();
    const auto a = node_.serve(h, body, sound);
    if (since != 0 && sound) record_served(h, body, a, since);
    if (a) send(h.from, a->type, h.call, a->body);
    return sound;
}

void rpc_endpoint::record_served(const wire::header& h, std::string_view body,
                                 const std::optional<protocol_node::answer>& a, std::int64_t since) noexcept {
    const bool is_of_no_attempt = h.type == wire::message_type::heartbeat || h.type == wire::message_type::lost_node ||
                                  wire::is_in_doubt_message(h.type);
    if (is_of_no_attempt) return;
    const wire::transaction_name who = attempt_of(h.type, body);
    timeline_.record({.role = timeline_role::serves,
                      .operation = operation_of(h.type, body),
                      .outcome = a ? outcome_of(a->type, a->body) : timeline_outcome::done,
                      .node = h.from,
                      .thread = h.call == 0 ? who.slot : static_cast<std::uint16_t>((h.call >> slot_shift) - 1),
                      .sequence = who.sequence,
                      .question = h.call,
                      .began_ns = since});
}

void rpc_endpoint::take_recorded(wire::timeline_reply& to) {
    timeline::timeline_chunk p = timeline_.take_events(wire::timeline_reply::max_events);
    to.events = std::move(p.events);
    to.left_out = p.left_out;
    to.more = p.more;
}

void rpc_endpoint::on_change(const object_id& id, std::span<const node_number> watchers) {
    for (const node_number n : watchers) {
        if (n == node_.self) local_changes_.notify(id);
        else send(n, wire::message_type::object_changed, 0, wire::encode(wire::object_changed{id}));
    }
}

bool rpc_endpoint::report_eviction(const object_id& id, node_number owner, std::uint64_t version) noexcept {
    try {
        return send(home_of(id, node_.nodes), wire::message_type::owner_update, 0,
                    wire::encode(wire::owner_update{id, owner, version}));
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void rpc_endpoint::invalidate_copy(const object_id& id, node_number holder, std::uint64_t grant) noexcept {
    try {
        send(holder, wire::message_type::invalidate, 0, wire::encode(wire::invalidation{.id = id, .grant = grant}));
    } catch (const std::bad_alloc&) {
        return;  // the writer asks again at its next prepare
    }
}

void rpc_endpoint::on_node_lost(node_number node) noexcept {
    node_.on_node_lost(node);
    rejoin_.on_node_lost(node);
    // Breaks the feed, because the lost node no longer reports changes of its objects, or of objects that its
    // transactions hold.
    local_changes_.break_feed();
    for (auto& l : clients_by_slot_) {
        rpc_client* const one = l.load(std::memory_order_acquire);
        if (one == nullptr) break;
        one->fail_calls_to(node);
    }
    const std::lock_guard hold{call_handler_guard_};
    if (call_handler_ != nullptr) call_handler_->on_node_lost(node);
}

}  // namespace tutti::cluster
