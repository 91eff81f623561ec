// A leader and a follower in one process, with a bad network between them. Catches a follower
//   - that accepts writing calls, or lets a call write that promised only to read (a_follower_refuses_calls_that_write)
//   - that accepts torn or damaged data, or runs a piece twice (survives_a_bad_network,
//     survives_a_full_disk_of_the_follower)
//   - whose answers to calls with an ID differ from the leader's (a_follower_copies_snapshot_and_replies)
// and a leader
//   - that counts calls that a follower does not have on its disk (wait_counts_followers_with_the_call,
//     calls_wait_for_followers, positions_of_earlier_epochs_do_not_count)
//   - whose answers to a follower are unbounded (chunks_for_followers_are_bounded)
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <string_view>
#include <thread>

#include "server/client.hpp"
#include "server/durability/faulty_disk.hpp"
#include "server/journal/stream.hpp"
#include "server/replication/proxy.hpp"
#include "server/replication/servers.hpp"

namespace tutti::server {
namespace {

class replication_test : public servers {};

TEST_F(replication_test, a_follower_refuses_calls_that_write) {
    bank leader{with_log("a")};
    write(leader, 20);
    bank follower{following("b", leader.serves.port())};
    until_same(leader, follower);
    client c{follower.serves.port()};
    EXPECT_EQ(c({"CALL", "get", "0"}), "20");
    const std::string refused = c({"CALL", "put", "1", "7"});
    EXPECT_EQ(refused.find("-READONLY put: this server follows 127.0.0.1:" + std::to_string(leader.serves.port())), 0U)
        << refused;
    EXPECT_EQ(c({"CALL", "get_undeclared", "1"}).find("-READONLY"), 0U) << "it has not promised anything";
    EXPECT_NE(c({"CALL", "lie", "1"}).find("promised to be read-only"), std::string::npos);
    EXPECT_EQ(c({"MULTI"}), "OK");
    EXPECT_EQ(c({"CALL", "get", "0"}), "QUEUED");
    EXPECT_EQ(c({"CALL", "put", "1", "7"}).find("-READONLY"), 0U);
    EXPECT_EQ(c({"EXEC"}).find("-EXECABORT"), 0U);
    EXPECT_THROW(follower.serves.call<void>("put", {}, 1, 7).get(), call_error);
    EXPECT_EQ(follower.state->cells[1].load(), 0U);
    EXPECT_TRUE(follower.says("role:follower\r\n")) << follower.serves.info();
    EXPECT_TRUE(leader.says("role:leader\r\n")) << leader.serves.info();
    EXPECT_TRUE(leader.says("followers:1\r\nfollower_0:address=127.0.0.1:")) << leader.serves.info();
    EXPECT_EQ(c({"ROLE"}).find("(slave 127.0.0.1 "), 0U) << c({"ROLE"});
    EXPECT_EQ(leader({"ROLE"}).find("(master 21 ((127.0.0.1 "), 0U) << leader({"ROLE"});
}

TEST_F(replication_test, a_promoted_follower_leads) {
    auto leader = std::make_unique<bank>(with_log("a"));
    write(*leader, 5);
    bank follower{following("b", leader->serves.port())};
    until_same(*leader, follower);
    EXPECT_EQ((*leader)({"REPLICAOF", "NO", "ONE"}).find("-ERR this server does not follow another one"), 0U);
    EXPECT_EQ(follower({"REPLICAOF", "127.0.0.1", "1"}).find("-ERR"), 0U);
    leader.reset();
    EXPECT_EQ(follower({"REPLICAOF", "NO", "ONE"}), "OK");
    EXPECT_EQ(follower({"REPLICAOF", "NO", "ONE"}), "OK");
    EXPECT_TRUE(follower.says("role:leader\r\naccepts_writes:1\r\nterm:2\r\n")) << follower.serves.info();
    write(follower, 5, 6);
    // The new leader has all calls of the old one, so the old one can join.
    bank old{following("a", follower.serves.port())};
    until_same(follower, old);
    EXPECT_EQ(follower({"WAIT", "1", "0"}), "1");
}

// A planned switch-over. Catches a leader that ends although a follower lacks answered calls. Catches a leader that
// blocks its followers' requests while it waits for them.
TEST_F(replication_test, a_leader_shuts_down_after_followers_have_all_calls) {
    bank leader{with_log("a")};
    proxy between{leader.serves.port()};
    bank follower{following("b", between.port())};
    write(leader, 1);
    until_same(leader, follower);
    between.hold();
    write(leader, 3, 2);
    std::jthread ending{[&] { leader.serves.drain(); }};
    until([&] { return has_notice("the shutdown waits for followers that lack calls: 1"); });
    between.release();
    ending.join();
    EXPECT_FALSE(has_notice("lacks the last"));
    EXPECT_EQ(follower.serves.promote(), "");
    EXPECT_EQ(follower.cells(), leader.cells());
}

TEST_F(replication_test, a_leader_logs_what_its_followers_lack) {
    settings how = with_log("a");
    how.shutdown_timeout = 20ms;
    bank leader{how};
    proxy between{leader.serves.port()};
    bank follower{following("b", between.port())};
    write(leader, 1);
    until_same(leader, follower);
    until([&] { return leader({"WAIT", "1", "0"}) == "1"; });
    between.hold();
    write(leader, 3, 2);
    leader.serves.drain();
    EXPECT_TRUE(
        has_notice("the follower at 127.0.0.1:" + std::to_string(follower.serves.port()) + " lacks the last 3 calls"))
        << notices();
    between.release();
}

TEST_F(replication_test, continues_after_restarts) {
    settings first = with_log("a");
    auto leader = std::make_unique<bank>(first);
    const std::uint16_t port = leader->serves.port();
    auto follower = std::make_unique<bank>(following("b", port));
    write(*leader, 3);
    until_same(*leader, *follower);
    leader.reset();
    first.port = port;
    leader = std::make_unique<bank>(first);
    write(*leader, 3, 4);
    until_same(*leader, *follower);
    follower.reset();
    write(*leader, 3, 7);
    follower = std::make_unique<bank>(following("b", port));
    until_same(*leader, *follower);
}

TEST_F(replication_test, a_follower_copies_snapshot_and_replies) {
    settings how = with_log("a");
    how.log.replication_backlog = 0;
    {
        bank leader{how};
        write(leader, 10);
        EXPECT_EQ(leader({"CALL", "ID", "k1", "mix", "1", "1"}), "1");
    }
    bank leader{how};
    write(leader, 3, 11);
    EXPECT_EQ(leader({"CALL", "ID", "k2", "mix", "2", "2"}), "1");
    {
        bank follower{following("b", leader.serves.port())};
        EXPECT_TRUE(has_notice("snapshot was copied"));
        until_same(leader, follower);
        EXPECT_EQ(follower.serves.promote(), "");
        for (const char* const key : {"k1", "k2"}) {
            const std::string cell = key[1] == '1' ? "1" : "2";
            EXPECT_EQ(follower({"CALL", "ID", key, "mix", cell, cell}), "1") << "the leader has answered this";
        }
        EXPECT_EQ(follower.state->cells[1].load(), 1U);
    }
    bank again{with_log("b")};
    EXPECT_EQ(again.cells(), leader.cells());
}

// A leader forgets answers sooner than its follower does, and a client reuses its ID for another call.
TEST_F(replication_test, an_id_belongs_to_its_latest_call) {
    settings how = with_log("a");
    how.max_cached_replies = 1;
    bank leader{how};
    bank follower{following("b", leader.serves.port())};
    EXPECT_EQ(leader({"CALL", "ID", "k", "mix", "1", "1"}), "1");
    EXPECT_EQ(leader({"CALL", "ID", "other", "mix", "1", "1"}), "33");
    EXPECT_EQ(leader({"CALL", "ID", "k", "mix", "2", "2"}), "1");
    until_same(leader, follower);
    EXPECT_EQ(follower.serves.promote(), "");
    EXPECT_EQ(follower({"CALL", "ID", "k", "mix", "2", "2"}), "1");
    EXPECT_EQ(follower.state->cells[2].load(), 1U) << "it has run once";
}

// Catches a group of calls that lies on both sides of a snapshot: a follower that copies the snapshot would miss the
// group.
TEST_F(replication_test, a_follower_copies_while_calls_are_logged) {
    settings how = with_log("a");
    how.log.replication_backlog = 100'000;
    how.log.snapshot_after = 1;
    how.log.sync = log_sync::every_second;  // so that a group has many calls
    bank leader{how};
    const auto snapshots = [&] { return number_of(leader.serves.info(), "log_snapshots"); };
    int started_again = 0;
    for (int round = 1; round <= 6; ++round) {
        std::vector<std::jthread> writers;
        for (int i = 0; i < 4; ++i) {
            writers.emplace_back([&, i](const std::stop_token& over) {
                client c{leader.serves.port()};
                while (!over.stop_requested()) {
                    EXPECT_NE(c({"CALL", "mix", std::to_string(i), std::to_string((i + 1) % 4)}).front(), '-');
                    // The pause limits the number of calls, because a follower has to run all of them before the round
                    // ends.
                    std::this_thread::sleep_for(std::chrono::microseconds{200});
                }
            });
        }
        const std::size_t before = snapshots();
        until([&] { return snapshots() > before + 1; });
        const settings of_follower = following("b" + std::to_string(round), leader.serves.port());
        auto follower = std::make_unique<bank>(of_follower);
        writers.clear();
        until([&] {
            // On a busy machine, the follower may fall behind the calls that the leader keeps.
            if (count_notices("Restart this server") > started_again) {
                ++started_again;
                follower.reset();
                follower = std::make_unique<bank>(of_follower);
            }
            return follower->cells() == leader.cells() || has_notice("this server stopped following");
        });
        EXPECT_EQ(follower->cells(), leader.cells()) << notices();
    }
    EXPECT_TRUE(has_notice("snapshot was copied"));
}

// Catches a leader that takes its next snapshot while a follower copies one: under many writes, a large one would never
// arrive. Catches a leader that takes no snapshot as long as any follower copies.
TEST_F(replication_test, a_snapshot_being_copied_is_not_replaced) {
    settings how = with_log("a");
    how.log.sync = log_sync::never;
    how.log.snapshot_after = 10'000;
    bank leader{how};
    client follower{leader.serves.port()};
    admit(follower);
    const std::string version = std::to_string(journal::stream_version);
    int written = 0;
    const auto write_more = [&](std::size_t bytes) {
        constexpr std::size_t longest_record = 70;
        const auto figure = [&](const std::string& of) { return number_of(leader.serves.info(), of); };
        for (const std::size_t enough = figure("log_bytes") + bytes; figure("log_bytes") < enough;) {
            const auto calls = static_cast<int>((enough - figure("log_bytes")) / longest_record + 1);
            write(leader, calls, written + 1);
            written += calls;
            until([&] { return figure("log_calls") == static_cast<std::size_t>(written); });
        }
    };
    write_more(how.log.snapshot_after + 1);
    until([&] { return number_of(leader.serves.info(), "log_snapshots") != 0; });
    const journal::initial_copy copy = journal::decode_copy(follower({"FOLLOW", "COPY", version}));
    const auto part = [&] { return follower({"FOLLOW", "PART", version, std::to_string(copy.position), "1"}); };
    ASSERT_GT(copy.parts, 0U);
    write_more(how.log.snapshot_after + 1);
    for (int i = 0; i < 15; ++i) {  // the server checks twice a second whether a snapshot is due
        EXPECT_NE(part().front(), '-');
        std::this_thread::sleep_for(100ms);
    }
    write_more(7 * how.log.snapshot_after);
    until([&] { return part().starts_with("-ANOTHER"); });
}

TEST_F(replication_test, a_follower_without_backlog_needs_a_restart) {
    settings how = with_log("a");
    how.log.replication_backlog = 0;
    how.log.snapshot_after = 1;
    bank leader{how};
    proxy between{leader.serves.port()};
    auto follower = std::make_unique<bank>(following("b", between.port()));
    write(leader, 3);
    until_same(leader, *follower);
    between.away = true;
    until([&] { return between.idle.load(); });
    const auto snapshots = [&] { return number_of(leader.serves.info(), "log_snapshots"); };
    for (int i = 4; snapshots() < 2 || leader.says("log_calls:3\r\n"); ++i) write(leader, 1, i);
    write(leader, 1, static_cast<int>(leader.state->cells[0].load()) + 1);
    const std::size_t before = snapshots();
    until([&] { return snapshots() > before; });
    between.away = false;
    until([&] { return has_notice("Restart this server"); });
    EXPECT_EQ(follower->state->cells[0].load(), 3U) << "what it has is a beginning";
    follower.reset();
    follower = std::make_unique<bank>(following("b", between.port()));
    until_same(leader, *follower);
}

TEST_F(replication_test, a_follower_catches_up_from_the_backlog) {
    settings how = with_log("a");
    how.log.snapshot_after = 1;
    bank leader{how};
    proxy between{leader.serves.port()};
    bank follower{following("b", between.port())};
    between.away = true;
    for (int i = 1; number_of(leader.serves.info(), "log_snapshots") == 0; ++i) write(leader, 1, i);
    between.away = false;
    until_same(leader, follower);
    EXPECT_FALSE(has_notice("Restart this server"));
}

TEST_F(replication_test, wait_counts_followers_with_the_call) {
    bank leader{with_log("a")};
    EXPECT_EQ(leader({"WAIT", "1", "1"}), "0");
    EXPECT_EQ(leader({"WAIT", "0", "0"}), "0");
    EXPECT_EQ(leader({"WAIT", "1", "-1"}).find("-ARGUMENT"), 0U);
    proxy between{leader.serves.port()};
    bank follower{following("b", between.port())};
    client c{leader.serves.port()};
    // The client sends all requests without waiting. WAIT covers the calls before it, whenever these calls run.
    for (int i = 1; i <= 50; ++i) c.send({"CALL", "next", "1", std::to_string(i)});
    c.send({"WAIT", "1", "0"});
    for (int i = 1; i <= 50; ++i) static_cast<void>(c.receive());
    EXPECT_EQ(c.receive(), "1");
    EXPECT_EQ(follower.state->cells[1].load(), leader.state->cells[1].load());
    between.hold();
    write(leader, 1);
    EXPECT_EQ(c({"CALL", "ID", "k", "put", "2", "1"}), "OK");
    EXPECT_EQ(c({"WAIT", "1", "30"}), "0");
    client again{leader.serves.port()};
    EXPECT_EQ(again({"CALL", "ID", "k", "put", "2", "1"}), "OK");
    EXPECT_EQ(again({"WAIT", "1", "30"}), "0") << "what the first call of that ID has written";
    EXPECT_EQ(client{leader.serves.port()}({"WAIT", "1", "0"}), "1") << "this client has written nothing";
    between.release();
    EXPECT_EQ(c({"WAIT", "1", "0"}), "1");
}

TEST_F(replication_test, calls_wait_for_followers) {
    settings how = with_log("a");
    how.log.wait_followers = 1;
    how.log.wait_followers_timeout = 50ms;
    bank leader{how};
    client c{leader.serves.port()};
    const std::string alone = c({"CALL", "put", "1", "7"});
    EXPECT_EQ(alone.find("-UNREPLICATED put: it ran"), 0U) << alone;
    EXPECT_EQ(leader.state->cells[1].load(), 7U);
    EXPECT_EQ(c({"CALL", "get", "1"}), "7") << "what only reads does not wait";
    EXPECT_EQ(number_of(leader.serves.info(), "replication_timeouts"), 1U);
    proxy between{leader.serves.port()};
    bank follower{following("b", between.port())};
    until([&] { return c({"CALL", "put", "2", "1"}) == "OK"; });
    EXPECT_EQ(follower.state->cells[1].load(), 7U);
    between.hold();
    until([&] { return c({"CALL", "put", "2", "2"}).find("-UNREPLICATED") == 0; });
}

/// A repeated answer counts as much as the first one. It is never sent before followers have the call, even if the
/// server has read the call from its log. Once followers have the call, the call's own answer is sent.
TEST_F(replication_test, a_repeated_answer_waits_for_followers) {
    settings how = with_log("a");
    how.log.wait_followers = 1;
    how.log.wait_followers_timeout = 50ms;
    const std::vector<std::string> call{"CALL", "ID", "k", "next", "0", "1"};
    {
        bank leader{how};
        client c{leader.serves.port()};
        EXPECT_EQ(c(call).find("-UNREPLICATED next: it ran"), 0U);
        EXPECT_EQ(c(call).find("-UNREPLICATED next: it ran"), 0U);
    }
    bank leader{how};
    client c{leader.serves.port()};
    EXPECT_EQ(c(call).find("-UNREPLICATED next: it ran"), 0U) << "only this server has it";
    const bank follower{following("b", leader.serves.port())};
    std::string again;
    until([&] { return (again = c(call)).find("-UNREPLICATED") != 0; });
    EXPECT_EQ(again, "1");
    until_same(leader, follower);
    EXPECT_EQ(leader.state->cells[0].load(), 1U);
}

TEST_F(replication_test, an_unreplicated_call_is_answered_after_replication) {
    settings how = with_log("a");
    how.log.wait_followers = 1;
    how.log.wait_followers_timeout = 50ms;
    bank leader{how};
    client c{leader.serves.port()};
    const std::vector<std::string> call{"CALL", "ID", "k", "next", "0", "1"};
    EXPECT_EQ(c(call).find("-UNREPLICATED"), 0U);
    const bank follower{following("b", leader.serves.port())};
    std::string again;
    for (int i = 0; i < 200 && (again = c(call)) != "1";) ++i;
    EXPECT_EQ(again, "1");
}

TEST_F(replication_test, calls_wait_for_the_configured_number_of_followers) {
    settings how = with_log("a");
    how.log.wait_followers = 2;
    how.log.wait_followers_timeout = 50ms;
    bank leader{how};
    client c{leader.serves.port()};
    bank first{following("b", leader.serves.port())};
    until_same(leader, first);
    for (int i = 1; i <= 3; ++i) EXPECT_EQ(c({"CALL", "put", "1", std::to_string(i)}).find("-UNREPLICATED"), 0U);
    until_same(leader, first);
    bank second{following("c", leader.serves.port())};
    until([&] { return c({"CALL", "put", "2", "1"}) == "OK"; });
}

// Both runs of the follower ask the leader within the time for which a follower counts.
TEST_F(replication_test, a_restarted_follower_counts_once) {
    bank leader{with_log("a")};
    client c{leader.serves.port()};
    for (int i = 1; i <= 2; ++i) {
        bank follower{following("b", leader.serves.port())};
        EXPECT_EQ(c({"CALL", "put", "1", "1"}), "OK");
        EXPECT_EQ(c({"WAIT", "1", "0"}), "1");
        EXPECT_EQ(c({"WAIT", "2", "50"}), "1");
    }
    EXPECT_TRUE(leader.says("\r\nfollowers:1\r\n")) << leader.serves.info();
}

// A follower may report positions of an earlier leader epoch of the leader. The leader has reserved these positions
// again since.
TEST_F(replication_test, positions_of_earlier_epochs_do_not_count) {
    bank leader{with_log("a")};
    write(leader, 3);
    client follower{leader.serves.port()};
    admit(follower);
    const std::string version = std::to_string(journal::stream_version);
    EXPECT_NE(follower({"FOLLOW", "PULL", version, "1", "me", "0", "0", "1", "1000", "77", "1000", "0"}).size(), 0U);
    EXPECT_EQ(leader({"WAIT", "1", "1"}), "1") << "nothing is enough";
    client writer{leader.serves.port()};
    EXPECT_EQ(writer({"CALL", "put", "1", "1"}), "OK");
    EXPECT_EQ(writer({"WAIT", "1", "1"}), "0");
    // A follower whose log has diverged does not count either, whatever the log contains.
    EXPECT_EQ(
        follower({"FOLLOW", "PULL", version, "2", "me", "1", "55", "1000", "1000", "0", "1000", "0"}).find("-DIVERGED"),
        0U);
    EXPECT_EQ(writer({"WAIT", "1", "1"}), "0");
}

TEST_F(replication_test, other_protocol_versions_are_refused) {
    bank leader{with_log("a")};
    const std::string said = leader({"FOLLOW", "PULL", "99", "1", "me", "0", "0", "1", "1", "0", "1000", "0"});
    EXPECT_EQ(said.find("-VERSION"), 0U) << said;
    EXPECT_EQ(leader({"FOLLOW", "PULL", "1"}).find("-ERR"), 0U);
    EXPECT_EQ(leader({"FOLLOW", "PULL", std::to_string(journal::stream_version), "x", "me", "0", "0", "1", "1", "0",
                      "9", "0"})
                  .find("-ARGUMENT"),
              0U);
    EXPECT_EQ(leader({"FOLLOW", "PULL", std::to_string(journal::stream_version), "1", "me", "0", "0", "1", "1", "0",
                      "0", "0"})
                  .find("-ARGUMENT bytes: give at least 1"),
              0U)
        << "the follower would take an empty chunk for the end of the log";
    settings none{.port = 0, .workers = 1, .executor = execution::threads};
    bank without{none};
    EXPECT_EQ(without({"FOLLOW", "COPY", "1"}).find("-ERR this server has no log"), 0U);
    EXPECT_EQ(without({"WAIT", "1", "0"}), "0");
}

TEST_F(replication_test, survives_a_bad_network) {
    bank leader{with_log("a")};
    proxy between{leader.serves.port()};
    bank follower{following("b", between.port())};
    for (int round = 0; round < 3; ++round) {
        between.tears = 2;
        write(leader, 20, 40 * round + 1);
        until([&] { return between.tears == 0; });
        between.damages = 2;
        write(leader, 20, 40 * round + 21);
        until([&] { return between.damages == 0; });
        until_same(leader, follower);
    }
    EXPECT_TRUE(has_notice("damaged on the way"));
    EXPECT_EQ(follower.serves.promote(), "");
}

TEST_F(replication_test, survives_a_full_disk_of_the_follower) {
    bank leader{with_log("a")};
    proxy between{leader.serves.port()};
    {
        bank follower{following("b", between.port())};
        write(leader, 3);
        until_same(leader, follower);
        for (int writes = 0; writes < 6; ++writes) {
            between.hold();
            write(leader, 2, 4 + 2 * writes);
            faulty_disk::writes_until_full = writes;
            between.release();
            until([&] { return follower.says("log_error:the log") || leader.cells() == follower.cells(); });
            faulty_disk::repair();
            until_same(leader, follower);
            until([&] { return follower.says("log_error:\r"); });
        }
    }
    bank again{with_log("b")};
    EXPECT_EQ(again.cells(), leader.cells());
}

/// Makes SQLite's first query about calls fail after the next commit to the follower's log.
struct failing_lookup {
    static inline std::atomic<bool> is_wanted{false}, is_next{false};

    static int install(sqlite3* db, char**, const sqlite3_api_routines*) {
        const char* const name = sqlite3_db_filename(db, "main");
        if (name == nullptr || !std::string_view{name}.ends_with("/b")) return SQLITE_OK;
        sqlite3_commit_hook(
            db,
            [](void*) {
                if (is_wanted.exchange(false)) is_next = true;
                return 0;
            },
            nullptr);
        const auto ask = [](void*, int action, const char* table, const char*, const char*, const char*) {
            const bool is_one = action == SQLITE_READ && std::string_view{table} == "calls";
            return is_one && is_next.exchange(false) ? SQLITE_DENY : SQLITE_OK;
        };
        return sqlite3_set_authorizer(db, ask, nullptr);
    }
};

// Catches a piece that is in the log but was not run, or is appended again, because a step after the append failed.
TEST_F(replication_test, appended_calls_run_despite_later_errors) {
    const auto entry = reinterpret_cast<void (*)()>(&failing_lookup::install);
    sqlite3_auto_extension(entry);
    bank leader{with_log("a")};
    bank follower{following("b", leader.serves.port())};
    for (int i = 1; i <= 3; ++i) {
        failing_lookup::is_wanted = i == 2;  // after the records that a follower writes when it begins
        write(leader, 1, i);
        until([&] { return leader.cells() == follower.cells() || has_notice("this server stopped following"); });
        EXPECT_EQ(leader.cells(), follower.cells()) << notices();
    }
    EXPECT_TRUE(has_notice("prohibited"));
    sqlite3_cancel_auto_extension(entry);
}

TEST_F(replication_test, a_call_with_another_answer_stops_the_follower) {
    bank leader{with_log("a")};
    bank follower{following("b", leader.serves.port())};
    EXPECT_NE(leader({"CALL", "clock", "1"}).find_first_of("123456789"), std::string::npos);
    until([&] { return has_notice("clock, cannot be run again: its answer differs"); });
    EXPECT_TRUE(follower.says("leader_connected:0\r\n"));
    const std::string why = follower.serves.promote();
    EXPECT_NE(why.find("this server cannot lead"), std::string::npos) << why;
}

TEST_F(replication_test, a_follower_takes_its_own_snapshots) {
    bank leader{with_log("a")};
    settings how = following("b", leader.serves.port());
    how.log.snapshot_after = 1;
    {
        bank follower{how};
        write(leader, 10);
        until_same(leader, follower);
        until([&] { return number_of(follower.serves.info(), "log_snapshots") != 0; });
    }
    bank again{with_log("b")};
    EXPECT_TRUE(has_notice("0 calls were run again, on a snapshot"));
    EXPECT_EQ(again.cells(), leader.cells());
}

TEST_F(replication_test, chunks_for_followers_are_bounded) {
    settings how = with_log("a");
    bank leader{how};
    write(leader, 200);
    client follower{leader.serves.port()};
    admit(follower);
    const std::string version = std::to_string(journal::stream_version);
    const std::string some = follower({"FOLLOW", "PULL", version, "1", "me", "0", "0", "1", "1", "0", "1000", "0"});
    EXPECT_LT(some.size(), 3000U);
    const journal::log_chunk p = journal::decode_chunk(some);
    EXPECT_GT(p.groups.size(), 1U);
    EXPECT_GT(p.behind, 1000U);
    EXPECT_EQ(p.upto, p.groups.back().last + 1) << "what is not in it is not promised";
}

TEST_F(replication_test, waiting_commands_end_at_shutdown) {
    bank leader{with_log("a")};
    bank follower{following("b", leader.serves.port())};
    client c{leader.serves.port()};
    c.send({"WAIT", "5", "0"});
    until([&] { return number_of(leader.serves.info(), "connected_clients") >= 2; });
    std::thread ends{[&] { leader.serves.drain(); }};
    const std::string said = c.receive();
    EXPECT_TRUE(said == "0" || said == "1" || said == "closed") << said;
    ends.join();
}

TEST_F(replication_test, following_and_waiting_need_a_log) {
    settings how{.port = 0};
    how.follow.host = "127.0.0.1";
    EXPECT_NE(why_not(how).find("needs a log"), std::string::npos);
    how.follow.host.clear();
    how.log.wait_followers = 1;
    EXPECT_NE(why_not(how).find("needs a log"), std::string::npos);
}

}  // namespace
}  // namespace tutti::server
