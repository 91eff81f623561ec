// Nodes under TLS: which peers are admitted, and which error a refused peer's operator sees.
#include <atomic>
#include <filesystem>
#include <future>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <tutti/cluster/ref.hpp>
#include <tutti/cluster/status.hpp>
#include <tutti/tutti.hpp>

#include "beyond_loopback.hpp"
#include "certificates.hpp"
#include "cli/port.hpp"
#include "cluster/nodes.hpp"
#include "cluster/raw_peer.hpp"
#include "support/watchdog.hpp"
#include "unknown_client.hpp"
#include "wire/bytes.hpp"
#include "wire/connection.hpp"
#include "wire/fault_injection.hpp"
#include "wire/message.hpp"
#include "wire/pending_handshakes.hpp"

namespace {

using namespace tutti;
using cluster::node;
using cluster::node_options;
using cluster::ref;
using cluster::testing::error_of;
using cluster::testing::raw_peer;
using strangers::certificates;
using strangers::strange_listener;
using strangers::unknown_client;
using namespace std::chrono_literals;

const certificates& ours() {
    static const certificates all{"tls"};
    return all;
}
const certificates& theirs() {
    static const certificates all{"tls-others"};
    return all;
}

/// The addresses of a two-node cluster on loopback. Each test starts the nodes that it needs.
struct two_addresses {
    const int ports[2] = {cli::free_port(), cli::free_port()};

    [[nodiscard]] node_options of(unsigned self) const {
        node_options how;
        how.node_number = self;
        for (const int p : ports) how.addresses.push_back("127.0.0.1:" + std::to_string(p));
        how.tls = ours().options(self);
        return how;
    }
    /// Returns the hello of node `self`.
    [[nodiscard]] std::string hello_of(unsigned self) const {
        return raw_peer::hello_frame(of(self), static_cast<wire::node_number>(self));
    }
};

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

/// Disables a check during its lifetime.
struct broken_check {
    explicit broken_check(wire::fault f) { wire::injected_fault = f; }
    ~broken_check() { wire::injected_fault = wire::fault::none; }
};

TEST(cluster_tls, runs_nodes_as_without_tls) {
    support::watchdog guard{"runs_nodes_as_without_tls"};
    const two_addresses where;
    auto second = std::async(std::launch::async, [&] { return std::make_unique<node>(where.of(1)); });
    const auto a = std::make_unique<node>(where.of(0));
    const auto b = second.get();
    // This string is larger than one TLS record, and larger than the kernel accepts in one call.
    const std::string large(3'000'000, 'x');
    for (int i = 0; i < 4; ++i) {
        const std::string id = "object " + std::to_string(i);
        const ref<std::string> here{*a, id}, there{*b, id};
        atomically([&](tx& t) { here.publish(t, large + id); });
        EXPECT_TRUE(atomically([&](tx& t) { return there.read(t) == large + id; }));
    }
    // Threads of both nodes run blocks at the same time.
    atomically([&](tx& t) {
        for (int i = 0; i < 8; ++i) ref<long>{*a, "account " + std::to_string(i)}.publish(t, 100);
    });
    std::vector<std::thread> threads;
    for (unsigned n = 0; n < 4; ++n) {
        threads.emplace_back([&, n] {
            node& mine = n % 2 == 0 ? *a : *b;
            for (unsigned i = 0; i < 200; ++i) {
                const ref<long> from{mine, "account " + std::to_string((i + n) % 8)};
                const ref<long> to{mine, "account " + std::to_string((i * 3 + n + 1) % 8)};
                atomically([&](tx& t) {
                    from.write(t) -= 1;
                    to.write(t) += 1;
                });
            }
        });
    }
    for (std::thread& t : threads) t.join();
    const long sum = atomically([&](tx& t) {
        long all = 0;
        for (int i = 0; i < 8; ++i) all += ref<long>{*b, "account " + std::to_string(i)}.read(t);
        return all;
    });
    EXPECT_EQ(sum, 800);
}

TEST(cluster_tls, lets_a_node_rejoin_as_without_tls) {
    support::watchdog guard{"lets_a_node_rejoin_as_without_tls"};
    const two_addresses where;
    std::unique_ptr<node> nodes[2];
    std::thread second{[&] { nodes[1] = std::make_unique<node>(where.of(1)); }};
    nodes[0] = std::make_unique<node>(where.of(0));
    second.join();
    for (const unsigned number : {0u, 1u}) {  // the node that calls, and the node that is called
        const ref<long> its{*nodes[1 - number], nodes[0]->id_at(number, {1, number})};
        const ref<long> theirs{*nodes[1 - number], nodes[0]->id_at(1 - number, {2, number})};
        atomically([&](tx& t) { its.publish(t, 1), theirs.publish(t, 2); });
        nodes[number].reset();
        nodes[number] = std::make_unique<node>(where.of(number));
        EXPECT_TRUE(atomically([&](tx& t) { return its.find(t) == nullptr; }));
        EXPECT_EQ(atomically([&](tx& t) { return ref<long>{*nodes[number], theirs.id()}.read(t); }), 2);
    }
}

// The rejoined node has a certificate of an authority that the other node did not trust when it started.
TEST(cluster_tls, lets_a_node_rejoin_with_renewed_certificates) {
    support::watchdog guard{"lets_a_node_rejoin_with_renewed_certificates"};
    const certificates in_use{"tls-in-use"};
    const two_addresses where;
    const auto begin = [&](unsigned self) {
        node_options how = where.of(self);
        how.tls = in_use.options(self);
        return std::make_unique<node>(how);
    };
    std::unique_ptr<node> nodes[2];
    std::thread second{[&] { nodes[1] = begin(1); }};
    nodes[0] = begin(0);
    second.join();
    for (const unsigned number : {0u, 1u}) {  // the node that is called, and the node that calls
        const certificates renewed{"tls-renewed-" + std::to_string(number)};
        const auto over = std::filesystem::copy_options::overwrite_existing;
        std::filesystem::copy(renewed.folder, in_use.folder, over);
        nodes[number].reset();
        nodes[number] = begin(number);
        const ref<unsigned> shared{*nodes[number], "shared " + std::to_string(number)};
        atomically([&](tx& t) { shared.publish(t, number); });
        EXPECT_EQ(atomically([&](tx& t) { return ref<unsigned>{*nodes[1 - number], shared.id()}.read(t); }), number);
    }
}

TEST(cluster_tls, lets_nodes_listen_beyond_loopback) {
    support::watchdog guard{"lets_nodes_listen_beyond_loopback"};
    const std::string host = address_beyond_loopback();
    if (host.empty()) GTEST_SKIP() << "this machine has no address beyond loopback";
    const two_addresses where;
    const auto of = [&](unsigned self) {
        node_options how = where.of(self);
        for (std::size_t i : {0u, 1u}) how.addresses[i] = host + ":" + std::to_string(where.ports[i]);
        return how;
    };
    node_options in_the_clear = of(0);
    in_the_clear.tls = {};
    EXPECT_SAYS(error_of(in_the_clear), "beyond loopback, and its traffic would not be encrypted");
    EXPECT_SAYS(error_of(in_the_clear), "TUTTI_CLUSTER_CERTIFICATE");
    auto second = std::async(std::launch::async, [&] { return error_of(of(1)); });
    EXPECT_EQ(error_of(of(0)), "");
    EXPECT_EQ(second.get(), "");
}

// ---- configuration errors that the operator can correct

TEST(cluster_tls, refuses_invalid_files_with_advice) {
    const two_addresses where;
    const auto said = [&](const cluster::tls_options& files) {
        node_options how = where.of(0);
        how.tls = files;
        how.connect_timeout = 100ms;
        return error_of(how);
    };
    cluster::tls_options some = ours().options(0);
    some.authority.clear();
    EXPECT_SAYS(said(some), "three files");
    some = ours().options(0);
    some.key = ours().folder + "/nothing";
    EXPECT_SAYS(said(some), "/nothing (one without a passphrase, that of the certificate): No such file or directory");
    some = ours().options(0);
    some.key = ours().node(1) + ".key";
    EXPECT_SAYS(said(some), "that of the certificate");
    some = ours().options(0);
    some.authority = theirs().authority();
    EXPECT_SAYS(said(some), "use one that this authority has signed");
    EXPECT_SAYS(said(ours().options(1)), "is made for node-1.tutti, and must be made for node-0.tutti");
    EXPECT_SAYS(said(ours().options(ours().sign_expired("old", "node-0.tutti"))), "expired");
    EXPECT_SAYS(
        said(ours().options(ours().sign("server", "subjectAltName=DNS:node-0.tutti\\nextendedKeyUsage=serverAuth"))),
        "purpose");
    EXPECT_SAYS(said(ours().options(ours().sign("wild", "subjectAltName=DNS:*.tutti"))), "made for *.tutti");
    EXPECT_SAYS(said(ours().options(0)), "did not connect") << "these are right";
}

TEST(cluster_tls, refuses_to_start_with_unknown_ciphers) {
    const two_addresses where;
    for (const bool encrypted : {true, false}) {
        const auto said = [&](auto change) {
            node_options how = where.of(0);
            if (!encrypted) how.tls = {};
            how.connect_timeout = 100ms;
            change(how.tls);
            return error_of(how);
        };
        EXPECT_SAYS(said([](cluster::tls_options& t) { t.ciphers = "swordfish"; }),
                    "TLS: ciphers of TLS 1.2 'swordfish': ");
        EXPECT_SAYS(said([](cluster::tls_options& t) { t.ciphersuites = "TLS_SWORDFISH"; }),
                    "TLS: ciphers of TLS 1.3 'TLS_SWORDFISH': ");
        EXPECT_SAYS(said([](cluster::tls_options& t) { t.minimum_version = "1.1"; }),
                    "the minimum version of TLS must be 1.2 or 1.3");
        EXPECT_SAYS(said([](cluster::tls_options& t) { t.minimum_version = "1.3"; }), "did not connect")
            << "that is right";
    }
    cluster::tls_options unknown = ours().options(1);
    unknown.ciphers = "swordfish";
    EXPECT_THROW(static_cast<void>(cluster::query_nodes({.addresses = where.of(0).addresses, .tls = unknown})),
                 cluster::connection_error);
}

// ---- unknown clients that call

/// Returns the error of node 0 about a caller, after the caller has run `act`.
template <class F>
std::string error_of_caller(F&& act, std::chrono::milliseconds within = 2s) {
    support::watchdog guard{"error_of_caller"};
    const two_addresses where;
    node_options how = where.of(0);
    how.connect_timeout = within;
    std::thread caller{[&] { act(where); }};
    const std::string said = error_of(how);
    caller.join();
    return said;
}

/// Returns a caller that acts as node 1 with another certificate.
auto calls_with(const std::string& files) {
    return [files](const two_addresses& where) {
        unknown_client who = unknown_client::connect_to(where.ports[0]);
        if (!who.encrypt(files)) return;
        who.send(where.hello_of(1));
        who.receive();
    };
}

TEST(cluster_tls, refuses_callers_without_the_authoritys_certificate) {
    EXPECT_SAYS(error_of_caller(calls_with("")), "peer did not return a certificate");
    EXPECT_SAYS(error_of_caller(calls_with(theirs().node(1))), "shows a certificate that is refused");
    EXPECT_SAYS(error_of_caller(calls_with(ours().sign_expired("older", "node-1.tutti"))), "expired");
    EXPECT_EQ(error_of_caller(calls_with(ours().node(1)), 20s), "") << "this one is right";
}

TEST(cluster_tls, refuses_the_certificate_of_another_node) {
    const std::string said = error_of_caller(calls_with(ours().node(2)));
    EXPECT_SAYS(said, "claims to be node 1, and shows a certificate that is made for node-2.tutti");
    EXPECT_SAYS(said, "did not connect");
    EXPECT_SAYS(error_of_caller(calls_with(ours().sign("stars", "subjectAltName=DNS:*.tutti"))), "made for *.tutti");
}

TEST(cluster_tls, accepts_wrong_certificates_with_faults) {
    {
        const broken_check left_out{wire::fault::no_authority_check};
        EXPECT_EQ(error_of_caller(calls_with(theirs().node(1)), 20s), "");
    }
    const broken_check left_out{wire::fault::no_name_check};
    EXPECT_EQ(error_of_caller(calls_with(ours().node(2)), 20s), "");
}

TEST(cluster_tls, refuses_callers_of_another_version_or_cipher) {
    // Returns the message of node 0 about a caller that speaks TLS 1.2 only. Sets `cipher` to the cipher on which both
    // sides agree.
    std::string cipher;
    const auto said = [&](auto change) {
        support::watchdog guard{"refuses_callers_of_another_version_or_cipher"};
        const two_addresses where;
        node_options how = where.of(0);
        how.connect_timeout = 2s;
        change(how.tls);
        std::thread caller{[&] {
            unknown_client who = unknown_client::connect_to(where.ports[0]);
            cipher.clear();
            if (!who.encrypt(ours().node(1), true, TLS1_2_VERSION)) return;
            cipher = who.cipher();
            who.send("no hello");
            who.receive();
        }};
        const std::string all = error_of(how);
        caller.join();
        return all;
    };
    constexpr const char* offers_none = "offers no version or cipher of TLS that is allowed here";
    EXPECT_EQ(said([](cluster::tls_options&) {}).find(offers_none), std::string::npos);
    EXPECT_NE(cipher, "");
    EXPECT_SAYS(said([](cluster::tls_options& t) { t.minimum_version = "1.3"; }), offers_none);
    EXPECT_EQ(cipher, "");
    said([](cluster::tls_options& t) { t.ciphers = "ECDHE-ECDSA-CHACHA20-POLY1305"; });
    EXPECT_EQ(cipher, "ECDHE-ECDSA-CHACHA20-POLY1305");
    // The certificates of these tests are for ECDSA.
    EXPECT_SAYS(said([](cluster::tls_options& t) { t.ciphers = "ECDHE-RSA-AES128-GCM-SHA256"; }), offers_none);
    EXPECT_EQ(cipher, "");
}

TEST(cluster_tls, uses_the_configured_ciphers) {
    support::watchdog guard{"uses_the_configured_ciphers"};
    const two_addresses where;
    const auto begin = [&](unsigned self) {
        node_options how = where.of(self);
        how.tls.minimum_version = "1.3";
        how.tls.ciphersuites = "TLS_CHACHA20_POLY1305_SHA256";
        return std::make_unique<node>(how);
    };
    auto second = std::async(std::launch::async, [&] { return begin(1); });
    const auto a = begin(0), b = second.get();
    cluster::tls_options asks = ours().options(1);
    const auto error = [&] {
        return cluster::query_nodes({.addresses = where.of(0).addresses, .timeout = 20s, .tls = asks}).front().error;
    };
    EXPECT_EQ(error(), "");
    asks.ciphersuites = "TLS_AES_128_GCM_SHA256";
    EXPECT_SAYS(error(), "refuses this side's certificate, or its TLS");
    unknown_client who = unknown_client::connect_to(where.ports[0]);
    ASSERT_TRUE(who.encrypt(ours().node(1)));
    EXPECT_EQ(who.cipher(), "TLS_CHACHA20_POLY1305_SHA256");
}

TEST(cluster_tls, refuses_unencrypted_and_silent_callers) {
    std::string heard;
    EXPECT_SAYS(error_of_caller([&](const two_addresses& where) {
                    unknown_client who = unknown_client::connect_to(where.ports[0]);
                    who.send(where.hello_of(1));
                    heard = who.receive();
                }),
                "does not speak TLS");
    EXPECT_EQ(heard, wire::alert_in_the_clear());
    EXPECT_SAYS(error_of_caller([](const two_addresses& where) {
                    unknown_client who = unknown_client::connect_to(where.ports[0]);
                    who.receive();
                }),
                "sent nothing for 1000 ms");
}

TEST(cluster_tls, admits_nodes_beside_unknown_callers) {
    support::watchdog guard{"admits_nodes_beside_unknown_callers"};
    const two_addresses where;
    auto first = std::async(std::launch::async, [&] { return error_of(where.of(0)); });
    std::vector<unknown_client> silent;
    for (int i = 0; i < 100; ++i) silent.push_back(unknown_client::connect_to(where.ports[0]));
    for (const char* const noise : {"GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\xff\xff\x01", "\x15\x03\x03", "\x16"}) {
        unknown_client who = unknown_client::connect_to(where.ports[0]);
        who.send(noise + std::string(300, '\xff'));
    }
    calls_with(theirs().node(1))(where);
    EXPECT_EQ(error_of(where.of(1)), "");
    EXPECT_EQ(first.get(), "");
}

// ---- unknown servers that are called

/// Returns the error of node 1 about a peer that answers at the address of node 0.
template <class F>
std::string error_of_called(F&& act, std::chrono::milliseconds within = 20s) {
    support::watchdog guard{"error_of_called"};
    const two_addresses where;
    node_options how = where.of(1);
    how.connect_timeout = within;
    strange_listener at{where.ports[0]};
    std::thread called{[&] {
        unknown_client who = at.accept();
        act(who, where);
    }};
    const std::string said = error_of(how);
    called.join();
    return said;
}

TEST(cluster_tls, accepts_answers_only_of_the_called_node) {
    const auto answers_with = [](const std::string& files) {
        return [files](unknown_client& who, const two_addresses& where) {
            if (!who.encrypt(files, false)) return;
            who.send(where.hello_of(0));
            who.receive();
        };
    };
    EXPECT_SAYS(error_of_called(answers_with(theirs().node(0))), "shows a certificate that is refused");
    EXPECT_SAYS(error_of_called(answers_with(ours().sign_expired("oldest", "node-0.tutti"))), "expired");
    EXPECT_SAYS(error_of_called(answers_with(ours().node(2))), "is made for node-2.tutti, and not for node-0.tutti");
    EXPECT_SAYS(error_of_called([](unknown_client& who, const two_addresses& where) {
                    who.send(where.hello_of(0));
                    who.receive();
                }),
                "does not speak TLS");
    EXPECT_SAYS(error_of_called([](unknown_client& who, const two_addresses&) { who.receive(); }, 1s),
                "sent nothing for 500 ms");
    EXPECT_EQ(error_of_called(answers_with(ours().node(0))), "") << "this one is right";
}

TEST(cluster_tls, refuses_answers_of_older_versions) {
    support::watchdog guard{"refuses_answers_of_older_versions"};
    const two_addresses where;
    node_options how = where.of(1);
    how.connect_timeout = 2s;
    how.tls.minimum_version = "1.3";
    strange_listener at{where.ports[0]};
    bool agreed = true;
    std::thread called{[&] { agreed = at.accept().encrypt(ours().node(0), false, TLS1_2_VERSION); }};
    EXPECT_SAYS(error_of(how), "refuses this side's certificate, or its TLS: ");
    called.join();
    EXPECT_FALSE(agreed);
}

TEST(cluster_tls, reports_a_peer_that_hangs_up) {
    support::watchdog guard{"reports_a_peer_that_hangs_up"};
    for (const bool encrypted : {false, true}) {
        const two_addresses where;
        node_options how = where.of(1);
        how.connect_timeout = 500ms;
        if (!encrypted) how.tls = {};
        std::thread called{[at = std::make_unique<strange_listener>(where.ports[0])] { at->accept(); }};
        EXPECT_SAYS(error_of(how), "node 0 (127.0.0.1:" + std::to_string(where.ports[0]) +
                                       ") ended the connection before it identified itself");
        called.join();
    }
}

TEST(cluster_tls, names_who_refused_a_node_and_why) {
    // Node 0 trusts another authority, and would refuse the certificate of node 1.
    const two_addresses where;
    node_options one = where.of(0), other = where.of(1);
    one.tls = theirs().options(0);
    one.connect_timeout = 2s;
    auto first = std::async(std::launch::async, [&] { return error_of(one); });
    const std::string said = error_of(other);
    EXPECT_SAYS(said, "node 0 (127.0.0.1:");
    EXPECT_SAYS(said, "shows a certificate that is refused");
    EXPECT_SAYS(first.get(), "The last rejected connection: a connection from 127.0.0.1:");
}

TEST(cluster_tls, reports_tls_on_one_side_only_at_both) {
    support::watchdog guard{"reports_tls_on_one_side_only_at_both"};
    for (const unsigned clear : {0u, 1u}) {
        const two_addresses where;
        node_options one = where.of(0), other = where.of(1);
        (clear == 0 ? one : other).tls = {};
        one.connect_timeout = 2s;
        auto first = std::async(std::launch::async, [&] { return error_of(one); });
        const std::string second = error_of(other);
        const std::string said[2] = {first.get(), second};
        EXPECT_SAYS(said[clear], "speaks TLS, and this node does not");
        EXPECT_SAYS(said[1 - clear], "does not speak TLS");
    }
}

// ---- limits

// An observer needs a certificate of the authority, but no node's number.
TEST(cluster_tls, requires_a_certificate_of_observers) {
    support::watchdog guard{"requires_a_certificate_of_observers"};
    const two_addresses where;
    auto second = std::async(std::launch::async, [&] { return std::make_unique<node>(where.of(1)); });
    const auto a = std::make_unique<node>(where.of(0));
    const auto b = second.get();
    const auto ask = [&where](const cluster::tls_options& shown) {
        return cluster::query_nodes({.addresses = where.of(0).addresses, .timeout = 20s, .tls = shown});
    };
    for (const cluster::node_reply& answer : ask(ours().options(1))) {
        ASSERT_TRUE(answer.status.has_value()) << answer.error;
        EXPECT_EQ(answer.status->nodes, 2u);
    }
    for (const cluster::node_reply& answer : ask({})) {
        EXPECT_FALSE(answer.status.has_value());
        EXPECT_SAYS(answer.error, "speaks TLS: give a certificate");
    }
    for (const cluster::node_reply& answer : ask(theirs().options(1))) {
        EXPECT_FALSE(answer.status.has_value());
        EXPECT_SAYS(answer.error, "shows a certificate that is refused");
    }
}

TEST(pending_handshakes_test, drops_the_oldest_and_the_late) {
    asio::io_context io;
    const auto make = [&] {
        auto c = std::make_shared<wire::connection>(io);
        c->socket.open(asio::ip::tcp::v4());
        return c;
    };
    const auto a = make(), b = make(), c = make(), called = make(), known = make();
    wire::pending_handshakes room{2, 20ms};
    room.add(a, true);
    room.add(called, false);
    room.add(b, true);
    EXPECT_TRUE(a->socket.is_open());
    room.add(c, true);
    EXPECT_FALSE(a->socket.is_open()) << "the oldest gives way";
    EXPECT_TRUE(b->socket.is_open());
    EXPECT_TRUE(called->socket.is_open()) << "whom we call does not count";
    room.add(known, false);
    room.remove(known);
    io.run();
    EXPECT_FALSE(b->socket.is_open());
    EXPECT_FALSE(called->socket.is_open());
    EXPECT_TRUE(c->is_late);
    EXPECT_TRUE(known->socket.is_open());

    // The peer sends its hello in the turn in which its time ends, so both handlers are pending.
    const auto just = make();
    room.add(just, false);
    asio::steady_timer before{io, just->deadline.expiry() - 1ms};
    before.async_wait([&](asio::error_code) { room.remove(just); });
    std::this_thread::sleep_for(25ms);
    io.restart();
    io.run();
    EXPECT_TRUE(just->socket.is_open());

    {
        const broken_check left_out{wire::fault::no_limit};
        wire::pending_handshakes crowded{1, 20ms};
        const auto d = make(), e = make();
        crowded.add(d, true);
        crowded.add(e, true);
        EXPECT_TRUE(d->socket.is_open()) << "the test would notice";
    }
    const broken_check left_out{wire::fault::no_deadline};
    wire::pending_handshakes patient{2, 20ms};
    const auto silent = make();
    patient.add(silent, true);
    io.restart();
    io.run();
    EXPECT_TRUE(silent->socket.is_open()) << "the test would notice";
}

TEST(cluster_limits, report_a_block_too_large_for_messages) {
    support::watchdog guard{"report_a_block_too_large_for_messages"};
    const two_addresses where;
    const auto of = [&](unsigned self) {
        node_options how = where.of(self);
        how.tls = {};
        how.max_message_bytes = 10'000;
        return how;
    };
    auto second = std::async(std::launch::async, [&] { return std::make_unique<node>(of(1)); });
    node a{of(0)};
    const auto b = second.get();
    const auto publish = [&](const std::string& id, std::size_t size) {
        const ref<std::string> r{a, id};
        atomically([&](tx& t) { r.publish(t, std::string(size, 'x')); });
    };
    EXPECT_THROW(publish("large", 10'000), usage_error);
    EXPECT_FALSE(atomically([&](tx& t) { return ref<std::string>{a, "large"}.find(t) != nullptr; }));
    // Together these objects are too large for one answer, so several answers arrive.
    std::vector<ref<std::string>> all;
    for (int i = 0; i < 40; ++i) {
        publish("object " + std::to_string(i), 4'000);
        all.emplace_back(*b, "object " + std::to_string(i));
    }
    EXPECT_EQ(atomically([&](tx& t) {
                  prefetch(t, all);
                  std::size_t sum = 0;
                  for (const ref<std::string>& r : all) sum += r.read(t).size();
                  return sum;
              }),
              160'000u);
    // Together these objects are too large for one commit.
    EXPECT_THROW(atomically([&](tx& t) {
                     for (const ref<std::string>& r : all) r.write(t) += "y";
                 }),
                 usage_error);
    EXPECT_EQ(atomically([&](tx& t) { return all[0].read(t).size(); }), 4'000u) << "it had no effect";
    // The objects need several requests, and the list of their owners needs several answers.
    std::vector<ref<std::string>> many;
    for (int i = 0; i < 2'000; ++i) many.emplace_back(*b, "nowhere " + std::to_string(i));
    EXPECT_EQ(atomically([&](tx& t) {
                  prefetch(t, many);
                  std::size_t found = 0;
                  for (const ref<std::string>& r : many) found += r.find(t) != nullptr ? 1u : 0u;
                  return found;
              }),
              0u);
    EXPECT_FALSE(a.lost(1));
    EXPECT_FALSE(b->lost(0));
}

}  // namespace
