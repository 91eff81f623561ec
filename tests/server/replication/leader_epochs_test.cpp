// The rules that decide which logs may continue together. Catches
//   - a log that lists leader epochs of which it has no entry, and so lets in logs that diverged
//   - a leader that trusts such a list in a log of an earlier version
//   - a leader that lost calls, and continues as if its follower had diverged
#include <gtest/gtest.h>

#include <filesystem>

#include "server/client.hpp"
#include "server/journal/journal.hpp"
#include "server/journal/stream.hpp"
#include "server/replication/proxy.hpp"
#include "server/replication/servers.hpp"

namespace tutti::server {
namespace {

class leader_epochs_test : public servers {
protected:
    [[nodiscard]] std::vector<std::uint64_t> ids(journal::log_store& file) {
        std::vector<std::uint64_t> all;
        for (const journal::leader_epoch& b : file.leader_epochs()) all.push_back(b.id);
        return all;
    }
    static std::string pull(const bank& leader, const journal::leader_epoch& own, std::uint64_t end) {
        const auto text = [](std::uint64_t n) { return std::to_string(n); };
        return leader({"FOLLOW", "PULL", text(journal::stream_version), "1", "me", text(own.term), text(own.id),
                       text(end), "1", "0", "1000", "0"});
    }
    static journal::group calls(std::uint64_t first, std::uint64_t last) {
        return {.first = first, .last = last, .records = "x"};
    }

    const journal::leader_epoch one{.term = 1, .id = 11, .first = 1}, two{.term = 2, .id = 22, .first = 100},
        three{.term = 3, .id = 33, .first = 111};
};

// A piece of the log ends before a leader epoch of its leader begins, and the next leader never had that leader epoch.
TEST_F(leader_epochs_test, are_listed_up_to_the_end_of_the_log) {
    const auto tells_nobody = [](bool, const std::string&) {};
    journal::journal log{with_log("a").log, tells_nobody};
    log.follow("the leader");
    ASSERT_TRUE(log.append({.epoch = two, .upto = 51, .behind = 1, .epochs = {one, two}, .groups = {calls(1, 50)}}));
    EXPECT_EQ(ids(log.file()), std::vector<std::uint64_t>{11});
    EXPECT_EQ(log.file().latest_term(), 2U) << "a promotion begins a later one";
    ASSERT_TRUE(
        log.append({.epoch = three, .upto = 151, .epochs = {three}, .groups = {calls(51, 110), calls(111, 150)}}));
    EXPECT_EQ(ids(log.file()), (std::vector<std::uint64_t>{11, 33}));
    EXPECT_TRUE(log.file().last_leader_epoch().is(three));
}

TEST_F(leader_epochs_test, of_a_copy_are_listed_up_to_its_end) {
    journal::log_store log{file()};
    log.replace_by({.position = 51, .epochs = {one, two}}, {});
    EXPECT_EQ(ids(log), std::vector<std::uint64_t>{11});
    EXPECT_EQ(log.latest_term(), 2U);
}

// The log of an earlier version lists leader epochs that it never reached. They are dropped when the server follows
// another leader.
TEST_F(leader_epochs_test, unknown_to_the_new_leader_are_removed) {
    journal::log_store log{file()};
    for (const journal::leader_epoch& b : {one, two}) log.add_leader_epoch(b);
    log.add(std::vector{calls(1, 50)}, true);
    log.append(std::vector{calls(51, 110)}, {}, 111, 2, true);
    EXPECT_EQ(ids(log), std::vector<std::uint64_t>{11});
    EXPECT_EQ(log.latest_term(), 2U);
}

// The same log, whose server is promoted before it has followed another leader.
TEST_F(leader_epochs_test, end_where_any_later_epoch_begins) {
    {
        bank leader{with_log("a")};
        write(leader, 3);
    }
    journal::leader_epoch first;
    {
        journal::log_store log{file("a")};
        first = log.last_leader_epoch();
        log.add_leader_epoch(two);
    }
    bank leader{with_log("a")};
    write(leader, 3, 4);
    EXPECT_NE(pull(leader, first, 4).substr(0, 9), "-DIVERGED");  // the rest of the answer may begin with any byte
    EXPECT_EQ(pull(leader, first, 5)
                  .find("-DIVERGED its log has calls up to 4 of term 1, and this server's has them up to 3"),
              0U);
    EXPECT_EQ(pull(leader, two, 101).find("-DIVERGED"), 0U);
}

// The positions of the last calls, which were rolled back, are in a snapshot of the old leader. Followers do not know
// these positions.
TEST_F(leader_epochs_test, do_not_differ_by_calls_that_were_rolled_back) {
    auto leader = std::make_unique<bank>(with_log("a"));
    proxy between{leader->serves.port()};
    auto follower = std::make_unique<bank>(following("b", between.port()));
    write(*leader, 3);
    until_same(*leader, *follower);
    between.away = true;
    until([&] { return between.idle.load(); });
    leader.reset();
    {
        journal::journal log{with_log("a").log, [](bool, const std::string&) {}};
        journal::snapshot kept{.position = 0};
        log.file().read_snapshot([&](std::string_view part) { kept.parts.emplace_back(part); });
        log.begin();
        for (int i = 0; i < 3; ++i) {
            const journal::reserved_record hole = log.reserve_record(0);
            kept.position = hole.position;
            log.skip_record(hole);
        }
        EXPECT_EQ(log.store_snapshot(kept), "");
    }
    EXPECT_EQ(follower->serves.promote(), "");
    write(*follower, 3, 4);
    bank old{following("a", follower->serves.port())};
    until_same(old, *follower);
    EXPECT_EQ(old.state->cells[0].load(), 6U);
}

// The same case with earlier calls, which the snapshot has replaced.
TEST_F(leader_epochs_test, end_with_the_last_call_of_a_snapshot) {
    journal::log_store log{file()};
    log.add(std::vector{calls(1, 2), calls(3, 4)}, true);
    log.replace_snapshot({.position = 9, .parts = {"one", "two"}}, 0);
    EXPECT_EQ(log.end(), 5U);
    EXPECT_EQ(log.snapshot_position(), 5U);
    log.replace_snapshot({.position = 12, .parts = {"another"}}, 0);
    EXPECT_EQ(log.part(2), "two") << "it holds the same calls, and may be on its way to a follower";
    log.add(std::vector{calls(5, 5)}, true);
    log.replace_snapshot({.position = 12, .parts = {"another"}}, 0);
    EXPECT_EQ(log.end(), 6U);
    EXPECT_EQ(log.part(1), "another");
}

// Catches a log that cannot be written after an interrupted copy.
TEST_F(leader_epochs_test, survive_an_interrupted_copy) {
    journal::log_store log{file()};
    log.add_leader_epoch(one);
    log.add(std::vector{calls(1, 5)}, true);
    const auto breaks_off = [](std::uint64_t) -> std::string { throw std::runtime_error{"gone"}; };
    EXPECT_THROW(log.replace_by({.position = 51, .epochs = {two}, .parts = 1}, breaks_off), std::runtime_error);
    EXPECT_EQ(ids(log), std::vector<std::uint64_t>{11});
    log.add(std::vector{calls(6, 7)}, true);
    EXPECT_EQ(log.end(), 8U);
}

// Catches data that a server relies on after a power cut, but that was written without an fsync, like calls under the
// setting `no`.
TEST_F(leader_epochs_test, are_on_the_disk_under_every_fsync_setting) {
    journal::log_store log{file()};
    std::uint64_t at = 1;
    const auto is_synced = [&](const auto& change) {
        log.add(std::vector{calls(at, at)}, false);
        ++at;
        const int before = faulty_disk::syncs;
        change();
        return faulty_disk::syncs > before;
    };
    EXPECT_FALSE(is_synced([&] { log.forget_former_leader("host", 1); })) << "it is told twice";
    EXPECT_TRUE(is_synced([&] { log.add_leader_epoch(one); }));
    EXPECT_TRUE(is_synced([&] { log.record_announced_term(7); }));
    EXPECT_TRUE(is_synced([&] { log.add_former_leader({.host = "host", .port = 1}); }));
    EXPECT_TRUE(is_synced([&] { static_cast<void>(log.follower_id()); }));
    EXPECT_TRUE(is_synced([&] { log.append(std::vector{calls(at, at)}, {}, at + 1, 8, false); }));
    ++at;
    EXPECT_TRUE(is_synced([&] { log.replace_snapshot({.position = at, .parts = {"part"}}, 0); }));
    EXPECT_TRUE(is_synced([&] { log.replace_by({.position = at}, {}); }));
}

// A log may know a later term than that of its calls. A leader of an older term must learn of the later term before the
// server asks it for calls.
TEST_F(leader_epochs_test, of_an_older_term_are_not_followed) {
    journal::log_store{file("b")}.record_announced_term(5);
    bank leader{with_log("a")};
    const std::string why = why_not(following("b", leader.serves.port()));
    EXPECT_NE(why.find("STALE this server no longer leads"), std::string::npos) << why;
    EXPECT_TRUE(leader.says("accepts_writes:0"));
    // A server that has calls of that term says so with its first command.
    bank another{with_log("c")};
    EXPECT_EQ(pull(another, {.term = 5, .id = 77}, 2).find("-STALE this server no longer leads"), 0U);
    EXPECT_TRUE(another.says("accepts_writes:0"));
}

/// A leader whose log is an older copy, and a follower that has calls which the leader lost.
class lost_calls : public servers {
protected:
    void put_back() {
        for (const char* const part : {"", "-wal", "-end"}) std::filesystem::remove(file("a") + part);
        std::filesystem::copy_file(file("backup"), file("a"));
    }
    /// Leaves four calls at the follower; the backup has one of them.
    std::unique_ptr<bank> follower_of(settings& leader) {
        {
            const bank first{leader, false};
            leader.port = first.serves.port();
            write(first, 1);
        }
        std::filesystem::copy_file(file("a"), file("backup"));
        bank again{leader, false};
        auto follower = std::make_unique<bank>(following("b", leader.port.value()), false);
        write(again, 3, 2);
        until_same(again, *follower);
        return follower;
    }
    settings with_health() {
        settings how = with_log("a");
        how.metrics_port = 0;
        return how;
    }
};

// Catches a leader that continues with fewer calls than its follower has, and makes that follower drop its copy.
TEST_F(lost_calls, stop_a_leader_until_the_follower_is_promoted) {
    settings how = with_health();
    const auto follower = follower_of(how);
    put_back();
    {
        bank leader{how, false};
        until([&] { return leader.says("accepts_writes:0\r\n"); });
        const std::string refused = leader({"CALL", "put", "1", "1"});
        EXPECT_NE(refused.find("has calls up to 4 of this server's log, and this server had them up to 1"),
                  std::string::npos)
            << refused;
        EXPECT_NE(http_get(leader.serves.metrics_port(), "/readyz").find("undecided: the follower at"),
                  std::string::npos);
        until([&] { return follower->says("leader_connected:0\r\n"); });
        EXPECT_TRUE(has_notice(
            "its log has calls up to 4, and this server's had them up to 1 at a start: this server has lost calls"))
            << notices();
        EXPECT_EQ(follower->state->cells[0].load(), 4U) << "it keeps what it has";
        EXPECT_EQ(follower->serves.promote(), "");
        write(*follower, 1, 5);
    }
}

TEST_F(lost_calls, are_discarded_by_an_operator) {
    settings how = with_health();
    const auto follower = follower_of(how);
    put_back();
    bank leader{how, false};
    until([&] { return leader.says("accepts_writes:0\r\n"); });
    EXPECT_EQ(leader({"REPLICAOF", "NO", "ONE"}), "OK");
    EXPECT_TRUE(leader.says("accepts_writes:1\r\nterm:2\r\n")) << leader.serves.info();
    write(leader, 1, 2);
    until([&] {
        return count_notices("DIVERGED its log ends in a leader epoch of term 1 that this server has never had") != 0;
    });
    EXPECT_TRUE(leader.says("accepts_writes:1\r\n")) << "that was decided";
    EXPECT_EQ(follower->state->cells[0].load(), 4U);
}

// Catches calls that replace lost ones before the follower has connected.
TEST_F(lost_calls, are_found_before_new_calls_replace_them) {
    settings how = with_health();
    auto follower = follower_of(how);
    follower.reset();
    how.log.await_followers = 1;
    {
        bank leader{how, false};
        EXPECT_EQ(leader({"CALL", "put", "1", "1"}).find("-READONLY put: this server waits to compare its log"), 0U);
        EXPECT_EQ(leader({"CALL", "get", "0"}), "4");
        follower = std::make_unique<bank>(following("b", how.port.value()), false);
        until([&] { return leader.says("accepts_writes:1\r\n"); });
        write(leader, 1, 5);
        until_same(leader, *follower);
    }
    put_back();
    {
        bank leader{how, false};
        until(
            [&] { return leader({"CALL", "put", "1", "1"}).find("this server has lost calls") != std::string::npos; });
        EXPECT_EQ(leader.state->cells[1].load(), 0U);
    }
    follower.reset();
    bank leader{how, false};
    EXPECT_EQ(leader.serves.promote(), "") << "nobody comes";
    write(leader, 1, 2);
}

// Catches a leader with an empty log that makes its follower drop its own log.
TEST_F(lost_calls, may_be_all_calls) {
    settings how = with_health();
    auto follower = follower_of(how);
    follower.reset();
    for (const char* const part : {"", "-wal", "-end"}) std::filesystem::remove(file("a") + part);
    const bank leader{how, false};
    write(leader, 1);  // before the follower connects
    EXPECT_NE(why_not(following("b", how.port.value())).find("this server's had them up to 0"), std::string::npos);
    until([&] { return leader.says("accepts_writes:0\r\n"); });
    const bank other{with_log("b"), false};
    EXPECT_EQ(other.state->cells[0].load(), 4U) << "it keeps what it has";
}

}  // namespace
}  // namespace tutti::server
