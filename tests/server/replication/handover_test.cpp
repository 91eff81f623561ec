// A leader that hands over leadership to a follower. Catches
//   - an answered call that the new leader does not have, or has twice, while clients keep calling
//   - two leaders, because an order to lead, or its answer, was lost or late
//   - a leader that keeps refusing calls although its follower did not become the leader
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "server/client.hpp"
#include "server/replication/proxy.hpp"
#include "server/replication/servers.hpp"

namespace tutti::server {
namespace {

class handover : public servers {
protected:
    /// A leader and a follower whose order to lead does not arrive. The follower has all calls, so the leader sends the
    /// order immediately, and the proxy holds the order.
    struct pair {
        explicit pair(settings how) : leader{std::move(how)} {}
        bank leader;
        proxy between{leader.serves.port()};
        std::unique_ptr<bank> follower;
    };
    std::unique_ptr<pair> two_servers() {
        auto p = std::make_unique<pair>(with_log("a"));
        follow(*p);
        write(p->leader, 3);
        EXPECT_EQ(last_wait(p->leader), "1");
        return p;
    }
    void follow(pair& p, std::uint16_t port = 0) {
        settings how = following("b", p.between.port());
        how.port = port;
        p.follower = std::make_unique<bank>(how);
    }
    /// Orders the follower to lead, and ends the follower before it gets the order. Returns the error of the handover,
    /// which is in doubt then.
    static std::string lose_follower_that_was_ordered(pair& p) {
        p.between.hold();
        std::string why;
        std::thread hands_over{[&] { why = p.leader.serves.hand_over({}, 300ms); }};
        until([&] { return p.leader.says("handover:hands over to " + address_of(*p.follower)); });
        p.follower.reset();
        hands_over.join();
        return why;
    }
    static std::string last_wait(const bank& leader) {
        client c{leader.serves.port()};
        EXPECT_EQ(c({"CALL", "put", "9", "1"}), "OK");
        return c({"WAIT", "1", "0"});
    }
    static std::string address_of(const bank& b) { return "127.0.0.1:" + std::to_string(b.serves.port()); }
};

/// Increments a cell at the server that leads, until it is stopped.
class counting_client {
public:
    counting_client(std::vector<std::uint16_t> ports, int cell)
        : thread_{[this, ports = std::move(ports), cell](const std::stop_token& over) { work(over, ports, cell); }} {}
    std::uint64_t end() {
        thread_.request_stop();
        thread_.join();
        return answered;
    }
    std::atomic<std::uint64_t> answered{0};

private:
    void work(const std::stop_token& over, const std::vector<std::uint16_t>& ports, int cell) {
        client one{ports[0]}, other{ports[1]};
        for (client *at = &one, *next = &other; !over.stop_requested();) {
            const std::string wanted = std::to_string(answered + 1);
            const std::string said = (*at)({"CALL", "next", std::to_string(cell), wanted});
            if (said == wanted) ++answered;
            else if (said.starts_with("-READONLY")) std::swap(at, next);  // the call had no effect
            else ADD_FAILURE() << said;
        }
    }
    std::jthread thread_;
};

TEST_F(handover, runs_every_call_of_clients_once) {
    bank a{with_log("a")};
    bank b{following("b", a.serves.port())};
    std::vector<std::unique_ptr<counting_client>> clients;
    for (int i = 0; i < 4; ++i)
        clients.push_back(
            std::make_unique<counting_client>(std::vector<std::uint16_t>{a.serves.port(), b.serves.port()}, i));
    bank *leads = &a, *follows = &b;
    for (int round = 0; round < 4; ++round) {
        for (const auto& c : clients) until([&, more = c->answered + 20] { return c->answered >= more; });
        EXPECT_EQ(leads->serves.hand_over(round % 2 == 0 ? "" : address_of(*follows), 60s), "");
        EXPECT_TRUE(leads->says("role:follower\r\n")) << leads->serves.info();
        EXPECT_TRUE(follows->says("role:leader\r\naccepts_writes:1\r\nterm:" + std::to_string(round + 2) + "\r\n"))
            << follows->serves.info();
        std::swap(leads, follows);
    }
    for (std::size_t i = 0; i < clients.size(); ++i) {
        const std::uint64_t answered = clients[i]->end();
        EXPECT_EQ(leads->state->cells[i].load(), answered) << i;
    }
    until_same(a, b);
    leads->serves.drain();
    EXPECT_FALSE(has_notice("lacks the last"));
}

// The FAILOVER command reverses the direction of the log: the former leader follows, and names the new leader. WAIT
// works at the new leader.
TEST_F(handover, runs_by_a_command) {
    auto a = std::make_unique<bank>(with_log("a"));
    client c{a->serves.port()};
    const std::string nobody = c({"FAILOVER"});
    EXPECT_EQ(nobody, "-ERR FAILOVER requires connected replicas.");
    settings how = following("b", a->serves.port());
    how.host = "0.0.0.0";
    how.unprotected = true;
    bank b{how};
    write(*a, 3);
    EXPECT_EQ(c({"FAILOVER", "ABORT"}).find("-ERR syntax error: FAILOVER [TO"), 0U);
    EXPECT_EQ(c({"FAILOVER", "TIMEOUT", "0"}).find("-ARGUMENT FAILOVER TIMEOUT"), 0U);
    EXPECT_EQ(c({"FAILOVER", "TO", "127.0.0.1", std::to_string(a->serves.port())}),
              "-ERR the server at " + address_of(*a) + " does not follow this one");
    EXPECT_EQ(c({"FAILOVER", "TO", "127.0.0.1", "1", "TIMEOUT", "1000"})
                  .find("-ERR cannot reach the server at 127.0.0.1:1: "),
              0U);
    EXPECT_EQ(client{b.serves.port()}({"FAILOVER"}).find("-ERR this server follows"), 0U);
    EXPECT_EQ(c({"FAILOVER", "TIMEOUT", "60000"}), "OK");
    const std::string refused = c({"CALL", "put", "1", "7"});
    EXPECT_EQ(refused.find("-READONLY put: this server follows " + address_of(b)), 0U) << refused;
    EXPECT_EQ(c({"ROLE"}).find("(slave 127.0.0.1 "), 0U);
    EXPECT_THROW(a->serves.call<void>("put", {}, 1, 7).get(), call_error);
    write(b, 3, 4);
    until_same(*a, b);
    EXPECT_EQ(b({"WAIT", "1", "0"}), "1");
}

// Catches a third server that keeps asking the former leader, either directly after the handover or after its own next
// start.
TEST_F(handover, redirects_the_other_followers) {
    settings of_c;
    auto a = std::make_unique<bank>(with_log("a"));
    auto b = std::make_unique<bank>(following("b", a->serves.port()));
    of_c = following("c", a->serves.port());
    auto c = std::make_unique<bank>(of_c);
    write(*a, 3);
    until_same(*a, *c);
    EXPECT_EQ(a->serves.hand_over(address_of(*b), 60s), "");
    write(*b, 2, 4);
    until_same(*b, *c);
    EXPECT_TRUE(c->says("leader:" + address_of(*b) + "\r\nleader_connected:1\r\n")) << c->serves.info();
    EXPECT_EQ((*c)({"CALL", "put", "1", "7"}).find("-READONLY put: this server follows " + address_of(*b)), 0U);
    EXPECT_EQ((*b)({"WAIT", "2", "0"}), "2");
    // Continues without the former leader.
    a.reset();
    c.reset();
    write(*b, 1, 6);
    c = std::make_unique<bank>(of_c);
    until_same(*b, *c);
    // The server is a normal follower: it may lead, and does so even after a start with its former options.
    until([&] { return c->says("leader_connected:1"); });
    EXPECT_EQ(b->serves.hand_over(address_of(*c), 60s), "");
    write(*c, 1, 7);
    until_same(*b, *c);
    of_c.port = c->serves.port();
    c.reset();
    c = std::make_unique<bank>(of_c);
    EXPECT_TRUE(c->says("role:leader\r\naccepts_writes:1\r\nterm:3\r\n")) << c->serves.info();
    write(*c, 1, 8);
    until_same(*b, *c);
}

// A follower has found the new leader, which is then lost. The leader that the follower's options name leads again.
TEST_F(handover, the_leader_that_the_options_name_is_not_forgotten) {
    settings of_a = with_log("a");
    auto a = std::make_unique<bank>(of_a);
    of_a.port = a->serves.port();
    auto b = std::make_unique<bank>(following("b", a->serves.port()));
    bank c{following("c", a->serves.port())};
    write(*a, 3);
    EXPECT_EQ(a->serves.hand_over(address_of(*b), 60s), "");
    write(*b, 2, 4);
    until_same(*a, *b);
    until_same(*b, c);
    const std::string found = address_of(*b);
    b.reset();
    EXPECT_EQ((*a)({"REPLICAOF", "NO", "ONE"}), "OK");
    write(*a, 1, 6);
    until_same(*a, c);
    EXPECT_TRUE(c.says("leader:" + address_of(*a) + "\r\nleader_connected:1\r\n")) << c.serves.info();
    EXPECT_EQ(count_notices("the leader is at " + found + " now"), 1);
}

// The options may name any follower, even for a server without a log. Two servers that follow each other get a message.
TEST_F(handover, a_follower_names_its_leader) {
    auto a = std::make_unique<bank>(with_log("a"));
    settings of_b = following("b", a->serves.port());
    auto b = std::make_unique<bank>(of_b);
    of_b.port = b->serves.port();
    write(*a, 3);
    bank c{following("c", b->serves.port())};
    write(*a, 1, 4);
    until_same(*a, c);
    EXPECT_TRUE(c.says("leader:" + address_of(*a) + "\r\n")) << c.serves.info();
    const std::string refused = (*b)({"FOLLOW", "PULL", "2", "7", "-", "0", "0", "1", "1", "0", "1", "0"});
    EXPECT_EQ(refused, "-ELSEWHERE " + address_of(*a) + " is the leader that this server follows: follow that server");
}

// Catches servers that send each other back and forth endlessly and silently.
TEST_F(handover, reports_servers_that_follow_each_other) {
    auto a = std::make_unique<bank>(with_log("a"));
    settings of_b = following("b", a->serves.port()), of_c = following("c", a->serves.port());
    auto b = std::make_unique<bank>(of_b);
    auto c = std::make_unique<bank>(of_c);
    write(*a, 3);
    until_same(*a, *b);
    until_same(*a, *c);
    of_b.port = of_c.follow.port = b->serves.port();
    of_c.port = of_b.follow.port = c->serves.port();
    a.reset();
    b.reset();
    c.reset();
    b = std::make_unique<bank>(of_b);
    c = std::make_unique<bank>(of_c);
    until([&] { return has_notice("these servers follow each other without a leader. Promote one of them"); });
    EXPECT_EQ((*b)({"REPLICAOF", "NO", "ONE"}), "OK");
    write(*b, 1, 4);
    until_same(*b, *c);
}

// Catches two servers that both lead after starts with their former options.
TEST_F(handover, survives_restarts_with_the_same_options) {
    settings of_a = with_log("a"), of_b;
    {
        bank a{of_a};
        of_a.port = a.serves.port();
        of_b = following("b", a.serves.port());
        bank b{of_b};
        of_b.port = b.serves.port();
        write(a, 3);
        EXPECT_EQ(a.serves.hand_over({}, 60s), "");
        write(b, 1, 4);
        until_same(a, b);
    }
    auto b = std::make_unique<bank>(of_b);
    auto a = std::make_unique<bank>(of_a);
    EXPECT_TRUE(a->says("role:follower\r\n"));
    EXPECT_TRUE(b->says("role:leader\r\naccepts_writes:1\r\nterm:2\r\n"));
    write(*b, 1, 5);
    until_same(*a, *b);
    EXPECT_EQ(b->serves.hand_over({}, 60s), "");
    write(*a, 1, 6);
    a.reset();
    b.reset();
    a = std::make_unique<bank>(of_a);
    b = std::make_unique<bank>(of_b);
    EXPECT_TRUE(a->says("role:leader\r\n"));
    until_same(*a, *b);
    EXPECT_TRUE(b->says("role:follower\r\n"));
}

TEST_F(handover, is_forgotten_after_an_operator_decides_otherwise) {
    settings how = with_log("a");
    auto a = std::make_unique<bank>(how);
    how.port = a->serves.port();
    const bank b{following("b", how.port.value())};
    EXPECT_EQ(a->serves.hand_over({}, 60s), "");
    EXPECT_EQ(a->serves.promote(), "");
    write(*a, 1);
    a.reset();
    a = std::make_unique<bank>(how);
    EXPECT_TRUE(a->says("role:leader\r\naccepts_writes:1\r\nterm:3\r\n")) << a->serves.info();
}

TEST_F(handover, fails_if_the_follower_lags) {
    const auto p = two_servers();
    p->between.hold();
    write(p->leader, 2, 4);
    const std::string why = p->leader.serves.hand_over({}, 20ms);
    EXPECT_NE(why.find("lacks the last 2 calls at the timeout, so this server continues to lead"), std::string::npos)
        << why;
    write(p->leader, 1, 6);
    EXPECT_TRUE(p->leader.says("accepts_writes:1\r\nterm:1\r\n")) << p->leader.serves.info();
    p->between.release();
    until_same(p->leader, *p->follower);
    EXPECT_EQ(p->leader.serves.hand_over({}, 60s), "");
    write(*p->follower, 1, 7);
}

// Catches a follower that leads because of an order that its leader has withdrawn.
TEST_F(handover, leaves_one_leader_after_a_late_order) {
    const auto p = two_servers();
    p->between.hold();
    client waits{p->leader.serves.port()};
    std::string why;
    std::thread hands_over{[&] { why = p->leader.serves.hand_over({}, 300ms); }};
    until([&] { return p->leader.says("handover:hands over to " + address_of(*p->follower)); });
    waits.send({"CALL", "next", "0", "4"});
    hands_over.join();
    EXPECT_NE(why.find("did not take over before the timeout, so this server continues to lead, in term 3"),
              std::string::npos)
        << why;
    EXPECT_EQ(waits.receive(), "4") << "it waited, and is run";
    p->between.release();
    write(p->leader, 2, 5);
    until_same(p->leader, *p->follower);
    EXPECT_TRUE(p->follower->says("role:follower\r\n"));
    EXPECT_EQ(p->leader.serves.hand_over({}, 60s), "") << "it can be ordered again";
    EXPECT_TRUE(p->follower->says("accepts_writes:1\r\nterm:4\r\n")) << p->follower->serves.info();
}

// Catches an old leader that leads again although the other server may lead. Catches an old leader that never learns
// that the other server leads.
TEST_F(handover, is_in_doubt_while_the_follower_is_down) {
    const auto p = two_servers();
    const std::uint16_t port = p->follower->serves.port();
    const std::string why = lose_follower_that_was_ordered(*p);
    EXPECT_NE(why.find("was ordered to lead and does not answer"), std::string::npos) << why;
    EXPECT_EQ(p->leader({"CALL", "put", "1", "1"}).find("-READONLY put: the follower at "), 0U);
    EXPECT_EQ(p->leader({"CALL", "get", "0"}), "3");
    EXPECT_TRUE(p->leader.says("handover:in doubt: 127.0.0.1:" + std::to_string(port))) << p->leader.serves.info();
    p->between.release();
    follow(*p, port);
    // The follower gets the order again, or promises not to lead. In both cases one server leads, and the other
    // follows.
    until([&] { return p->leader.says("role:follower\r\n") || p->leader.says("role:leader\r\naccepts_writes:1\r\n"); });
    bank& leads = p->leader.says("role:leader\r\n") ? p->leader : *p->follower;
    write(leads, 2, 4);
    until_same(p->leader, *p->follower);
    EXPECT_NE(p->leader.says("role:leader\r\n"), p->follower->says("role:leader\r\n"));
}

TEST_F(handover, in_doubt_is_ended_by_an_operator) {
    const auto p = two_servers();
    const std::uint16_t port = p->follower->serves.port();
    EXPECT_NE(lose_follower_that_was_ordered(*p), "");
    EXPECT_EQ(p->leader({"FAILOVER"}).find("-ERR "), 0U);
    EXPECT_EQ(p->leader.serves.promote(), "");
    EXPECT_TRUE(p->leader.says("accepts_writes:1\r\nterm:3\r\n")) << p->leader.serves.info();
    p->between.release();
    write(p->leader, 2, 4);
    follow(*p, port);
    until_same(p->leader, *p->follower);
    EXPECT_TRUE(p->follower->says("role:follower\r\n"));
}

// Catches a server that leads again although it has shut down.
TEST_F(handover, in_doubt_is_not_ended_by_a_server_that_has_shut_down) {
    const auto p = two_servers();
    EXPECT_NE(lose_follower_that_was_ordered(*p), "");
    p->leader.serves.drain();
    EXPECT_EQ(p->leader.serves.promote(), "the server is not running");
}

// Catches a server that starts as leader although the other server may have been ordered to lead.
TEST_F(handover, in_doubt_is_known_after_a_restart) {
    {
        const auto p = two_servers();
        EXPECT_NE(lose_follower_that_was_ordered(*p), "");
    }
    const std::string why = why_not(with_log("a"));
    EXPECT_NE(why.find("of term 1, and another server leads in term 2: start this server with --follow"),
              std::string::npos)
        << why;
    bank b{following("b", 1)};
    EXPECT_EQ(b.serves.promote(), "");
    write(b, 1, 4);
    bank a{following("a", b.serves.port())};
    until_same(a, b);
}

}  // namespace
}  // namespace tutti::server
