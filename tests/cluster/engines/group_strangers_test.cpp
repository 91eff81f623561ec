// A member's port under any callers: random bytes, stalled handshakes, and more connections than may wait. All end
// within a bounded time, and programs do not notice them.
#include <sys/resource.h>

#include <deque>
#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/cluster/member.hpp>

#include "cluster/engines/secured_group.hpp"
#include "cluster/engines/stress_clients.hpp"
#include "cluster/unknown_client.hpp"
#include "support/effort.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using namespace tutti::cluster::testing;
using namespace std::chrono_literals;
namespace group = cluster::backend::group;
using strangers::unknown_client;

class group_strangers : public ::testing::TestWithParam<bool> {
protected:
    [[nodiscard]] static cluster::testing::group_tls files() { return {GetParam() ? ours().folder : ""}; }
    support::watchdog guard_{"group_strangers", 100s};
};

INSTANTIATE_TEST_SUITE_P(, group_strangers, ::testing::Bool(),
                         [](const auto& named) { return named.param ? "under_tls" : "in_the_clear"; });

std::uint64_t rejected_by(const group_server& g) {
    const auto facts = cluster::query_group(g.places(), 5000ms, g.tls());
    return facts.members.empty() ? 0 : facts.members[0].connections_rejected;
}

long resident_kib(pid_t p) {
    std::ifstream from{"/proc/" + std::to_string(p) + "/status"};
    for (std::string word; from >> word;) {
        long kib = 0;
        if (word == "VmRSS:" && from >> kib) return kib;
    }
    return 0;
}

TEST_P(group_strangers, disconnects_silent_clients) {
    group_server g{1, 0, files()};
    g.start();
    stress_clients all{g.address(), 31, g.tls()};
    all.let_commit(20);
    const std::uint64_t before = rejected_by(g);
    std::vector<unknown_client> silent;
    // Opens more connections than the member lets wait, and more than the kernel queues.
    for (int i = 0; i < 600; ++i) silent.push_back(unknown_client::connect_to(port_of(g.places()[0])));
    all.let_commit(20);
    for (unknown_client& s : silent) EXPECT_EQ(s.receive(), "");
    until([&] { return rejected_by(g) >= before + 600; });
    all.let_commit(20);
    EXPECT_EQ(all.judge(g.address()), "");
    await_line(g, 0, "was closed to make room for others");
}

TEST_P(group_strangers, disconnects_slow_clients) {
    group_server g{1, 0, files()};
    g.start();
    stress_clients all{g.address(), 32, g.tls()};
    // Each client sends only the start of a hello or of a TLS record. The starts of records contain the whole header of
    // the record, or a part of that header.
    const std::string record{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11};
    std::vector<unknown_client> slow;
    for (const std::string& bytes :
         {hello_of(group::peer_kind::program).substr(0, 20), record, record.substr(0, 3), std::string{"\x16\x03"}}) {
        slow.push_back(unknown_client::connect_to(port_of(g.places()[0])));
        slow.back().send(bytes);
    }
    all.let_commit(20);
    for (unknown_client& s : slow) static_cast<void>(s.receive());
    await_line(g, 0, "has not identified itself within 2000 ms");
    all.let_commit(20);
    EXPECT_EQ(all.judge(g.address()), "");
}

/// Returns some bytes of an unknown client: a hello, a request, or random bytes, in most cases incomplete.
std::string some_bytes(support::random& dice) {
    std::string bytes;
    switch (dice.below(4)) {
        case 0: bytes = hello_of(group::peer_kind::program); break;
        case 1: bytes = hello_of(static_cast<group::peer_kind>(dice.below(5))); break;
        case 2:
            bytes =
                hello_of(group::peer_kind::program) + group::frame(group::request_kind::status, group::empty_body{});
            break;
        default:
            bytes = std::string{"\x16\x03\x01", 3};
            for (std::uint64_t n = dice.below(600); n > 0; --n) bytes.push_back(static_cast<char>(dice.below(256)));
    }
    for (std::uint64_t n = dice.below(4); n > 0 && !bytes.empty(); --n)
        bytes[dice.below(bytes.size())] = static_cast<char>(dice.below(256));
    if (dice.one_in(3)) bytes.resize(dice.below(bytes.size() + 1));
    return bytes;
}

TEST_P(group_strangers, closes_only_the_connection_of_invalid_bytes) {
    group_server g{1, 0, files()};
    g.start();
    stress_clients all{g.address(), 33, g.tls()};
    all.let_commit(20);
    const long before = resident_kib(g.at(0).id());
    support::random dice{33};
    const std::size_t rounds = support::rounds(400);
    std::deque<unknown_client> open;
    for (std::size_t i = 0; i < rounds; ++i) {
        open.push_back(unknown_client::connect_to(port_of(g.places()[0])));
        unknown_client& one = open.back();
        // Half of the unknown clients with a certificate use it, and send the same bytes under TLS.
        if (GetParam() && dice.one_in(2) && !one.encrypt(ours().program())) continue;
        const std::string bytes = some_bytes(dice);
        const std::size_t cut = dice.below(bytes.size() + 1);
        one.send(bytes.substr(0, cut));
        one.send(bytes.substr(cut));
        if (dice.one_in(2)) open.pop_back();
        if (open.size() > 100) open.pop_front();
    }
    all.let_commit(20);
    EXPECT_FALSE(g.at(0).has_ended()) << whole(g.log_of(0));
    open.clear();
    EXPECT_EQ(all.judge(g.address()), "");
    const long grown = resident_kib(g.at(0).id()) - before;
    std::printf("%ld KiB more than before\n", grown);
#if !defined(TUTTI_SANITIZED)  // a sanitizer keeps freed memory
    EXPECT_LT(grown, 64 * 1024) << "KiB for unknown clients that have gone";
#endif
    // The log does not get a line for each of them.
    const std::string log = whole(g.log_of(0));
    EXPECT_LT(std::ranges::count(log, '\n'), 40) << log;
}

// A peer that calls itself neither a member nor a program is refused.
TEST_P(group_strangers, treats_no_unknown_peer_kind_as_member) {
    group_server g{1, 0, files()};
    g.start();
    unknown_client one = unknown_client::connect_to(port_of(g.places()[0]));
    if (GetParam()) {
        ASSERT_TRUE(one.encrypt(ours().program()));
    }
    one.send(hello_of(static_cast<group::peer_kind>(3)));
    EXPECT_EQ(one.receive(), "");
    await_line(g, 0, "has sent bytes of another protocol");
}

}  // namespace
