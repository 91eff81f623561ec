// Messages: decoding returns the encoded values, and invalid bytes are refused.
#include <string>

#include <gtest/gtest.h>

#include "cluster/protocol/protocol_node.hpp"
#include "support/effort.hpp"
#include "support/random.hpp"
#include "tutti/cluster/calls.hpp"
#include "wire/bytes.hpp"

namespace {

using namespace tutti;
using namespace tutti::wire;

prepare some_prepare() {
    return {.who = {.node = 1, .slot = 2, .sequence = 3},
            .as = {.rank = -4, .age = 5},
            .decides = decider::receiver_held,
            .reads = {{{0, 1}, 4}},
            .writes = {{{0, 2}, 5, action::put, "bytes"}, {{0, 3}, 0, action::leave, ""}}};
}

TEST(cluster_messages, decode_what_was_encoded) {
    prepare got;
    ASSERT_TRUE(decode(encode(some_prepare()), got));
    EXPECT_EQ(got.who, some_prepare().who);
    EXPECT_EQ(got.as.rank, -4);
    EXPECT_EQ(got.as.age, 5u);
    EXPECT_EQ(got.decides, decider::receiver_held);
    ASSERT_EQ(got.reads.size(), 1u);
    EXPECT_EQ(got.reads[0].id, (object_id{0, 1}));
    ASSERT_EQ(got.writes.size(), 2u);
    EXPECT_EQ(got.writes[0].bytes, "bytes");
    EXPECT_EQ(got.writes[1].action, action::leave);
    EXPECT_EQ(encode(header{}).size(), header::size);
}

TEST(cluster_messages, refuse_truncated_or_overlong_bytes) {
    const std::string whole = encode(some_prepare());
    prepare got;
    for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(decode(std::string_view{whole}.substr(0, n), got)) << n;
    EXPECT_FALSE(decode(whole + "x", got));
}

// Without other participants, the encoding has no extra byte.
TEST(cluster_messages, decode_participant_messages) {
    prepare among = some_prepare(), got;
    among.others = {7, 8};
    EXPECT_EQ(encode(among), encode(some_prepare()));
    among.decides = decider::sender_of_several;
    const std::string whole = encode(among);
    EXPECT_EQ(whole.size(), encode(some_prepare()).size() + 4 + 2 * 2);
    ASSERT_TRUE(decode(whole, got));
    EXPECT_EQ(got.others, among.others);
    for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(decode(std::string_view{whole}.substr(0, n), got)) << n;
    fate_report decoded;
    std::string bytes = encode(fate_report{{1, 2, 3}, wire::transaction_fate::committed, 4});
    ASSERT_TRUE(decode(bytes, decoded));
    EXPECT_EQ(decoded.who, (transaction_name{1, 2, 3}));
    EXPECT_EQ(decoded.fate, wire::transaction_fate::committed);
    EXPECT_EQ(decoded.version, 4u);
    bytes[encode(decoded.who).size()] =
        static_cast<char>(static_cast<int>(last(wire::transaction_fate{})) + 1);  // this fate does not exist
    EXPECT_FALSE(decode(bytes, decoded));
}

TEST(cluster_messages, decode_contention_messages) {
    const reserve asked{.who = {1, 2, 3}, .as = {.rank = 7, .age = 8}, .irrevocable = true, .ids = {{0, 1}}};
    reserve got;
    ASSERT_TRUE(decode(encode(asked), got));
    EXPECT_EQ(got.as.rank, 7);
    EXPECT_EQ(got.as.age, 8u);
    EXPECT_TRUE(got.irrevocable);
    EXPECT_FALSE(got.before_write);
    prepare_reply decoded;
    std::string bytes = encode(prepare_reply{.why = lock_refusal::outranked});
    ASSERT_TRUE(decode(bytes, decoded));
    EXPECT_FALSE(decoded.yes);
    EXPECT_EQ(decoded.why, lock_refusal::outranked);
    // This reason does not exist. The clock follows it in the bytes.
    bytes[bytes.size() - 1 - sizeof decoded.clock] = static_cast<char>(static_cast<int>(last(lock_refusal{})) + 1);
    EXPECT_FALSE(decode(bytes, decoded));
}

TEST(cluster_messages, decode_forwarded_calls) {
    const cluster::forwarded_call call{.procedure = "move",
                                       .arguments = {"a", "", "c"},
                                       .routing_object = {1, 2},
                                       .priority = 3,
                                       .due_in_us = -4,
                                       .resp3 = true,
                                       .no_redirect = true};
    const std::string whole = encode(call);
    cluster::forwarded_call got;
    ASSERT_TRUE(decode(whole, got));
    EXPECT_EQ(got.procedure, call.procedure);
    EXPECT_EQ(got.arguments, call.arguments);
    EXPECT_EQ(got.routing_object, call.routing_object);
    EXPECT_EQ(got.priority, call.priority);
    EXPECT_EQ(got.due_in_us, call.due_in_us);
    EXPECT_TRUE(got.resp3);
    EXPECT_TRUE(got.no_redirect);
    for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(decode(std::string_view{whole}.substr(0, n), got)) << n;
    EXPECT_FALSE(decode(whole + "x", got));

    const cluster::forwarded_reply answer{
        .result = cluster::forwarded_outcome::elsewhere, .owner = 5, .outcome = 6, .reply = "+OK"};
    std::string bytes = encode(answer);
    cluster::forwarded_reply read;
    ASSERT_TRUE(decode(bytes, read));
    EXPECT_EQ(read.result, answer.result);
    EXPECT_EQ(read.owner, answer.owner);
    EXPECT_EQ(read.outcome, answer.outcome);
    EXPECT_EQ(read.reply, answer.reply);
    bytes[0] = '\x03';  // this fate does not exist
    EXPECT_FALSE(decode(bytes, read));
    cancel_run decoded;
    ASSERT_TRUE(decode(encode(cancel_run{true}), decoded));
    EXPECT_TRUE(decoded.stranded);
}

// A count in a message must not be trusted.
TEST(cluster_messages, bound_memory_by_message_size) {
    std::string bytes = encode(fetch{});
    for (std::size_t i = 8; i < 12; ++i) bytes[i] = '\xff';  // the count follows the time
    fetch got;
    EXPECT_FALSE(decode(bytes, got));
    EXPECT_LE(got.ids.size(), 1u);
}

/// Returns a status in which every field has a different value.
status_reply some_status() {
    status_reply reply;
    reply.status.number = 1;
    reply.status.nodes = 2;
    reply.status.release = "1.2.3";
    std::uint64_t next = 1000;
#define TUTTI_CLUSTER_COUNTER(name, kind, what) reply.status.name = next++;
    TUTTI_CLUSTER_COUNTERS(TUTTI_CLUSTER_COUNTER)
#undef TUTTI_CLUSTER_COUNTER
    for (std::uint64_t& count : reply.status.rolled_back) count = next++;
    reply.status.peers = {{cluster::peer_state::connected, 7}, {cluster::peer_state::self, 0}};
    return reply;
}

TEST(cluster_messages, carry_a_node_status) {
    const status_reply sent = some_status();
    status_reply got;
    ASSERT_TRUE(decode(encode(sent), got));
    EXPECT_TRUE(got.admitted);
    EXPECT_EQ(got.status.release, "1.2.3");
    EXPECT_EQ(got.status.number, 1);
#define TUTTI_CLUSTER_COUNTER(name, kind, what) EXPECT_EQ(got.status.name, sent.status.name);
    TUTTI_CLUSTER_COUNTERS(TUTTI_CLUSTER_COUNTER)
#undef TUTTI_CLUSTER_COUNTER
    EXPECT_EQ(got.status.rolled_back, sent.status.rolled_back);
    ASSERT_EQ(got.status.peers.size(), 2u);
    EXPECT_EQ(got.status.peers[0].state, cluster::peer_state::connected);
    EXPECT_EQ(got.status.peers[0].silent_ms, 7u);
}

TEST(cluster_messages, refuse_invalid_status) {
    const std::string whole = encode(some_status());
    status_reply got;
    for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(decode(std::string_view{whole}.substr(0, n), got)) << n;
    EXPECT_FALSE(decode(whole + "x", got));
    support::random dice{11};
    for (std::size_t i = 0; i < support::rounds(20'000); ++i) {
        std::string bytes = whole;
        for (std::size_t n = 1 + dice.below(4); n-- > 0;)
            bytes[dice.below(bytes.size())] = static_cast<char>(dice.next());
        if (!decode(bytes, got)) continue;
        for (const cluster::peer_status& p : got.status.peers) EXPECT_FALSE(name_of(p.state).empty());
    }
}

// An observer is not a node. A message that nodes send each other must be refused from an observer, and an observer's
// message from a node.
TEST(cluster_messages, refuse_observer_messages_among_nodes) {
    cluster::protocol_node one{0, 2, cluster::object_placement::writer};
    for (const message_type k : {message_type::status, message_type::status_reply, message_type::hello}) {
        bool sound = true;
        EXPECT_FALSE(one.serve({.type = k, .from = 1}, {}, sound));
        EXPECT_FALSE(sound);
    }
}

// Participants may name nodes other than the two ends of the link, and versions that have been drawn.
TEST(cluster_messages, refuse_invalid_participant_messages) {
    cluster::protocol_node one{0, 3, cluster::object_placement::home};
    const auto is_sound = [&one](message_type k, const auto& what) {
        bool sound = false;
        const header h{.type = k, .from = 1, .clock = 9};
        EXPECT_TRUE(one.receive_header(h));
        static_cast<void>(one.serve(h, encode(what), sound));
        return sound;
    };
    for (node_number n = 0; n < 4; ++n) {
        EXPECT_EQ(is_sound(message_type::fate_query, fate_query{{n, 0, 1}}), n == 2) << n;
        EXPECT_EQ(is_sound(message_type::fate_report, fate_report{{n, 0, 1}, wire::transaction_fate::committed, 9}),
                  n == 2)
            << n;
        EXPECT_EQ(is_sound(message_type::lost_node, wire::lost_node{.node = n}), n == 2) << n;
        prepare among{.who = {1, 0, n + 1u}, .decides = decider::sender_of_several, .reads = {}, .writes = {}};
        among.others = {n};
        EXPECT_EQ(is_sound(message_type::prepare, among), n == 2) << n;
    }
    EXPECT_FALSE(is_sound(message_type::fate_query, fate_query{{2, max_slots, 1}}));
    EXPECT_FALSE(is_sound(message_type::fate_query, fate_query{{2, 0, 0}}));
    EXPECT_FALSE(is_sound(message_type::fate_report, fate_report{{2, 0, 1}, wire::transaction_fate::committed, 10}))
        << "its clock has not reached that version";
    EXPECT_FALSE(is_sound(message_type::fate_report, fate_report{{2, 0, 1}, wire::transaction_fate::committed, 0}));
    EXPECT_FALSE(is_sound(message_type::fate_report, fate_report{{2, 0, 1}, wire::transaction_fate::aborted, 9}));
    EXPECT_TRUE(is_sound(message_type::fate_report, fate_report{{2, 0, 1}, wire::transaction_fate::unknown, 0}));
    EXPECT_TRUE(is_sound(message_type::fate_report, fate_report{{2, 0, 1}, wire::transaction_fate::unknown, 9}))
        << "its clock at the prepare";
    prepare among{.who = {1, 0, 9}, .decides = decider::sender_of_several, .reads = {}, .writes = {}};
    among.others = {2, 2, 2};
    EXPECT_FALSE(is_sound(message_type::prepare, among));
}

TEST(cluster_messages, do_no_harm_with_random_bytes) {
    struct null_listener final : cluster::change_listener {
        void on_change(const object_id&, std::span<const node_number>) override {}
        bool report_eviction(const object_id&, node_number, std::uint64_t) noexcept override { return true; }
        void invalidate_copy(const object_id&, node_number, std::uint64_t) noexcept override {}
    };
    cluster::protocol_node one{0, 2, cluster::object_placement::writer};
    support::random dice{7};
    null_listener listener;
    one.objects.set_listener(listener);
    std::size_t refused = 0;
    const std::string models[] = {encode(fetch{.at = newest, .ids = {{0, 1}, {0, 2}}}), encode(some_prepare()),
                                  encode(decide{{1, 2, 3}, true, 9}), encode(owner_update{{0, 1}, 1, 5}),
                                  encode(validate{{{{0, 1}, 1}}})};
    for (std::size_t i = 0; i < support::rounds(50'000); ++i) {
        std::string bytes = models[dice.below(std::size(models))];
        for (std::size_t n = dice.below(4); n-- > 0;) bytes[dice.below(bytes.size())] = static_cast<char>(dice.next());
        if (dice.one_in(4)) bytes.resize(dice.below(bytes.size() + 1));
        bool sound = false;
        const header h{.type = static_cast<wire::message_type>(dice.below(15)), .from = 1, .clock = 9};
        ASSERT_TRUE(one.receive_header(h));
        static_cast<void>(one.serve(h, bytes, sound));
        refused += sound ? 0u : 1u;
    }
    EXPECT_GT(refused, 0u);
}

}  // namespace
