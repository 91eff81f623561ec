// Promotions, and the terms that they begin. Catches
//   - a leader that continues after another server was promoted, or forgets that it has not yet told the former leader
//   - a term that a follower acknowledges before it is on the disk
//   - a log that gets entries of another one after the two have diverged
#include <gtest/gtest.h>

#include "server/client.hpp"
#include "server/durability/faulty_disk.hpp"
#include "server/journal/stream.hpp"
#include "server/replication/proxy.hpp"
#include "server/replication/servers.hpp"

namespace tutti::server {
namespace {

class terms : public servers {};

TEST_F(terms, end_the_former_leader) {
    {
        bank leader{with_log("a")};
        write(leader, 3);
        bank follower{following("b", leader.serves.port())};
        until_same(leader, follower);
        EXPECT_EQ(follower.serves.promote(), "");
        // The former leader still runs, and the promoted server tells it about the promotion.
        until([&] { return leader.says("accepts_writes:0\r\n"); });
        const std::string refused = leader({"CALL", "put", "1", "1"});
        EXPECT_EQ(refused.find("-READONLY put: this server no longer leads"), 0U) << refused;
        EXPECT_EQ(leader({"CALL", "get", "0"}), "3");
        EXPECT_THROW(leader.serves.call<void>("put", {}, 1, 7).get(), call_error);
        write(follower, 1, 4);
    }
    const std::string why = why_not(with_log("a"));
    EXPECT_NE(why.find("of term 1, and another server leads in term 2: start this server with --follow"),
              std::string::npos)
        << why;
    bank now{with_log("b")};
    bank old{following("a", now.serves.port())};
    until_same(now, old);
    EXPECT_EQ(old.state->cells[0].load(), 4U);
}

// The former leader is away during a promotion, and comes back after the new leader was restarted.
TEST_F(terms, a_restarted_server_notifies_the_former_leader) {
    settings how = with_log("a");
    how.password = "secret";
    bank leader{how};
    proxy between{leader.serves.port()};
    how = following("b", between.port());
    how.follow.password = "secret";
    {
        bank follower{how};
        between.away = true;
        until([&] { return between.idle.load(); });
        EXPECT_EQ(follower.serves.promote(), "");
    }
    between.away = false;
    {
        bank again{with_log("b")};
        until([&] {
            return has_notice("could not be notified that it no longer leads: the leader 127.0.0.1:" +
                              std::to_string(between.port()) + " refuses: NOAUTH");
        });
    }
    EXPECT_TRUE(leader.says("accepts_writes:1\r\n"));
    how = with_log("b");
    how.follow.password = "secret";
    {
        bank again{how};
        until([&] { return has_notice("knows that it no longer leads"); });
        EXPECT_TRUE(leader.says("accepts_writes:0\r\n"));
    }
    EXPECT_TRUE(journal::log_store{file("b")}.former_leaders().empty()) << "it is not told again";
}

// Catches an acknowledgement of a later term that is lost by a restart.
TEST_F(terms, a_term_counts_once_it_is_on_the_disk) {
    const std::string version = std::to_string(journal::stream_version);
    {
        bank leader{with_log("a")};
        write(leader, 1);
        client other{leader.serves.port()};
        admit(other);
        faulty_disk::is_full = true;
        for (int i = 0; i < 2; ++i) EXPECT_EQ(other({"FOLLOW", "TERM", version, "7", "me"}).front(), '-');
        EXPECT_TRUE(leader.says("accepts_writes:0\r\n"));
        faulty_disk::repair();
        EXPECT_EQ(other({"FOLLOW", "TERM", version, "9223372036854775808", "me"}).find("-ARGUMENT"), 0U)
            << "no later term would be left";
        const std::string pulled =
            other({"FOLLOW", "PULL", version, "1", "me", "9223372036854775808", "1", "1", "1", "1", "1000", "0"});
        EXPECT_EQ(pulled.find("-ARGUMENT"), 0U) << pulled;
        EXPECT_EQ(other({"FOLLOW", "TERM", version, "7", "me"}), "OK");
    }
    const std::string why = why_not(with_log("a"));
    EXPECT_NE(why.find("another server leads in term 7"), std::string::npos) << why;
}

// Catches a follower that acknowledges a term, and is then promoted into a term in which another server leads.
TEST_F(terms, a_follower_records_announced_terms) {
    const std::string version = std::to_string(journal::stream_version);
    bank leader{with_log("a")};
    bank follower{following("b", leader.serves.port())};
    client other{follower.serves.port()};
    admit(other);
    faulty_disk::is_full = true;
    EXPECT_EQ(other({"FOLLOW", "TERM", version, "7", "me"}).front(), '-');
    faulty_disk::repair();
    EXPECT_EQ(other({"FOLLOW", "TERM", version, "7", "me"}), "OK");
    EXPECT_EQ(other({"FOLLOW", "TERM", version, "6", "me"}), "OK");
    EXPECT_EQ(follower.serves.promote(), "");
    EXPECT_TRUE(follower.says("accepts_writes:1\r\nterm:8\r\n")) << follower.serves.info();
    EXPECT_TRUE(has_notice("this server leads, in term 8"));
}

// Catches a server that neither leads nor follows.
TEST_F(terms, a_failed_promotion_leaves_a_follower) {
    bank leader{with_log("a")};
    bank follower{following("b", leader.serves.port())};
    write(leader, 1);
    until_same(leader, follower);
    faulty_disk::is_full = true;
    EXPECT_NE(follower.serves.promote().find("this server cannot lead"), std::string::npos);
    faulty_disk::repair();
    write(leader, 1, 2);
    until_same(leader, follower);
    until([&] { return follower.says("leader_connected:1\r\n"); });
    EXPECT_EQ(follower.serves.promote(), "");
}

TEST_F(terms, a_promoted_server_follows_no_older_leader) {
    bank leader{with_log("a")};
    {
        bank follower{following("b", leader.serves.port())};
        EXPECT_EQ(follower.serves.promote(), "");
    }
    const std::string why = why_not(following("b", leader.serves.port()));
    EXPECT_NE(why.find("STALE"), std::string::npos) << why;
    EXPECT_NE(why.find("start it without --follow"), std::string::npos) << why;
}

TEST_F(terms, a_diverged_log_is_refused) {
    bank one{with_log("a")};
    std::vector<std::uint64_t> own;
    {
        bank other{with_log("b")};
        write(other, 2);
        own = other.cells();
    }
    EXPECT_NE(why_not(following("b", one.serves.port())).find("DIVERGED"), std::string::npos);
    bank other{with_log("b")};
    EXPECT_EQ(other.cells(), own) << "nothing of it was touched";
}

// A follower that has more calls of a leader epoch than the promoted server.
TEST_F(terms, a_log_with_extra_calls_is_refused) {
    auto leader = std::make_unique<bank>(with_log("a"));
    proxy between{leader->serves.port()};
    bank follower{following("b", between.port())};
    write(*leader, 2);
    until_same(*leader, follower);
    between.away = true;
    until([&] { return between.idle.load(); });
    write(*leader, 1, 3);
    leader.reset();
    EXPECT_EQ(follower.serves.promote(), "");
    const std::string why = why_not(following("a", follower.serves.port()));
    EXPECT_NE(why.find("DIVERGED its log has calls up to 3 of term 1, and this server's has them up to 2"),
              std::string::npos)
        << why;
}

// Catches a leader that any client of its port can end, and a follower that is refused because of its own password.
TEST_F(terms, announcing_a_term_needs_a_credential) {
    const std::string version = std::to_string(journal::stream_version);
    settings how = with_log("a");
    how.replication_password = "shown by followers";
    bank leader{how};
    client stranger{leader.serves.port()};
    const auto ends_it = [&](client& c) { return c({"FOLLOW", "TERM", version, "7", "me"}); };
    EXPECT_TRUE(ends_it(stranger).starts_with("-NOPERM FOLLOW needs the credential of followers: "));
    EXPECT_TRUE(stranger({"FOLLOW", "COPY", version}).starts_with("-NOPERM"));
    EXPECT_TRUE(stranger({"FOLLOW", "AUTH", "guessed"}).starts_with("-WRONGPASS"));
    EXPECT_TRUE(stranger({"FOLLOW", "AUTH", journal::machine_secret()}).starts_with("-WRONGPASS"))
        << "a password takes its place";
    EXPECT_TRUE(ends_it(stranger).starts_with("-NOPERM"));
    EXPECT_TRUE(leader.says("logins_failed:2\r\n")) << leader.serves.info();
    EXPECT_NE(why_not(following("b", leader.serves.port())).find("--replication-password-file"), std::string::npos);
    settings same = following("c", leader.serves.port());
    same.replication_password = how.replication_password;
    const bank follower{same};
    write(leader, 1);
    until_same(leader, follower);
    EXPECT_EQ(stranger({"FOLLOW", "AUTH", how.replication_password}), "OK");
    EXPECT_EQ(ends_it(stranger), "OK");
}

// Catches a server that is promoted and does not know a later term, in which its former leader leads.
TEST_F(terms, are_announced_to_leaders_of_earlier_terms) {
    auto leader = std::make_unique<bank>(with_log("a"));
    proxy between{leader->serves.port()};
    bank follower{following("b", between.port())};
    write(*leader, 1);
    until_same(*leader, follower);
    between.away = true;
    until([&] { return between.idle.load(); });
    // The former leader's own log reaches term 3 meanwhile.
    settings how = with_log("a");
    how.port = leader->serves.port();
    leader.reset();
    {
        journal::log_store log{file("a")};
        log.add_leader_epoch({.term = 3, .id = 33, .first = log.end()});
    }
    leader = std::make_unique<bank>(how);
    EXPECT_EQ(follower.serves.promote(), "");
    between.away = false;
    until([&] { return follower.says("accepts_writes:0\r\n"); });
    EXPECT_TRUE(leader->says("accepts_writes:1\r\nterm:3\r\n")) << leader->serves.info();
}

TEST_F(terms, an_unprotected_leader_accepts_any_term) {
    settings how = with_log("a");
    how.unprotected = true;
    const bank leader{how};
    client stranger{leader.serves.port()};
    EXPECT_EQ(stranger({"FOLLOW", "TERM", std::to_string(journal::stream_version), "7", "me"}), "OK");
}

}  // namespace
}  // namespace tutti::server
