// The journal alone, which gets its records one by one, and its file.

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "server/durability/log_folder.hpp"
#include "server/journal/checked_pages.hpp"
#include "server/journal/journal.hpp"
#include "server/journal/log_buffer.hpp"
#include "server/journal/record.hpp"
#include "server/journal/stream.hpp"
#include "server/protocol/request.hpp"
#include "server/protocol/session.hpp"
#include "server/unused_service_control.hpp"
#include "support/effort.hpp"

namespace tutti::server {
namespace {

struct journal_test : log_folder {
    static journal::reserved_record reserve(journal::journal& from, std::string_view record) {
        const journal::reserved_record drawn = from.reserve_record(record.size());
        record.copy(drawn.bytes, record.size());
        return drawn;
    }
    static void submit(journal::journal& to, std::string_view record) { to.submit_record(reserve(to, record)); }
    log_settings how() const { return {.file = file(), .sync = log_sync::always}; }
};

/// A call that waits for the disk.
class waiting_answer final : public journal::durability_waiter {
public:
    std::atomic<bool> is_over{false};
    durability_result how_it_ended{};

private:
    void finish_wait(durability_result how) noexcept override {
        how_it_ended = how;
        is_over = true;
        is_over.notify_one();
    }
};

// Catches a group that never waits, that waits for more calls than can come, or that waits as long as the disk takes.
TEST(group_commit_delay_test, delays_a_group_for_a_fraction_of_an_fsync) {
    using std::chrono::microseconds;
    journal::group_commit_delay to_come;
    EXPECT_EQ(to_come.expected(), 1u);  // the first call does not wait
    to_come.record(39, 11, microseconds{240});
    EXPECT_EQ(to_come.expected(), 50u);
    EXPECT_EQ(to_come.delay(), microseconds{30});
    to_come.record(50, 0, std::chrono::seconds{1});
    EXPECT_EQ(to_come.delay(), microseconds{1000});
    to_come.record(1, 0, microseconds{240});
    EXPECT_EQ(to_come.expected(), 1u);  // a single caller does not wait
}

// Catches a journal that waits without limit for calls that do not come.
TEST_F(journal_test, a_lone_call_after_many_does_not_wait) {
    journal::journal log{how(), [](bool, const std::string&) {}};
    log.begin();
    std::array<waiting_answer, 8> many;
    waiting_answer alone;
    for (std::uint64_t i = 0; i < many.size(); ++i) submit(log, "one of many");
    for (waiting_answer& w : many) {
        if (!log.hold_until_durable(w, many.size() + 1)) w.is_over = true;
    }
    for (waiting_answer& w : many) w.is_over.wait(false);
    submit(log, "alone");
    if (log.hold_until_durable(alone, many.size() + 2)) alone.is_over.wait(false);
    EXPECT_EQ(log.durable(), many.size() + 2);
}

// Catches a group that contains only the first of several calls of a busy host, and a host whose report of having no
// more calls is ignored.
TEST_F(journal_test, calls_of_a_busy_host_form_one_group) {
    journal::journal log{how(), [](bool, const std::string&) {}};
    log.begin();
    const std::atomic<bool> sleeps{false};
    // If the journal's thread does not rest yet, the thread treats these calls as calls that came during a group.
    constexpr int most_attempts = 100;
    for (int attempt = 1;; ++attempt) {
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
        const std::uint64_t groups = log.statistics().groups, first = log.next_position();
        std::array<waiting_answer, 8> all;
        for (std::size_t i = 0; i < all.size(); ++i) {
            submit(log, "one of several");
            if (!log.hold_until_durable(all[i], first + i + 1, &sleeps)) all[i].is_over = true;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
        const bool gather = log.is_gathering() && log.statistics().groups == groups;
        log.expect_no_more_calls();
        for (waiting_answer& w : all) w.is_over.wait(false);
        EXPECT_FALSE(log.is_gathering());
        if (gather) {
            EXPECT_EQ(log.statistics().groups, groups + 1);
            break;
        }
        ASSERT_LT(attempt, most_attempts);
    }
}

// Catches a call that waits for a sleeping host, and a call that waits as long as its host has other calls.
TEST_F(journal_test, no_call_waits_for_a_sleeping_or_busy_host) {
    journal::journal log{how(), [](bool, const std::string&) {}};
    log.begin();
    std::atomic<bool> sleeps{true};
    waiting_answer asleep, busy;
    std::this_thread::sleep_for(
        std::chrono::milliseconds{5});  // the journal's thread checks itself while it does not rest yet
    submit(log, "asleep");
    if (log.hold_until_durable(asleep, 2, &sleeps)) asleep.is_over.wait(false);
    sleeps = false;
    submit(log, "busy");
    if (!log.hold_until_durable(busy, 3, &sleeps)) busy.is_over = true;
    while (!busy.is_over) log.expect_more_calls();
    EXPECT_EQ(log.durable(), 3u);
}

// Catches a host that runs all calls of some long pipelines before the first of these calls are written.
TEST_F(journal_test, many_calls_form_a_group_before_their_host_idles) {
    journal::journal log{how(), [](bool, const std::string&) {}};
    log.begin();
    const std::atomic<bool> sleeps{false};
    // Calls that have waited long also form a group. On a working machine, most calls of this test have not waited that
    // long.
    for (int attempt = 0; attempt < 20; ++attempt) {
        waiting_answer last;
        for (std::uint64_t i = 0; i < journal::group_commit_delay::max_calls; ++i) submit(log, "of plenty");
        if (!log.hold_until_durable(last, log.next_position(), &sleeps)) continue;
        log.expect_more_calls();
        last.is_over.wait(false);
    }
}

// The host reports that it has no more calls while the clients of the group being written are about to ask again, so
// this report begins no group. Catches calls that are forgotten when these clients do not ask, and writes on a quiet
// disk. Catches a host that does not wait for the former callers, or that waits for one more than many.
TEST_F(journal_test, calls_during_a_write_form_the_next_group) {
    journal::journal log{how(), [](bool, const std::string&) {}};
    log.begin();
    EXPECT_EQ(log.max_block_time().count(), 0);
    const std::atomic<bool> sleeps{false};
    waiting_answer before, first, second, third;
    submit(log, "before");
    if (log.hold_until_durable(before, 2))
        before.is_over.wait(false);  // so that the journal knows how long a group takes
    faulty_disk::holds_sync = true;
    submit(log, "first");
    ASSERT_TRUE(log.hold_until_durable(first, 3));
    faulty_disk::held.wait(0);
    submit(log, "second");
    ASSERT_TRUE(log.hold_until_durable(second, 4, &sleeps));
    submit(log, "third");
    ASSERT_TRUE(log.hold_until_durable(third, 5, &sleeps));
    log.expect_no_more_calls();
    EXPECT_FALSE(log.is_gathering());
    EXPECT_GT(log.max_block_time().count(), 0);
    EXPECT_LE(log.max_block_time(), std::chrono::microseconds{250});
    faulty_disk::repair();
    for (waiting_answer* w : {&first, &second, &third}) w->is_over.wait(false);
    EXPECT_EQ(log.durable(), 5u);
    EXPECT_EQ(log.statistics().groups, 3u);
    submit(log, "one of two");
    EXPECT_FALSE(log.has_all_expected_calls());
    EXPECT_GT(log.idle_poll_time().count(), 0);
    submit(log, "the other");
    EXPECT_TRUE(log.has_all_expected_calls());
    for (std::uint64_t i = 2; i < journal::group_commit_delay::enough_calls; ++i) submit(log, "of many");
    EXPECT_EQ(log.idle_poll_time().count(), 0);
}

// Catches a journal that forgets the cut at which a group has ended when writing that group fails. Later calls would
// then join the same group, and a follower that has copied the snapshot would miss them or get them twice.
TEST_F(journal_test, no_group_crosses_a_cut) {
    journal::journal log{how(), [](bool, const std::string&) {}};
    log.begin();
    faulty_disk::is_full = true;
    submit(log, "before");
    log.separate_groups(log.reserve_record(0));  // the snapshot's own position
    waiting_answer first, second;
    ASSERT_TRUE(log.hold_until_durable(first, 3));
    while (!log.has_error()) std::this_thread::yield();
    submit(log, "behind");
    const int tried = faulty_disk::refused;
    while (faulty_disk::refused < tried + 3) std::this_thread::yield();  // the journal has collected all pending calls
    ASSERT_TRUE(log.hold_until_durable(second, 4));
    faulty_disk::repair();
    first.is_over.wait(false);
    second.is_over.wait(false);
    EXPECT_EQ(first.how_it_ended, journal::durability_waiter::durability_result::durable);
    EXPECT_EQ(second.how_it_ended, journal::durability_waiter::durability_result::durable);
    log.with_file([](journal::log_store& file) {
        const auto groups = file.read_from(1, 1000);
        ASSERT_EQ(groups.size(), 2u);
        EXPECT_EQ(groups[0].records, "before");
        EXPECT_EQ(groups[0].last, 1u);
        EXPECT_EQ(groups[1].records, "behind");
        EXPECT_EQ(groups[1].first, 3u);
    });
    log.end();
}

// Catches a log that has a call without the earlier ones, that has bytes of a rolled-back call, or that has calls in
// the order of their arrival.
TEST_F(journal_test, a_missing_record_delays_later_ones) {
    journal::journal log{how(), [](bool, const std::string&) {}};
    log.begin();
    const journal::reserved_record first = reserve(log, "first"), second = reserve(log, "second"),
                                   gone = reserve(log, "rolled back"), last = reserve(log, "last");
    log.submit_record(last);
    log.skip_record(gone);
    log.submit_record(second);
    waiting_answer all;
    ASSERT_TRUE(log.hold_until_durable(all, last.position + 1));
    std::this_thread::sleep_for(std::chrono::milliseconds{50});  // the journal's thread checks again each millisecond
    EXPECT_EQ(log.durable(), first.position);
    log.submit_record(first);
    all.is_over.wait(false);
    std::string records;
    log.with_file([&](journal::log_store& file) {
        for (const journal::group& g : file.read_from(1, 1000)) records += g.records;
        EXPECT_EQ(file.end(), last.position + 1);
    });
    EXPECT_EQ(records, "firstsecondlast");
    log.end();
}

// Catches a place that counts as filled because its memory belonged to another place before.
TEST(log_buffer_test, returns_only_complete_records) {
    journal::log_buffer all;
    all.begin(1);
    constexpr std::uint64_t some_chunks = 5 * 4096;
    for (std::uint64_t position = 1; position <= some_chunks; ++position) {
        const journal::reserved_record at = all.reserve(8);
        ASSERT_EQ(at.position, position);
        ASSERT_EQ(all.find_complete(position + 1, 1000).positions, 0u);
        std::memcpy(at.bytes, &position, sizeof position);
        journal::log_buffer::set_state(at, journal::record_state::logged);
        const journal::complete_range found = all.find_complete(position + 1, 1000);
        ASSERT_EQ(found.positions, 1u);
        ASSERT_EQ(std::memcmp(found.records.data(), &position, sizeof position), 0);
        all.consume(found);
    }
}

// JRN4. Catches a server that sends answers although its log is more than a second late. One of the calls has not
// ended, so the calls reserved after it are not written either.
TEST_F(journal_test, answers_wait_while_the_log_is_late) {
    log_settings every_second = how();
    every_second.sync = log_sync::every_second;
    journal::journal log{every_second, [](bool, const std::string&) {}};
    log.begin();
    const journal::reserved_record missing = reserve(log, "missing");
    submit(log, "behind it");
    std::this_thread::sleep_for(std::chrono::seconds{1});
    waiting_answer writes, reads;
    ASSERT_TRUE(log.hold_until_durable(writes, missing.position + 2));
    ASSERT_TRUE(log.hold_until_durable(reads, 0));
    EXPECT_EQ(log.durable(), missing.position);
    log.submit_record(missing);
    for (waiting_answer* w : {&writes, &reads}) {
        w->is_over.wait(false);
        EXPECT_EQ(w->how_it_ended, journal::durability_waiter::durability_result::durable);
    }
    EXPECT_EQ(log.durable(), missing.position + 2);
}

// Some calls have more bytes than a chunk, some have none, and some are rolled back. Catches chunks that are reused too
// early or counted wrongly at their ends. Catches answers that are lost or delayed needlessly, and bytes that seem to
// wait for the disk forever.
TEST_F(journal_test, calls_of_all_sizes_are_in_the_order_of_their_positions) {
    constexpr std::size_t threads = 4;
    const std::size_t calls = support::rounds(6000);
    log_settings every_second = how();
    every_second.sync = log_sync::every_second;
    journal::journal log{every_second, [](bool, const std::string&) {}};
    log.begin();
    const std::int64_t today = std::chrono::system_clock::now().time_since_epoch() / std::chrono::microseconds{1};
    std::atomic<std::size_t> logged{0}, kept{0};
    {
        std::vector<std::jthread> all;
        for (std::size_t t = 0; t < threads; ++t) {
            all.emplace_back([&, t] {
                for (std::size_t i = 0; i < calls; ++i) {
                    const std::size_t size = i % 1000 == t ? 300'000 : 12 + (i * 7 + t) % 200;
                    auto answer = i % 5 != 0 ? nullptr
                                             : std::make_unique<journal::stored_reply>(
                                                   std::to_string(t) + ' ' + std::to_string(i), 1, "+OK\r\n", today);
                    const journal::reserved_record at = log.reserve_record(size, answer.get());
                    const auto length = static_cast<std::uint32_t>(size);
                    std::memcpy(at.bytes, &at.position, sizeof at.position);
                    std::memcpy(at.bytes + sizeof at.position, &length, sizeof length);
                    std::memset(at.bytes + 12, static_cast<char>(at.position), size - 12);
                    if (i % 7 == 0) {
                        log.skip_record(at, std::move(answer));
                        continue;
                    }
                    ++logged;
                    if (answer) ++kept;
                    log.submit_record(at, std::move(answer));
                }
            });
        }
    }
    log.end();
    EXPECT_EQ(log.statistics().pending_bytes, 0u);
    EXPECT_EQ(log.statistics().calls, logged);
    std::size_t found = 0, answers = 0;
    std::uint64_t before = 0;
    log.file().read_groups([&](std::string_view records) {
        for (; !records.empty(); ++found) {
            std::uint64_t position = 0;
            std::uint32_t size = 0;
            ASSERT_GE(records.size(), 12u);
            std::memcpy(&position, records.data(), sizeof position);
            std::memcpy(&size, records.data() + sizeof position, sizeof size);
            ASSERT_GT(position, before);
            ASSERT_LE(size, records.size());
            ASSERT_EQ(records.substr(12, size - 12), std::string(size - 12, static_cast<char>(position)));
            records.remove_prefix(size);
            before = position;
        }
    });
    log.file().read_answers([&](const journal::stored_reply&) { ++answers; });
    EXPECT_EQ(found, logged);
    EXPECT_EQ(answers, kept);
}

// Catches a log of the previous version that is treated as damaged, or that is not read.
TEST_F(journal_test, a_log_of_the_previous_version_is_continued) {
    const journal::recorded_call one{"put", 2};
    const std::vector<std::string_view> arguments{"1", "7"};
    std::string old(journal::encoded_size({&one, 1}, arguments), 0);
    journal::encode({.position = 3,
                     .answer = journal::checksum("+OK\r\n", journal::checksum_kind::fnv1a),
                     .answer_by = journal::checksum_kind::fnv1a},
                    {&one, 1}, arguments, old.data());
    const auto fnv = [](std::string_view of) {
        return std::to_string(static_cast<std::int64_t>(journal::checksum(of, journal::checksum_kind::fnv1a)));
    };
    const auto change = [&](const char* file_system, const std::string& sql) {
        sqlite3* db = nullptr;
        const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
        ASSERT_EQ(sqlite3_open_v2(file().c_str(), &db, flags, file_system), SQLITE_OK);
        EXPECT_EQ(sqlite3_exec(db, ("PRAGMA locking_mode = EXCLUSIVE; " + sql).c_str(), nullptr, nullptr, nullptr),
                  SQLITE_OK)
            << sqlite3_errmsg(db);
        sqlite3_close(db);
        std::filesystem::remove(file() + "-end");  // it belongs to the file as the store left it
    };
    std::string hex;
    for (const char c : old) {
        for (const int shift : {4, 0}) hex += "0123456789abcdef"[(static_cast<unsigned char>(c) >> shift) & 15];
    }
    // The form of the previous version: pages without checksums.
    change(nullptr,
           "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL;"
           "CREATE TABLE calls(first INTEGER PRIMARY KEY, last INTEGER NOT NULL, checksum INTEGER NOT NULL,"
           " records BLOB NOT NULL);"
           "CREATE TABLE answers(key BLOB PRIMARY KEY, call INTEGER NOT NULL, answer BLOB NOT NULL,"
           " at INTEGER NOT NULL, of_group INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;"
           "CREATE INDEX answers_of_groups ON answers(of_group);"
           "CREATE TABLE snapshot(number INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, part BLOB NOT NULL);"
           "CREATE TABLE position(one INTEGER PRIMARY KEY, of_snapshot INTEGER NOT NULL, kept_from INTEGER NOT NULL);"
           "CREATE TABLE branches(number INTEGER PRIMARY KEY, term INTEGER NOT NULL, id INTEGER NOT NULL,"
           " first INTEGER NOT NULL);"
           "CREATE TABLE heard(one INTEGER PRIMARY KEY, term INTEGER NOT NULL);"
           "INSERT INTO heard VALUES(1, 0); INSERT INTO position VALUES(1, 2, 2);"
           "INSERT INTO snapshot VALUES(1, " +
               fnv("part") +
               ", CAST('part' AS BLOB));"
               "INSERT INTO calls VALUES(3, 3, " +
               fnv(old) + ", x'" + hex +
               "');"
               "PRAGMA application_id = " +
               std::to_string(0x54755474) + "; PRAGMA user_version = 2");
    for (int start = 0; start < 2; ++start) {
        journal::log_store log{file()};
        EXPECT_EQ(log.part(1), "part");
        std::string records;
        log.read_groups([&](std::string_view of) { records += of; });
        if (start == 0) log.add(std::vector{journal::group{.first = 4, .last = 4, .records = "new"}}, true);
        else EXPECT_TRUE(records.ends_with("new"));
        EXPECT_TRUE(records.starts_with(old));
        std::string_view left = records;
        const journal::record r = journal::decode(left);
        EXPECT_EQ(r.answer, journal::checksum("+OK\r\n", r.answer_by));
        EXPECT_FALSE(r.is_exec);
    }
    change(journal::checked_pages(),
           "UPDATE calls SET checksum = checksum + 1 WHERE first = 3; UPDATE snapshot SET checksum = checksum + 1");
    journal::log_store log{file()};
    EXPECT_THROW(log.read_snapshot([](std::string_view) {}), journal::log_store_error);
    EXPECT_THROW(static_cast<void>(log.part(1)), journal::log_store_error);
    EXPECT_THROW(log.read_groups([](std::string_view) {}), journal::log_store_error);
    EXPECT_THROW(static_cast<void>(log.read_from(1, 1000)), journal::log_store_error);
}

// During its promotion, a follower learns of terms, and writes them to the file. Catches a log that begins while
// another thread uses the file. That thread uses the file until the file is touched or some time has passed.
TEST_F(journal_test, a_promotion_waits_for_other_users_of_the_file) {
    journal::journal log{how(), [](bool, const std::string&) {}};
    log.follow("127.0.0.1:1");
    std::atomic<bool> is_in{false};
    bool was_touched = false;
    std::jthread client{[&] {
        log.with_file([&](journal::log_store& file) {
            file.record_announced_term(7);
            const int before = faulty_disk::syncs;
            is_in = true;
            is_in.notify_one();
            const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{300};
            while (faulty_disk::syncs == before && std::chrono::steady_clock::now() < until) std::this_thread::yield();
            was_touched = faulty_disk::syncs != before;
        });
    }};
    is_in.wait(false);
    log.begin();
    client.join();
    EXPECT_FALSE(was_touched);
    log.with_file([](journal::log_store& file) {
        ASSERT_FALSE(file.leader_epochs().empty());
        EXPECT_EQ(file.leader_epochs().back().term, 8u);
        EXPECT_EQ(file.announced_term(), 7u);
    });
    log.end();
}

struct following_journal_test : journal_test {
    static journal::log_chunk calls(std::uint64_t first, std::uint64_t last, std::uint64_t upto,
                                    std::size_t bytes = 1) {
        journal::log_chunk p{.epoch = {.term = 1, .id = 11, .first = 1}, .upto = upto};
        if (first == 1) p.epochs = {p.epoch};
        p.groups = {{.first = first, .last = last, .records = std::string(bytes, 'x')}};
        return p;
    }
};

// Catches a follower that appends existing calls again because a later step has failed.
TEST_F(following_journal_test, appends_if_the_checkpoint_fails) {
    journal::journal log{how(), [](bool, const std::string&) {}};
    log.follow("127.0.0.1:1");
    faulty_disk::is_untidy = true;
    constexpr std::size_t worth_tidying = 17U << 20;
    EXPECT_TRUE(log.append(calls(1, 1, 2, worth_tidying)));
    EXPECT_TRUE(log.has_error());
    EXPECT_EQ(log.durable(), 2u);
    EXPECT_EQ(log.next_position(), 2u);
    faulty_disk::repair();
    EXPECT_TRUE(log.append(calls(2, 2, 3)));
    EXPECT_FALSE(log.has_error());
    EXPECT_EQ(log.durable(), 3u);
}

// Catches a follower that reports calls as durable although they are not, or that appends a call twice.
TEST_F(following_journal_test, writes_appended_groups_once) {
    journal::journal log{how(), [](bool, const std::string&) {}};
    log.follow("127.0.0.1:1");
    ASSERT_TRUE(log.append(calls(1, 1, 2)));
    const int before = faulty_disk::syncs;
    ASSERT_TRUE(log.append(calls(2, 3, 4)));
    EXPECT_GT(faulty_disk::syncs, before);
    EXPECT_FALSE(log.append(calls(3, 3, 4))) << "another group has it";
    EXPECT_TRUE(log.is_broken());
    EXPECT_EQ(log.file().read_from(1, 1000).size(), 2u);
}

// Catches a log that stores the answers of all calls with an ID while it follows.
TEST_F(following_journal_test, forgets_old_answers) {
    constexpr std::int64_t hour = 3'600'000'000;
    const std::int64_t today = std::chrono::system_clock::now().time_since_epoch() / std::chrono::microseconds{1};
    for (const auto& [most, expected] : {std::pair{1, "new"}, {10, "old new"}}) {
        log_settings few = how();
        few.file += expected;
        few.max_cached_replies = static_cast<std::size_t>(most);
        few.reply_cache_ttl = std::chrono::hours{1};
        journal::journal log{few, [](bool, const std::string&) {}};
        log.follow("127.0.0.1:1");
        journal::log_chunk p = calls(1, 3, 4);
        for (const auto& [key, age] : {std::pair{"ancient", 2 * hour}, {"old", hour / 2}, {"new", hour / 4}})
            p.groups[0].answers.push_back({key, 1, "+OK\r\n", today - age});
        ASSERT_TRUE(log.append(p));
        std::string left;
        log.file().read_answers([&](const journal::stored_reply& a) { left += (left.empty() ? "" : " ") + a.key; });
        EXPECT_EQ(left, expected);
    }
}

// The leader's last positions were holes. Catches a promotion that reserves these positions again. A call that has read
// such a position, and not yet the durable one, would wait for calls that do not come.
TEST_F(following_journal_test, keeps_positions_across_a_promotion) {
    journal::journal log{how(), [](bool, const std::string&) {}};
    log.follow("127.0.0.1:1");
    ASSERT_TRUE(log.append(calls(1, 1, 5)));
    EXPECT_EQ(log.next_position(), 5u);
    log.begin();
    EXPECT_EQ(log.next_position(), 5u);
    EXPECT_EQ(log.durable(), 5u);
    waiting_answer first;
    submit(log, "first");
    if (log.hold_until_durable(first, 6)) first.is_over.wait(false);
    log.with_file([](journal::log_store& file) {
        EXPECT_EQ(file.read_from(2, 1).at(0).first, 5u);
        EXPECT_EQ(file.leader_epochs().back().first, 2u) << "a follower that has the call before goes on with this one";
    });
    log.end();
}

// Catches a new snapshot that replaces the one that a follower is copying piece by piece.
TEST_F(journal_test, requests_for_snapshot_parts_protect_the_snapshot) {
    struct : request_owner {
        void complete_request(request&) noexcept override {}
        byte_budget& budget() noexcept override { return all; }
        byte_budget all{1000};
    } nobody;
    unused_service_control control;
    const std::string version = std::to_string(journal::stream_version);
    for (const std::vector<std::string_view>& asked :
         {std::vector<std::string_view>{"FOLLOW", "COPY", version}, {"FOLLOW", "PART", version, "9", "1"}}) {
        journal::journal log{how(), [](bool, const std::string&) {}};
        log.begin();
        EXPECT_FALSE(log.is_being_copied());
        request r{nobody};
        reply to{r.answer};
        ASSERT_TRUE(prepare_replication_command({.log = &log, .control = control}, session{}, asked, r, to));
        EXPECT_FALSE(log.is_being_copied());
        r.deferred.task(r.answer);
        EXPECT_TRUE(log.is_being_copied()) << asked[1];
    }
}

}  // namespace
}  // namespace tutti::server
