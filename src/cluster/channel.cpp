#include "cluster/channel.hpp"

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
constexpr unsigned most_sleeps = 63;

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

void line::ask(round& r, std::span<call> calls) {
    {
        const std::lock_guard hold{guard_};
        for (call& c : calls) c.answered = c.gone = false;
        r.calls = calls;
        r.first = (std::uint64_t{slot} + 1) << slot_shift | count_;
        count_ += calls.size();
        r.missing = calls.size();
        r.asked_ns = channel_.timeline_.begin();
        r.sequence = sequence_;
        r.ended.store(0, std::memory_order_relaxed);
    }
    is_remote_ = true;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        calls[i].sent = channel_.send(calls[i].to, calls[i].kind, r.first + i, calls[i].body);
        if (!calls[i].sent) give_up_on(calls[i].to);
    }
}

void line::await(round& r) {
    channel_.round_trips_.fetch_add(1, std::memory_order_relaxed);
    const std::int64_t since = channel_.timeline_.begin();
    const base::deadline late = base::now() + channel_.patience_;
    if (!spin_until_complete(r)) {
        while (!r.complete() && base::now() < late) api::park(user_, r.ended, late);
    }
    if (since != 0) note_wait(r, since);
}

void line::forget(round& r) noexcept {
    const std::lock_guard hold{guard_};
    for (std::size_t i = 0; i < r.calls.size() && r.asked_ns != 0; ++i) {
        if (!r.calls[i].answered && !r.calls[i].gone) note_call(r, i, timeline_end::unanswered);
    }
    r.calls = {};
    r.missing = 0;
    r.ended.store(1, std::memory_order_relaxed);
}

void line::exchange(std::span<call> calls) {
    if (calls.empty()) return;
    struct at_end {  // also runs if the memory for a message cannot be allocated
        line& of;
        ~at_end() { of.forget(of.now_); }
    } const forgets_them{*this};
    ask(now_, calls);
    await(now_);
}

void line::begin(std::span<call> calls) {
    forget(ahead_);
    if (calls.empty()) return;
    try {
        ask(ahead_, calls);
    } catch (...) {
        forget(ahead_);
        throw;
    }
}

void line::finish() {
    if (!ahead_.complete()) await(ahead_);
    forget(ahead_);
}

/// Spins for a short time. Returns true if the round is complete. An answer from this machine, or from a near one,
/// arrives sooner than a sleeping thread wakes up. Other threads may use the processor meanwhile. If the answers take
/// longer, the next waits do not spin. The number of these waits grows each time.
bool line::spin_until_complete(const round& r) noexcept {
    if (user_.hooks != nullptr) return false;  // a scheduler's worker has other contexts to run
    if (sleeps_ != 0) {
        --sleeps_;
        return false;
    }
    const spinner one{channel_.spinning_};
    if (one.number() > channel_.most_spinning_) return false;
    const base::deadline limit = base::real_now() + spin_limit;
    do {
        if (r.complete()) {
            last_sleeps_ = 0;
            return true;
        }
        std::this_thread::yield();
    } while (base::real_now() < limit);
    sleeps_ = last_sleeps_ = std::min(2 * last_sleeps_ + 1, most_sleeps);
    return false;
}

void line::post(node_number to, wire::message_type kind, std::string body) {
    is_remote_ = true;
    const std::int64_t since = channel_.timeline_.begin();
    channel_.send(to, kind, 0, body);
    if (since == 0) return;
    channel_.timeline_.note({.role = timeline_role::asks,
                             .deed = deed_of(kind, body),
                             .node = to,
                             .thread = slot,
                             .sequence = sequence_,
                             .began_ns = since});
}

void line::pause(unsigned turn) {
    // A commit takes about one round trip.
    is_remote_ = true;
    if (turn < 3) return std::this_thread::yield();
    const std::int64_t since = channel_.timeline_.begin();
    random_ = random_ * 6364136223846793005u + 1442695040888963407u + slot;
    const std::uint64_t most = std::uint64_t{20} << std::min(turn, 8u);
    const tutti::detail::shared<std::uint32_t> nobody_ends_it{0};
    const base::deadline until = base::now() + std::chrono::microseconds{(random_ >> 33) % most};
    while (base::now() < until) api::park(user_, nobody_ends_it, until);
    channel_.timeline_.note({.role = timeline_role::waits,
                             .deed = timeline_deed::pause,
                             .thread = slot,
                             .sequence = sequence_,
                             .began_ns = since});
}

/// Returns true if `node` was heard within half of `patience`. The node takes this one for lost after all of `patience`
/// without a message. The other half is for the messages that this node has sent meanwhile. Both nodes send equally
/// often. Relaxed, because the time orders nothing, and an outdated value only makes the node look silent.
bool line::hears(node_number node) const noexcept {
    const std::int64_t since = channel_.heard_at_[node].load(std::memory_order_relaxed);
    return base::now().time_since_epoch().count() - since < std::chrono::nanoseconds{channel_.patience_}.count() / 2;
}

void line::settle(round& r, std::size_t calls) noexcept {
    r.missing -= calls;
    if (calls != 0 && r.missing == 0 && r.ended.load(std::memory_order_relaxed) == 0) api::unpark(user_, r.ended);
}

void line::answer(std::uint64_t number, node_number from, std::string_view body) {
    const std::lock_guard hold{guard_};
    for (round& r : rounds_) {
        const std::uint64_t i = number - r.first;
        if (i >= r.calls.size() || r.calls[i].answered || r.calls[i].gone || r.calls[i].to != from) continue;
        r.calls[i].answer = body;
        r.calls[i].answered = true;
        r.last_to_come = from;
        if (r.asked_ns != 0) note_call(r, i, timeline_end::done);
        settle(r, 1);
    }
}

/// Stops waiting for the answers of `node`. Calls to other nodes are still waited for, because their answers tell that
/// those nodes are not lost.
void line::give_up_on(node_number node) {
    const std::lock_guard hold{guard_};
    for (round& r : rounds_) {
        std::size_t given_up = 0;
        for (std::size_t i = 0; i < r.calls.size(); ++i) {
            call& c = r.calls[i];
            if (c.to != node || c.answered || c.gone) continue;
            c.gone = true;
            r.last_to_come = node;
            if (r.asked_ns != 0) note_call(r, i, timeline_end::lost);
            ++given_up;
        }
        settle(r, given_up);
    }
}

// ---- what the timeline records of a line

void line::attempt_begins() noexcept {
    outermost_ = sequence_;
    began_ns_ = channel_.timeline_.begin();
    is_remote_ = false;
}

void line::note_attempt(timeline_end how, rollback_reason why) noexcept {
    channel_.timeline_.note({.role = timeline_role::runs,
                             .deed = timeline_deed::attempt,
                             .end = how,
                             .why = why,
                             .thread = slot,
                             .sequence = outermost_,
                             .began_ns = began_ns_});
}

/// REQUIRES: the caller holds the lock.
void line::note_call(const round& r, std::size_t which, timeline_end how) noexcept {
    const call& c = r.calls[which];
    channel_.timeline_.note({.role = timeline_role::asks,
                             .deed = deed_of(c.kind, c.body),
                             .end = how,
                             .node = c.to,
                             .thread = slot,
                             .sequence = r.sequence,
                             .question = r.first + which,
                             .began_ns = r.asked_ns});
}

void line::note_wait(const round& r, std::int64_t since) noexcept {
    const std::lock_guard hold{guard_};
    const auto missing = std::ranges::find_if(r.calls, [](const call& c) { return !c.answered && !c.gone; });
    const bool late = missing != r.calls.end();
    channel_.timeline_.note({.role = timeline_role::waits,
                             .deed = deed_of(r.calls.front().kind, r.calls.front().body),
                             .end = late ? timeline_end::unanswered : timeline_end::done,
                             .node = late ? missing->to : r.last_to_come,
                             .thread = slot,
                             .sequence = r.sequence,
                             .began_ns = since});
}

// ---- all lines

channel::channel(site& of, changes& heard, const wire::transport_options& how, std::chrono::milliseconds patience,
                 std::function<node_facts()> facts)
    : site_{of},
      changes_{heard},
      patience_{patience},
      connect_within_{how.connect_timeout},
      addresses_{how.addresses},
      facts_{std::move(facts)},
      admission_{of, *this} {
    site_.objects.tell(*this);
    site_.speak_through(*this);
    site_.largest = how.max_message_bytes;
    if (how.addresses.size() >= 2) transport_ = wire::make_transport(how, *this);
}

void channel::join() {
    if (!transport_) return;
    transport_->join();  // from here on the transport's thread calls the channel
    if (transport_->others_have_begun()) be_let_in();
}

/// Has the other nodes admit this one. A former process of this node was in the cluster before.
void channel::be_let_in() {
    // The pause before a try doubles each time, because lists of moved objects may be long. Each round begins at once
    // and with the shortest pause, because objects that keep moving between the other nodes take several rounds.
    constexpr std::chrono::milliseconds shortest{5}, longest{1000};
    std::chrono::milliseconds before_next_try = shortest;
    std::vector<bool> serving;
    for (node_number n = 0; n < site_.nodes; ++n) serving.push_back(transport_->has_begun(n));
    admission_.begin(serving);
    const base::deadline late = base::now() + connect_within_;
    const auto list = [this](const std::vector<node_number>& nodes) {
        std::string all;
        for (const node_number n : nodes) all += " " + std::to_string(n) + " (" + addresses_[n] + ")";
        return all;
    };
    for (;;) {
        admission_.repeat();
        const bool another_round = admission_.await(base::now() + before_next_try);
        before_next_try = another_round ? shortest : std::min(2 * before_next_try, longest);
        if (admission_.over()) return transport_->begin();
        if (const auto gone = admission_.gone()) {
            throw wire::wire_error{"node" + list({*gone}) + " went while this node was coming back: start both again"};
        }
        if (base::now() < late) continue;
        throw wire::wire_error{
            "these nodes did not let this one come back within " + std::to_string(connect_within_.count()) +
            " ms:" + list(admission_.awaited()) +
            "; a block there may still hold locks that a former process of this node kept, or a node has not noticed "
            "that another one was started again: start this one once more"};
    }
}

void channel::describe(node_facts& to) const {
    to.round_trips = round_trips_.load(std::memory_order_relaxed);
    if (transport_) {
        transport_->describe(to);
        for (node_number n = 0; n < site_.nodes; ++n) {
            if (to.peers[n].state == peer_state::connected && site_.objects.is_lost(n))
                to.peers[n].state = peer_state::awaited;
        }
    } else to.peers.assign(1, {peer_state::itself, 0});
}

channel::~channel() = default;

line& channel::open_line(core::descriptor& user) {
    const std::lock_guard hold{guard_};
    if (lines_.size() == by_slot_.size())
        throw std::length_error{"tutti: no more than 4096 threads may use one node of a cluster"};
    line& fresh = lines_.emplace_back(*this, user, static_cast<std::uint16_t>(lines_.size()));
    by_slot_[fresh.slot].store(&fresh, std::memory_order_release);  // release; the partner is the acquire in `receive`
    return fresh;
}

bool channel::send(node_number to, wire::message_type kind, std::uint64_t number, std::string_view body) {
    wire::header h;
    h.type = kind;
    h.call = number;
    h.clock = site_.clock.now();
    h.oldest = site_.readers.promise();
    return transport_->send(to, h, body);
}

bool channel::receive(const wire::header& h, std::string_view body) {
    if (!site_.hear(h)) return false;
    if (h.from < heard_at_.size())
        heard_at_[h.from].store(base::now().time_since_epoch().count(), std::memory_order_relaxed);
    if (wire::is_rejoin_message(h.type)) return admission_.hear(h, body);
    if (h.type != wire::message_type::heartbeat && site_.objects.is_lost(h.from) && !admission_.hear_other(h.from))
        return false;
    if (is_reply(h.type)) {
        const std::uint64_t slot = (h.call >> slot_shift) - 1;
        line* const to = slot < by_slot_.size() ? by_slot_[slot].load(std::memory_order_acquire) : nullptr;
        if (to != nullptr) to->answer(h.call, h.from, body);
        return true;
    }
    bool sound = true;
    if (h.type == wire::message_type::object_changed) {
        wire::object_changed told;
        sound = wire::decode(body, told);
        if (sound) changes_.tell(told.id);
        return sound;
    }
    if (is_about_call(h.type)) return receive_call(h, body);
    const std::int64_t since = timeline_.begin();
    const auto a = site_.serve(h, body, sound);
    if (since != 0 && sound) note_served(h, body, a, since);
    if (a) send(h.from, a->kind, h.call, a->body);
    return sound;
}

void channel::note_served(const wire::header& h, std::string_view body, const std::optional<site::answer>& a,
                          std::int64_t since) noexcept {
    const bool is_of_no_attempt = h.type == wire::message_type::heartbeat || h.type == wire::message_type::lost_node ||
                                  wire::is_in_doubt_message(h.type);
    if (is_of_no_attempt) return;
    const wire::transaction_name who = attempt_of(h.type, body);
    timeline_.note({.role = timeline_role::serves,
                    .deed = deed_of(h.type, body),
                    .end = a ? end_of(a->kind, a->body) : timeline_end::done,
                    .node = h.from,
                    .thread = h.call == 0 ? who.slot : static_cast<std::uint16_t>((h.call >> slot_shift) - 1),
                    .sequence = who.sequence,
                    .question = h.call,
                    .began_ns = since});
}

void channel::take_recorded(wire::timeline_reply& to) {
    timeline::part p = timeline_.take(wire::timeline_reply::max_events);
    to.events = std::move(p.events);
    to.left_out = p.left_out;
    to.more = p.more;
}

void channel::changed(const object_id& id, std::span<const node_number> watchers) {
    for (const node_number n : watchers) {
        if (n == site_.self) changes_.tell(id);
        else send(n, wire::message_type::object_changed, 0, wire::encode(wire::object_changed{id}));
    }
}

bool channel::forgets(const object_id& id, node_number owner, std::uint64_t version) noexcept {
    try {
        return send(home_of(id, site_.nodes), wire::message_type::owner_update, 0,
                    wire::encode(wire::owner_update{id, owner, version}));
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void channel::invalidate(const object_id& id, node_number sharer, std::uint64_t grant) noexcept {
    try {
        send(sharer, wire::message_type::invalidate, 0, wire::encode(wire::invalidation{.id = id, .grant = grant}));
    } catch (const std::bad_alloc&) {
        return;  // the writer's next prepare asks again
    }
}

void channel::on_node_lost(node_number node) noexcept {
    site_.lose(node);
    admission_.lose(node);
    // That node no longer reports changes of its objects, or of objects that its transactions hold.
    changes_.break_feed();
    for (auto& l : by_slot_) {
        line* const one = l.load(std::memory_order_acquire);
        if (one == nullptr) break;
        one->give_up_on(node);
    }
    const std::lock_guard hold{calls_guard_};
    if (calls_ != nullptr) calls_->lose(node);
}

}  // namespace tutti::cluster
