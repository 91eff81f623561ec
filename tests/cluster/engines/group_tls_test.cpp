// Groups under TLS as real processes: members and programs with valid certificates, and the error messages of refused
// peers.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <tutti/cluster/member.hpp>
#include <tutti/tutti.hpp>

#include "cluster/beyond_loopback.hpp"
#include "cluster/certificates.hpp"
#include "cluster/engines/secured_group.hpp"
#include "cluster/engines/stress_clients.hpp"
#include "cluster/unknown_client.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"
#include "wire/fault_injection.hpp"

namespace {

using namespace tutti;
using namespace tutti::cluster::testing;
using namespace std::chrono_literals;
namespace backend = cluster::backend;
using backend::group::member_connection;
using strangers::certificates;
using strangers::strange_listener;
using strangers::unknown_client;

class group_tls : public ::testing::Test {
protected:
    support::watchdog guard_{"group_tls", 100s};
};

// ---- valid peers

TEST_F(group_tls, serves_members_and_programs) {
    group_server g{3, 0, {ours().folder}};
    g.start();
    stress_clients all{g.address(), 21, g.tls()};
    for (std::size_t i = 0; i < support::rounds(2); ++i) {
        all.let_commit(40);
        g.at(g.leader()).end();
        all.let_commit(40);  // by the others
        g.start();
    }
    // A member that joins gets all of the data.
    const std::string files = ours().sign("member-3", "subjectAltName=DNS:member.tutti");
    g.add();
    all.let_commit(40);
    EXPECT_EQ(all.judge(g.address()), "");
    const auto facts = cluster::query_group(g.places(), 2000ms, g.tls());
    EXPECT_EQ(facts.members.size(), 4u);
    for (const cluster::member_status& m : facts.members) EXPECT_EQ(m.error, "") << m.address;
}

// A TLS record holds 16 KiB, and a local socket buffers some hundred KiB. Larger data takes many turns in both
// directions.
TEST_F(group_tls, transfers_large_messages_intact) {
    group_server g{2, 0, {ours().folder}};
    g.start();
    const auto e = engine_at(g.address(), g.tls());
    const std::string large(backend::group::max_commit_bytes - 100, 'x');
    for (int i = 0; i < 8; ++i) until([&] { return put(*e, "o" + std::to_string(i % 2), large); });
    EXPECT_EQ(look(*e, "o0"), large);
    const auto equal = [&] {
        const auto facts = cluster::query_group(g.places(), 2000ms, g.tls()).members;
        return facts.size() == 2 && facts[0].version == facts[1].version && facts[0].bytes == facts[1].bytes;
    };
    until(equal);
    g.add();  // by a snapshot, in pieces
    until([&] {
        const auto facts = cluster::query_group(g.places(), 2000ms, g.tls()).members;
        return facts.size() == 3 && facts[0].bytes == facts[2].bytes;
    });
}

TEST_F(group_tls, lets_members_listen_beyond_loopback) {
    const std::string host = address_beyond_loopback();
    const std::string somewhere = (host.empty() ? "192.0.2.1" : host) + ":" + std::to_string(cli::free_port());
    cluster::member_options how;
    how.data_dir = ours().folder + "/beyond";
    how.address = somewhere;
    how.new_group = true;
    const auto refused = [&how] {
        try {
            const cluster::member one{how, [](cluster::member::severity, const std::string&) {}};
        } catch (const cluster::member_error& e) {
            return std::string{e.what()};
        }
        return std::string{};
    };
    EXPECT_SAYS(refused(), "is beyond loopback, and its traffic would not be encrypted");
    EXPECT_SAYS(refused(), "--certificate");
    EXPECT_SAYS(why_not(engine_options_of("tutti://" + somewhere, {})), "is beyond loopback");
    EXPECT_SAYS(why_not(engine_options_of("redis://127.0.0.1:6379", ours().options(ours().program()))),
                "cannot use certificates");
    how.tls = ours().options(ours().program());
    EXPECT_SAYS(refused(), "is made for program.tutti, and must be made for member.tutti");
    how.tls = ours().options(ours().member(0));
    how.group_name = "bank";
    EXPECT_SAYS(refused(), "must be made for member.bank");
    how.group_name = "tutti";
    how.address = "0.0.0.0:7001";
    EXPECT_SAYS(refused(), "a number that others reach it by");
    if (host.empty()) GTEST_SKIP() << "this machine has no address beyond loopback";
    how.address = somewhere;
    {
        cluster::member one{how, [](cluster::member::severity, const std::string&) {}};
        std::thread runs{[&] { one.run(); }};
        const auto e = engine_at("tutti://" + somewhere, ours().options(ours().program()));
        EXPECT_TRUE(put(*e, "o1", "x"));
        one.stop();
        runs.join();
    }
    how.address.clear();
    how.tls = {};
    EXPECT_SAYS(refused(), "is beyond loopback") << "it has been there under TLS, and is not in the clear now";
}

TEST_F(group_tls, uses_the_configured_versions_and_ciphers) {
    cluster::member_options how;
    how.data_dir = ours().folder + "/protocol";
    how.address = "127.0.0.1:" + std::to_string(cli::free_port());
    how.new_group = true;
    how.tls = ours().options(ours().member(0));
    std::mutex guard;
    std::string received;
    const auto tell = [&](cluster::member::severity, const std::string& line) {
        const std::lock_guard hold{guard};
        received += line + '\n';
    };
    const auto refused = [&] {
        try {
            const cluster::member one{how, tell};
        } catch (const cluster::member_error& e) {
            return std::string{e.what()};
        }
        return std::string{};
    };
    how.tls.ciphers = "swordfish";
    EXPECT_SAYS(refused(), "TLS: ciphers of TLS 1.2 'swordfish': ");
    EXPECT_FALSE(std::filesystem::exists(how.data_dir)) << "the start has ended before it made anything";
    how.tls.ciphers.clear();
    how.tls.minimum_version = "1.1";
    EXPECT_SAYS(refused(), "the minimum version of TLS must be 1.2 or 1.3");

    how.tls.minimum_version = "1.3";
    how.tls.ciphersuites = "TLS_CHACHA20_POLY1305_SHA256";
    cluster::member one{how, tell};
    std::thread runs{[&] { one.run(); }};
    {
        unknown_client late = unknown_client::connect_to(port_of(how.address)),
                       early = unknown_client::connect_to(port_of(how.address));
        EXPECT_TRUE(late.encrypt(ours().program()));
        EXPECT_EQ(late.cipher(), "TLS_CHACHA20_POLY1305_SHA256");
        EXPECT_FALSE(early.encrypt(ours().program(), true, TLS1_2_VERSION));
    }
    until([&] {
        const std::lock_guard hold{guard};
        return received.find("offers no version or cipher of TLS that is allowed here") != std::string::npos;
    });
    cluster::engine_options program = engine_options_of("tutti://" + how.address, ours().options(ours().program()));
    program.tls.ciphersuites = "TLS_AES_128_GCM_SHA256";
    EXPECT_SAYS(why_not(program), "refuses this side's certificate, or its TLS");
    program.tls.ciphersuites.clear();
    EXPECT_EQ(why_not(program), "");
    one.stop();
    runs.join();
}

TEST_F(group_tls, rejects_ciphers_unknown_to_openssl) {
    for (const char* const address : {"tutti://127.0.0.1:7001", "redis://127.0.0.1:6379", "memory:ciphers"}) {
        cluster::engine_options how = engine_options_of(address, {});
        how.tls.ciphers = "swordfish";
        EXPECT_SAYS(why_not(how), "TLS: ciphers of TLS 1.2 'swordfish': ");
    }
    cluster::tls_options how = ours().options(ours().program());
    how.ciphers = "swordfish";
    EXPECT_THROW(static_cast<void>(cluster::query_group({"127.0.0.1:7001"}, 100ms, how)), cluster::member_error);
}

// ---- permissions

TEST_F(group_tls, denies_membership_changes_to_program_certificates) {
    group_server g{1, 0, {ours().folder}};
    g.start();
    const std::size_t second = g.add();
    std::uint64_t id = 0;
    for (const cluster::member_status& m : cluster::query_group(g.places(), 2000ms, g.tls()).members) {
        if (m.address == g.places()[second]) id = m.id;
    }
    std::string why;
    try {
        cluster::remove_member(g.places(), id, 20s, g.tls());
    } catch (const cluster::member_error& e) {
        why = e.what();
    }
    EXPECT_SAYS(why, "with the certificate of a member, made for member.tutti");
    EXPECT_EQ(cluster::query_group(g.places(), 2000ms, g.tls()).members.size(), 2u);
    cluster::remove_member(g.places(), id, 20s, ours().options(ours().member(0)));
    EXPECT_EQ(cluster::query_group(g.places(), 2000ms, g.tls()).members.size(), 1u);
}

/// Returns true if a member welcomes a caller that has these files, or none, and sends a hello as `who`. Otherwise
/// checks that the member reports `says` to its operator.
bool welcomes(const group_server& g, const std::string& files, backend::group::peer_kind who, const std::string& says) {
    const auto facts = cluster::query_group(g.places(), 5000ms, g.tls()).members;
    const std::uint64_t id = facts.empty() ? 0 : facts[0].id;
    std::string received;
    {
        unknown_client one = unknown_client::connect_to(port_of(g.places()[0]));
        if (one.encrypt(files)) {
            one.send(hello_of(who, id));
            received = one.receive(1);
        }
    }
    backend::group::welcome w;
    if (received.size() > 4 && wire::decode(std::string_view{received}.substr(4), w) && w.refused == 0) return true;
    await_line(g, 0, says);
    return false;
}

/// Returns a description of a wrongly admitted peer, or an empty string.
std::string lets_in(wire::fault with) {
    group_server g{1, 0, {ours().folder, static_cast<int>(with)}};
    g.start();
    using enum backend::group::peer_kind;
    if (!welcomes(g, ours().program(), program, "")) return "a program is refused";
    if (!welcomes(g, ours().member(1), program, "")) return "a member that asks as a program is refused";
    const struct {
        std::string files;
        backend::group::peer_kind who;
        const char* says;
    } all[] = {
        {ours().program(), member, "is made for program.tutti, and a member's must be made for member.tutti"},
        {ours().sign("node", "subjectAltName=DNS:node-0.tutti"), program,
         "is made for node-0.tutti, and a program's must be made for program.tutti"},
        {ours().sign("bank", "subjectAltName=DNS:member.bank"), member, "is made for member.bank"},
        {ours().sign("stars", "subjectAltName=DNS:*.tutti"), program, "is made for *.tutti"},
        {theirs().member(0), member, "shows a certificate that is refused"},
        {ours().sign_expired("old", "program.tutti"), program, "has expired"},
        {"", program, "peer did not return a certificate"},
    };
    for (const auto& one : all) {
        if (welcomes(g, one.files, one.who, one.says)) return "a peer was admitted that must be refused: " + one.files;
    }
    const auto e = engine_at(g.address(), g.tls());
    return put(*e, "o1", "x") ? "" : "the group does not work any more";
}

TEST_F(group_tls, rejects_peers_without_a_matching_certificate) { EXPECT_EQ(lets_in(wire::fault::none), ""); }
TEST_F(group_tls, detects_members_that_check_no_name) { EXPECT_NE(lets_in(wire::fault::no_name_check), ""); }
TEST_F(group_tls, detects_members_that_check_no_authority) { EXPECT_NE(lets_in(wire::fault::no_authority_check), ""); }

TEST_F(group_tls, accepts_only_members_as_servers) {
    const auto why = [](const std::string& files) {
        const int port = cli::free_port();
        strange_listener at{port};
        std::thread called{[&] {
            unknown_client one = at.accept();
            if (one.encrypt(files, false)) one.receive();
        }};
        std::string result;
        const auto how = backend::group::credentials::of(tls_of(ours().options(ours().program())),
                                                         backend::group::peer_kind::program);
        EXPECT_EQ(member_connection::open("127.0.0.1:" + std::to_string(port), 0, member_connection::clock::now() + 5s,
                                          result, how.get()),
                  nullptr);
        called.join();
        return result;
    };
    EXPECT_SAYS(why(ours().program()), "is made for program.tutti, and not for member.tutti");
    EXPECT_SAYS(why(theirs().member(0)), "shows a certificate that is refused");
    EXPECT_SAYS(why(ours().sign_expired("older", "member.tutti")), "has expired");
    EXPECT_SAYS(why(ours().member(0)), "sent nothing") << "this certificate is valid, but the peer is not a member";
}

TEST_F(group_tls, rejects_members_of_another_authority) {
    group_server g{1, 0, {ours().folder}};
    g.start();
    EXPECT_SAYS(why_not(engine_options_of(g.address(), theirs().options(theirs().program()))),
                "shows a certificate that is refused");
    cluster::member_options how;
    how.data_dir = ours().folder + "/joins";
    how.address = "127.0.0.1:" + std::to_string(cli::free_port());
    how.join = g.places();
    how.tls = theirs().options(theirs().member(1));
    std::string why;
    try {
        const cluster::member one{how, [](cluster::member::severity, const std::string&) {}};
    } catch (const cluster::member_error& e) {
        why = e.what();
    }
    EXPECT_SAYS(why, "shows a certificate that is refused");
    await_line(g, 0, "refuses this side's certificate");
}

// ---- TLS on one side only

TEST_F(group_tls, reports_unencrypted_peers_on_both_sides) {
    group_server secured{1, 0, {ours().folder}}, clear{1};
    secured.start();
    clear.start();
    EXPECT_SAYS(why_not(engine_options_of(secured.address(), {})), "speaks TLS, and this side does not: give");
    await_line(secured, 0, "a connection from 127.0.0.1 does not speak TLS: give it a certificate");
    EXPECT_SAYS(why_not(engine_options_of(clear.address(), secured.tls())),
                "does not speak TLS: give it a certificate");
    await_line(clear, 0, "a connection from 127.0.0.1 speaks TLS, and this side does not: give");
    // An unknown client without TLS receives a TLS alert.
    unknown_client one = unknown_client::connect_to(port_of(secured.places()[0]));
    one.send(hello_of(backend::group::peer_kind::member));
    EXPECT_EQ(one.receive(), wire::alert_in_the_clear());
}

TEST_F(group_tls, tells_a_member_that_lacks_its_certificate) {
    group_server g{3, 0, {ours().folder}};
    g.start();
    const std::size_t follows = (g.leader() + 1) % 3;
    stress_clients all{g.address(), 22, g.tls()};
    g.at(follows).end();
    g.start_one(follows, "");
    // The message appears for outgoing and for incoming connections.
    await_line(g, follows, g.places()[(follows + 1) % 3] + " speaks TLS, and this side does not");
    await_line(g, follows, "a connection from 127.0.0.1 speaks TLS, and this side does not");
    all.let_commit(40);
    g.at(follows).end();
    g.start_one(follows);
    all.let_commit(40);
    EXPECT_EQ(all.judge(g.address()), "");
}

// ---- files that change

std::string copy_of(const std::string& from, const std::string& to) {
    for (const char* const end : {".pem", ".key"}) {
        std::filesystem::copy_file(from + end, to + end + ".new", std::filesystem::copy_options::overwrite_existing);
        std::filesystem::rename(to + end + ".new", to + end);
    }
    return to;
}

TEST_F(group_tls, uses_changed_files_for_the_next_connection) {
    const certificates mine{"tls-changing", "tutti", "member"};
    group_server g{1, 0, {mine.folder}};
    g.start();
    const auto e = engine_at(g.address(), g.tls());
    ASSERT_TRUE(put(*e, "o1", "x"));
    const auto shown = [&] {
        unknown_client one = unknown_client::connect_to(port_of(g.places()[0]));
        return one.encrypt(mine.program()) ? one.names_of_other() : std::string{"nothing"};
    };
    EXPECT_EQ(shown(), "member.tutti");
    const std::string fresh = mine.sign("fresh", "subjectAltName=DNS:member.tutti,DNS:fresh.tutti");
    copy_of(fresh, mine.member(0));
    EXPECT_EQ(shown(), "member.tutti, fresh.tutti");
    // A key without a matching certificate: the old files stay in use, and the member logs a message.
    std::ofstream{mine.member(0) + ".key"} << "no key";
    EXPECT_EQ(shown(), "member.tutti, fresh.tutti");
    await_line(g, 0, "changed certificate files are not in use");
    EXPECT_TRUE(put(*e, "o1", "y"));
    copy_of(mine.sign("freshest", "subjectAltName=DNS:member.tutti,DNS:freshest.tutti"), mine.member(0));
    EXPECT_EQ(shown(), "member.tutti, freshest.tutti");
}

TEST_F(group_tls, uses_new_files_when_a_program_reconnects) {
    const certificates mine{"tls-renewed", "tutti", "member"};
    const std::string files = copy_of(mine.program(), mine.folder + "/renewed");
    group_server g{1, 0, {mine.folder}};
    g.start();
    const auto e = engine_at(g.address(), mine.options(files));
    ASSERT_TRUE(put(*e, "o1", "x"));
    // The certificate that the program has read has expired by now, and would be refused.
    const std::string old = mine.sign_expired("over", "program.tutti");
    g.at(0).end();
    copy_of(old, files);
    g.start_one(0);
    until([&] { return put(*e, "o1", "y"); });  // with the previous files, which have not expired
    copy_of(mine.sign("program-fresh", "subjectAltName=DNS:program.tutti"), files);
    g.at(0).end();
    g.start_one(0);
    until([&] { return put(*e, "o1", "z"); });
    EXPECT_EQ(look(*e, "o1"), "z");
}

}  // namespace
