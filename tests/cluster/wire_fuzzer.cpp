// A libFuzzer target. Bytes that another node sends, in pieces of any size, may only end that node's connection. The
// first byte chooses the target. An even byte attacks the protocol node and the server, which serve requests; the
// highest bit says that they have lost that node. An odd byte attacks the transaction that asks; the highest bit says
// that its process has replaced a former one. The first byte also chooses the size of the pieces.
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "cluster/protocol/call_messages.hpp"
#include "cluster/protocol/named_lock_client.hpp"
#include "cluster/protocol/rejoin_protocol.hpp"
#include "wire/frames.hpp"

namespace tutti::cluster {
namespace {

constexpr node_number here = 0, hostile = 1, honest = 2, nodes = 3;
constexpr std::size_t largest = 4096;

void demand(bool holds) {
    if (!holds) std::abort();
}

/// The ids that seeds name, and ids near them.
constexpr object_id first_id{0, 1}, last_id{0, 8};

/// Returns an id with that home. The hostile node's messages cannot contain this id.
object_id secret_of(node_number home) {
    object_id id{0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu};
    while (home_of(id, nodes) != home) ++id.low;
    return id;
}

wire::header header_of(const protocol_node& s, wire::message_type kind) {
    return {.type = kind, .from = honest, .clock = s.clock.now(), .oldest = 0};
}

/// Accepts notifications about changes; no transaction sleeps here.
struct null_listener final : change_listener {
    void on_change(const object_id&, std::span<const node_number> watchers) override {
        for (const node_number n : watchers) demand(n < nodes);
    }
    bool report_eviction(const object_id&, node_number owner, std::uint64_t) noexcept override {
        demand(owner < nodes);
        return true;
    }
    void invalidate_copy(const object_id&, node_number holder, std::uint64_t) noexcept override {
        demand(holder < nodes);
    }
};
null_listener listener;

/// Lets the honest node write an object here, and reads the object back, as if nothing had happened. While the hostile
/// node is connected, a copy that it has may prevent the write.
void let_honest_node_work(protocol_node& s, std::uint64_t sequence) {
    const object_id id = secret_of(here);
    wire::object_view view;
    s.objects.read(id, view);
    demand(view.where == wire::lookup_result::here);
    bool sound = false;
    const std::string mine = "mine " + std::to_string(sequence);
    const wire::prepare asked{.who = {honest, 1, sequence},
                              .decides = wire::decider::receiver,
                              .reads = {},
                              .writes = {{id, view.version, wire::action::put, mine}}};
    demand(s.receive_header(header_of(s, wire::message_type::prepare)));
    const auto reply = s.serve(header_of(s, wire::message_type::prepare), wire::encode(asked), sound);
    wire::prepare_reply answer;
    demand(sound && reply && wire::decode(reply->body, answer));
    if (answer.why == wire::lock_refusal::shared && !s.objects.is_lost(hostile)) return;
    demand(answer.yes);
    s.objects.read(id, view);
    demand(view.where == wire::lookup_result::here && view.exists && view.bytes == mine);
}

/// A server whose node is attacked. The server reports that it has run every call about an object here. For one of
/// eight call numbers, the node has no server.
class server final : public call_handler, public call_transport {
public:
    explicit server(protocol_node& s) noexcept : node_{s} {}

    [[nodiscard]] bool receive(const wire::header& h, std::string_view body) {
        return dispatch_call_message(h, body, nodes, h.call % 8 == 7 ? nullptr : this, *this);
    }
    std::string output;

private:
    void run(unsigned from, std::uint64_t number, forwarded_call&& what) override {
        demand(from == hostile && what.procedure.size() <= largest && what.arguments.size() <= largest);
        const unsigned place = owner(what.routing_object);
        demand(place < nodes);
        send_reply(from, number,
                   {.result = place == here ? forwarded_outcome::ran : forwarded_outcome::elsewhere,
                    .owner = static_cast<std::uint16_t>(place),
                    .reply = what.procedure});
    }
    void cancel(unsigned from, std::uint64_t, bool) override { demand(from == hostile); }
    void on_reply(unsigned from, std::uint64_t, forwarded_reply&& how) override {
        demand(from == hostile && how.owner < nodes && how.result <= last(how.result) && how.reply.size() <= largest);
    }
    void on_node_lost(unsigned) noexcept override {}

    void set_call_handler(call_handler*) override {}
    [[nodiscard]] unsigned number() const noexcept override { return here; }
    [[nodiscard]] unsigned owner(const object_id& id) override { return node_.objects.owner_of(id); }
    [[nodiscard]] std::size_t max_bytes() const noexcept override { return largest; }
    [[nodiscard]] bool send(unsigned, std::uint64_t, const forwarded_call&) override { return true; }
    void send_reply(unsigned to, std::uint64_t, const forwarded_reply& how) noexcept override {
        demand(to == hostile);
        output += wire::encode(how);
    }

    protocol_node& node_;
};

/// Records the messages that this node sends about a return, and does not deliver them.
struct closed_gate final : rejoin_transport {
    void send_one_way(node_number to, wire::message_type, std::string body) override {
        demand(to == hostile && body.size() <= largest);
        output += body;
    }
    [[nodiscard]] std::uint64_t process_of(node_number n) override { return n + 1u; }
    std::string output;
};

/// Records the messages that this node sends to other participants, and does not deliver them.
struct other_participants final : message_sender {
    void send_one_way(node_number to, wire::message_type, std::string body) override {
        demand(to < nodes && to != here && body.size() <= largest);
        output += body;
    }
    std::string output;
};

/// The honest node is in the middle of a commit that the hostile node also takes part in.
constexpr transaction_name pending_transaction{.node = honest, .slot = 3, .sequence = 1};
object_id second_secret() {
    object_id id = secret_of(here);
    for (++id.low; home_of(id, nodes) != here;) ++id.low;
    return id;
}
void begin_honest_commit(protocol_node& s) {
    demand(s.commits
               .prepare({.who = pending_transaction,
                         .decides = wire::decider::sender_of_several,
                         .reads = {},
                         .writes = {{second_secret(), 0, wire::action::put, "mine"}},
                         .others = {hostile}})
               .yes);
}
/// Checks that the commit is still undecided, and ends it.
void end_honest_commit(protocol_node& s) {
    wire::object_view view;
    s.objects.read(second_secret(), view);
    demand(view.where == wire::lookup_result::busy && view.owner == honest);
    s.commits.decide({pending_transaction, true, s.clock.tick()});
    s.objects.read(second_secret(), view);
    demand(view.where == wire::lookup_result::here && view.bytes == "mine");
}

/// Returns the answers of a protocol node to the bytes, with '.' or '!' for each frame that was accepted or refused.
/// With `rejoins`, the sender is another process of a node that was lost.
std::string attack_node(std::string_view bytes, std::size_t piece, bool rejoins) {
    protocol_node s{here, nodes, object_placement::writer};
    s.max_message_bytes = largest;
    s.objects.set_listener(listener);
    s.objects.set_copy_threshold(2);
    s.cache.limit(std::size_t{1} << 16);
    other_participants participants;
    s.set_sender(participants);
    let_honest_node_work(s, 1);
    begin_honest_commit(s);
    server calls{s};
    closed_gate others;
    rejoin_protocol door{s, others};
    if (rejoins) {
        s.on_node_lost(hostile);
        door.on_node_lost(hostile);
    }
    std::string input, answers;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
        input.append(bytes.substr(at, piece));
        const bool sound =
            wire::split_frames(input, hostile, largest, [&](const wire::header& h, std::string_view body) {
                if (!s.receive_header(h)) return false;
                bool good = true;
                const std::string copy{body};  // a heap copy, so that a sanitizer finds reads beyond its end
                if (wire::is_rejoin_message(h.type)) {
                    good = door.receive(h, copy);
                    answers += std::exchange(others.output, {});
                } else if (h.type != wire::message_type::heartbeat && s.objects.is_lost(h.from) &&
                           !door.receive_other(h.from)) {
                    good = false;
                } else if (is_about_call(h.type)) {
                    good = calls.receive(h, copy);
                    answers += std::exchange(calls.output, {});
                } else if (const auto a = s.serve(h, copy, good)) {
                    demand(a->body.size() <= largest);
                    answers += a->body;
                }
                answers.push_back(good ? '.' : '!');
                return good;
            });
        if (!sound) break;
        demand(input.size() < wire::header::size + largest);
    }
    let_honest_node_work(s, 2);
    end_honest_commit(s);
    s.on_node_lost(hostile);
    let_honest_node_work(s, 3);
    wire::object_view view;
    for (object_id id = first_id; id.low <= last_id.low; ++id.low) {
        s.objects.read(id, view);
        demand(view.owner < nodes);
    }
    return answers + participants.output;
}

/// Answers as the bytes say: one byte for the kind, two for the length, eight for the clock.
class hostile_network final : public network {
public:
    hostile_network(protocol_node& s, std::string_view bytes) : node_{s}, rest_{bytes} {}

    void exchange(std::span<call> calls) override {
        for (call& c : calls) {
            demand(c.to < nodes && c.to != here && c.body.size() <= largest);
            std::uint8_t how = 0;
            std::uint16_t length = 0;
            std::uint64_t clock = 0;
            c.sent = true;
            c.answered = take(how) && take(length) && take(clock) && how % 4 != 3 && length <= rest_.size();
            if (!c.answered) continue;
            c.answered = node_.receive_header({.from = c.to, .clock = clock});
            c.answer = rest_.substr(0, length);
            rest_.remove_prefix(length);
        }
    }
    void begin(std::span<call> calls) override { exchange(calls); }
    void finish() override {}
    void post(node_number to, wire::message_type, std::string body) override {
        demand(to < nodes && to != here && body.size() <= largest);
    }
    bool is_reachable(node_number) const noexcept override { return true; }
    void pause(unsigned) override {}

private:
    template <class T>
    bool take(T& value) {
        if (rest_.size() < sizeof value) return false;
        rest_.copy(reinterpret_cast<char*>(&value), sizeof value);
        rest_.remove_prefix(sizeof value);
        return true;
    }

    protocol_node& node_;
    std::string_view rest_;
};

enum class attacked : std::uint8_t { plain, reserving, snapshot, irrevocable };

void attack_transaction(std::string_view bytes, attacked as, bool comes_after_another) {
    const bool snapshot = as == attacked::snapshot;
    protocol_node s{here, nodes, object_placement::writer};
    if (comes_after_another) s.last_former_name = std::uint64_t{1} << 32;
    s.max_message_bytes = largest;
    s.objects.set_listener(listener);
    s.cache.limit(std::size_t{1} << 16);
    hostile_network net{s, bytes};
    distributed_transaction t{s, net, 0};
    named_lock_client hold{s, net, 0};
    for (int attempt = 0; attempt < 3; ++attempt) {
        demand(t.begin(snapshot));
        if (as == attacked::reserving)
            t.set_behavior({.precedence = {.rank = 1, .age = hold.age()}, .reserve_for = &hold});
        protocol_status o = as == attacked::irrevocable ? t.reserve_irrevocably(hold) : protocol_status::good;
        for (object_id id = first_id; id.low <= last_id.low && o == protocol_status::good; id.low += 2) {
            const object_id two[] = {id, {id.high, id.low + 1}};
            if (id.low % 4 == 0) o = t.prefetch(two);
            if (o == protocol_status::good) o = t.open(two);
            for (const object_id& opened : two) demand(o != protocol_status::good || t.find(opened) != nullptr);
        }
        if (o == protocol_status::good && !snapshot) {
            for (object_id id = first_id; id.low <= last_id.low; id.low += 3) {
                object_entry& e = *t.find(id);
                e.written = e.will_exist = true;
                e.fresh = "fresh";
            }
            o = t.prepare(attempt % 2 == 0);
            if (o == protocol_status::good) t.commit();
        }
        t.abort();
        t.end_snapshot();
        hold.release();
        demand(o != protocol_status::lost || t.lost_node() < nodes);
        demand(o != protocol_status::lost || t.lost_node() != here || comes_after_another);
    }
    let_honest_node_work(s, 1);
}

}  // namespace
}  // namespace tutti::cluster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tutti::cluster;
    if (size == 0) return 0;
    const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
    const bool rejoins = data[0] >= 128;
    if (data[0] % 2 == 1) {
        attack_transaction(bytes, static_cast<attacked>(data[0] / 2 % 4), rejoins);
        return 0;
    }
    demand(attack_node(bytes, bytes.size() + 1, rejoins) == attack_node(bytes, data[0] / 2 % 32 + 1u, rejoins));
    return 0;
}
