// The state of a server after it has logged its calls and restarted. Catches a log
//   - in the order in which calls end, or whose position is reserved before the last validation
//     (replays_calls_in_order)
//   - of half a call, or of a call that had no effect (logs_exec_as_one_transaction, logs_only_calls_that_write)
//   - whose answers go out before the disk has it (answers_wait_for_the_disk), or that treats a failed write as done
//     (refuses_writes_on_a_full_disk, failed_fsync_is_final)
//   - that counts as intact again while records wait for memory (refuses_a_call_without_memory_for_its_record)
//   - that one too long call, or piece of a snapshot, ends for all other calls (refuses_records_that_are_too_long)
#include <gtest/gtest.h>

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "server/client.hpp"
#include "server/durability/bank.hpp"
#include "server/durability/faulty_disk.hpp"
#include "server/journal/checked_pages.hpp"
#include "server/journal/log_store.hpp"
#include "support/effort.hpp"
#include "support/heap.hpp"
#include "tutti/server/service.hpp"

namespace tutti::server {
namespace {

using namespace std::chrono_literals;
using support::rounds;

/// A server that stores the last text it got, and whose dump has one piece of a given size.
struct texts {
    explicit texts(settings how) : serves{std::move(how)} {
        serves.procedures().add("keep", {}, [this](std::string_view text) { kept.store(std::string{text}); });
        serves.procedures().at_snapshot(
            "text", [this](snapshot_writer& to) { to.put(std::string(std::max(piece, kept.load().size()), ' ')); },
            [](snapshot_reader&) {});
        serves.start();
    }
    std::future<std::string> keep(std::string text) {
        auto answered = std::make_shared<std::promise<std::string>>();
        serves.call_raw("keep", {std::move(text)}, {},
                        [answered](std::string_view a) { answered->set_value(std::string{a}); });
        return answered->get_future();
    }

    var<std::string> kept;
    std::size_t piece = 0;
    service serves;
};

std::uint64_t logged(bank& b) { return number_of(b.serves.info(), "log_calls"); }

// Catches a log whose files all users of the machine can read.
TEST_F(durability, protects_the_log_from_other_users) {
    const ::mode_t before = ::umask(0);
    {
        texts server{with_log(log_sync::always)};
        EXPECT_EQ(server.keep("secret").get(), "+OK\r\n");
        for (const auto& one : std::filesystem::directory_iterator{std::filesystem::path{file()}.parent_path()}) {
            struct stat is{};
            EXPECT_EQ(::stat(one.path().c_str(), &is), 0);
            EXPECT_EQ(is.st_mode & 07777, 0640U) << one.path();
        }
    }
    ::umask(before);
}

// The order of the log is the order of the transactions. If the order of reads differed from the order of writes, a
// replay would give another result. Replay also compares each answer.
TEST_F(durability, replays_calls_in_order) {
    for (const unsigned cells : {2U, 5U}) {
        remove_log();
        std::vector<std::uint64_t> before;
        {
            bank b{with_log(log_sync::never)};
            mix(b, rounds(4000), cells);
            b.serves.drain();
            before = b.cells();
        }
        bank again{with_log()};
        EXPECT_EQ(again.cells(), before);
    }
}

TEST_F(durability, continues_after_a_restart) {
    for (std::uint64_t i = 1; i <= 5; ++i) {
        bank b{with_log()};
        EXPECT_EQ(b.serves.call<std::uint64_t>("next", {}, 3, i).get(), i);
    }
}

TEST_F(durability, logs_exec_as_one_transaction) {
    {
        bank b{with_log()};
        EXPECT_EQ(b.serves.call<long>("both", {}, 5).get(), 5);
        b.serves.drain();
        EXPECT_EQ(logged(b), 1U);
    }
    bank again{with_log()};
    EXPECT_EQ(again.state->left.load(), 5);
    EXPECT_EQ(again.state->right.load(), 5);
}

TEST_F(durability, logs_only_calls_that_write) {
    bank b{with_log(log_sync::always)};
    EXPECT_NE(b.raw("fail", {"1"}).find("EXCEPTION"), std::string::npos);
    EXPECT_EQ(b.state->cells[1].load(), 0U) << "what throws has no effect";
    EXPECT_EQ(b.serves.call<std::uint64_t>("get", {}, 1).get(), 0U);
    EXPECT_EQ(b.serves.call<std::uint64_t>("get_undeclared", {}, 1).get(), 0U);
    EXPECT_NE(b.raw("lie", {"1"}).find("promised to be read-only"), std::string::npos);
    EXPECT_EQ(logged(b), 0U);
    b.raw("put", {"1", "7"});
    EXPECT_EQ(logged(b), 1U);
}

// Without the wait for the disk, this call would be answered while its record cannot be written.
TEST_F(durability, answers_wait_for_the_disk) {
    settings how = with_log(log_sync::always);
    how.port = 0;
    bank b{how};
    b.raw("put", {"2", "1"});  // the log is set up
    faulty_disk::holds_sync = true;
    client writer{b.serves.port()}, reader{b.serves.port()}, idle{b.serves.port()};
    writer.send({"CALL", "put", "1", "7"});
    faulty_disk::held.wait(0);
    // The call has committed. Its answer waits for an fsync that does not return, and I/O threads keep working.
    EXPECT_EQ(b.state->cells[1].load(), 7U);
    EXPECT_EQ(idle({"PING"}), "PONG");
    const auto synced = faulty_disk::syncs.load();
    // A read-only call may have seen this state, so it has to wait as well.
    reader.send({"CALL", "get", "1"});
    std::atomic<bool> came{false};
    std::thread waits{[&] {
        EXPECT_EQ(reader.receive(), "7");
        came = true;
        EXPECT_GT(faulty_disk::syncs.load(), synced);
    }};
    while (number_of(b.serves.info(), "running") != 0) std::this_thread::yield();
    EXPECT_FALSE(came);
    {
        client leaves{b.serves.port()};  // a sanitizer reports a lost request to the journal
        leaves.send({"CALL", "put", "3", "1"});
        leaves.send({"WAIT", "1", "0"});
        while (b.state->cells[3].load() == 0) std::this_thread::yield();
    }
    faulty_disk::holds_sync = false;
    faulty_disk::holds_sync.notify_all();
    EXPECT_EQ(writer.receive(), "OK");
    EXPECT_GT(faulty_disk::syncs.load(), synced);
    waits.join();
}

TEST_F(durability, refuses_writes_on_a_full_disk) {
    std::vector<std::uint64_t> before;
    {
        settings how = with_log(log_sync::always);
        how.port = 0;
        bank b{how};
        b.raw("put", {"1", "1"});
        faulty_disk::is_full = true;
        client held{b.serves.port()}, other{b.serves.port()};
        held.send({"CALL", "put", "1", "2"});
        while (b.serves.info().find("log_error:the log") == std::string::npos) std::this_thread::yield();
        const std::string refused = other({"CALL", "ID", "k", "put", "1", "3"});
        EXPECT_EQ(refused.find("-MISCONF"), 0U) << refused;
        EXPECT_NE(refused.find("full"), std::string::npos) << refused;
        EXPECT_EQ(b.state->cells[1].load(), 2U) << "a refused call has no effect";
        EXPECT_EQ(other({"CALL", "get", "1"}).find("-UNSAVED"), 0U) << "it has seen what may be lost";
        faulty_disk::repair();
        EXPECT_EQ(held.receive(), "OK");
        while (b.serves.info().find("log_error:\r") == std::string::npos) std::this_thread::yield();
        EXPECT_NE(notices().find("full"), std::string::npos) << notices();
        EXPECT_EQ(other({"CALL", "ID", "k", "put", "1", "3"}), "OK") << "what was refused has not run";
        EXPECT_EQ(other({"CALL", "put", "1", "4"}), "OK");
        b.serves.drain();
        before = b.cells();
    }
    bank again{with_log()};
    EXPECT_EQ(again.cells(), before);
}

// Catches a server that acknowledges calls although its log file has been renamed.
TEST_F(durability, refuses_writes_after_the_log_is_renamed) {
    settings how = with_log(log_sync::always);
    how.port = 0;
    {
        bank b{how};
        client held{b.serves.port()}, other{b.serves.port()};
        EXPECT_EQ(other({"CALL", "put", "1", "1"}), "OK");
        for (const char* const suffix : {"", "-wal"}) {
            std::filesystem::rename(file() + suffix, file() + suffix + ".moved");
            held.send({"CALL", "put", "1", "2"});
            while (b.serves.info().find("was removed, renamed or replaced") == std::string::npos)
                std::this_thread::yield();
            EXPECT_EQ(other({"CALL", "put", "1", "3"}).find("-MISCONF"), 0U);
            std::filesystem::rename(file() + suffix + ".moved", file() + suffix);
            EXPECT_EQ(held.receive(), "OK") << "it waited, and is in the log";
            while (b.serves.info().find("log_error:\r") == std::string::npos) std::this_thread::yield();
        }
        b.serves.drain();
    }
    bank again{with_log()};
    EXPECT_EQ(again.state->cells[1].load(), 2U);
}

// Catches a server that ends only if it is killed, or that wrongly reports at its end that a call is durable.
TEST_F(durability, the_end_does_not_wait_for_a_full_disk) {
    {
        settings how = with_log(log_sync::always);
        how.port = 0;
        bank b{how};
        b.raw("put", {"1", "1"});
        faulty_disk::is_full = true;
        client held{b.serves.port()};
        held.send({"CALL", "put", "1", "2"});
        while (b.serves.info().find("log_error:the log") == std::string::npos) std::this_thread::yield();
        b.serves.drain();
        EXPECT_EQ(held.receive().find("-UNSAVED put"), 0U);
        faulty_disk::repair();
    }
    bank again{with_log()};
    EXPECT_EQ(again.state->cells[1].load(), 1U);
}

// The disk runs full at each point of a group. The file stays valid, and contains a repeated call once.
TEST_F(durability, survives_a_full_disk_after_every_write) {
    for (int writes = 0; writes < 12; ++writes) {
        remove_log();
        {
            settings how = with_log(log_sync::always);
            bank b{how};
            b.raw("next", {"0", "1"});
            faulty_disk::writes_until_full = writes;
            std::atomic<bool> answered{false};
            std::promise<void> done;
            b.serves.call_raw("next", {"0", "2"}, {}, [&](std::string_view a) {
                EXPECT_EQ(a, ":2\r\n");
                answered = true;
                done.set_value();
            });
            while (!answered && b.serves.info().find("log_error:the log") == std::string::npos)
                std::this_thread::yield();
            copy_as_if_killed(folder_ + "/copy");
            faulty_disk::repair();
            done.get_future().get();
        }
        {
            settings how = with_log();
            how.log.file = folder_ + "/copy";
            bank copy{how};
            const std::uint64_t last = copy.state->cells[0].load();
            EXPECT_TRUE(last == 1 || last == 2) << last;
        }
        remove_log("copy");
        bank again{with_log()};
        EXPECT_EQ(again.state->cells[0].load(), 2U) << "after " << writes << " writes";
    }
}

TEST_F(durability, failed_fsync_is_final) {
    {
        settings how = with_log(log_sync::always);
        bank b{how};
        b.raw("put", {"1", "1"});
        faulty_disk::loses = true;
        EXPECT_EQ(b.raw("put", {"1", "2"}).find("-UNSAVED"), 0U);
        faulty_disk::repair();
        EXPECT_EQ(b.raw("put", {"1", "3"}).find("-MISCONF"), 0U) << "what the disk has is not known any more";
    }
    bank again{with_log()};
    const std::uint64_t is = again.state->cells[1].load();
    EXPECT_TRUE(is == 1 || is == 2);
}

// A long record arrives while the journal syncs another one, and finds no memory in its turn.
TEST_F(durability, refuses_a_call_without_memory_for_its_record) {
    constexpr std::size_t length = 4U << 20;
    const auto is_pending = [](const std::string& info) { return number_of(info, "log_pending_bytes") >= length; };
    settings how = with_log(log_sync::always);
    texts t{how};
    faulty_disk::holds_sync = true;
    auto first = t.keep("short");
    faulty_disk::held.wait(0);
    auto second = t.keep(std::string(length, 'x'));
    while (!is_pending(t.serves.info())) std::this_thread::yield();
    support::refused_as_long = 0;
    support::refuse_from_bytes = length;
    faulty_disk::repair();
    while (support::refused_as_long < 3) std::this_thread::yield();  // the journal has tried three times
    EXPECT_NE(notices().find("out of memory for the log"), std::string::npos) << notices();
    EXPECT_EQ(notices().find("can be written again"), std::string::npos) << notices();
    EXPECT_EQ(t.keep("refused").get().find("-MISCONF"), 0U);
    support::refuse_from_bytes = 0;
    EXPECT_EQ(first.get(), "+OK\r\n");
    EXPECT_EQ(second.get(), "+OK\r\n");
    while (t.serves.info().find("log_error:\r") == std::string::npos) std::this_thread::yield();
    EXPECT_NE(notices().find("can be written again"), std::string::npos) << notices();
}

TEST_F(durability, refuses_records_that_are_too_long) {
    constexpr std::size_t longest = 18U << 20;
    const auto lower = [](sqlite3* db, char**, const sqlite3_api_routines*) {
        sqlite3_limit(db, SQLITE_LIMIT_LENGTH, longest);
        return SQLITE_OK;
    };
    int (*const entry)(sqlite3*, char**, const sqlite3_api_routines*) = lower;
    const auto extension = reinterpret_cast<void (*)()>(entry);
    sqlite3_auto_extension(extension);
    {
        texts t{with_log(log_sync::always)};
        EXPECT_EQ(t.keep("before").get(), "+OK\r\n");
        const std::string refused = t.keep(std::string(4U << 20, 'x')).get();
        EXPECT_EQ(refused.find("-MISCONF"), 0U) << refused.substr(0, 200);
        EXPECT_EQ(t.kept.load(), "before") << "a refused call has no effect";
        EXPECT_EQ(t.keep("behind").get(), "+OK\r\n");
        t.piece = longest;
        t.serves.drain();
        EXPECT_NE(notices().find("cannot be written: of 18"), std::string::npos) << notices();
    }
    sqlite3_cancel_auto_extension(extension);
    texts again{with_log()};
    EXPECT_EQ(again.kept.load(), "behind") << "what no snapshot holds is in the log";
}

TEST_F(durability, drops_a_torn_end) {
    {
        settings how = with_log(log_sync::always);
        bank b{how};
        for (std::uint64_t i = 1; i <= 3; ++i) b.raw("next", {"0", std::to_string(i)});
        copy_as_if_killed(folder_ + "/copy");
    }
    // A page of the last group does not contain the written data.
    const std::string wal = folder_ + "/copy-wal";
    std::filesystem::resize_file(wal, std::filesystem::file_size(wal));
    {
        std::fstream f{wal, std::ios::in | std::ios::out | std::ios::binary};
        f.seekp(-100, std::ios::end);
        f << "torn";
    }
    settings how = with_log();
    how.log.file = folder_ + "/copy";
    bank again{how};
    EXPECT_EQ(again.state->cells[0].load(), 2U);
    EXPECT_NE(notices().find("was torn"), std::string::npos) << notices();
}

TEST_F(durability, answers_retried_ids_after_a_restart) {
    settings how = with_log(log_sync::always);
    how.port = 0;
    std::string first;
    {
        bank b{how};
        client c{b.serves.port()};
        first = c({"CALL", "ID", "k1", "mix", "1", "1"});
        EXPECT_EQ(first, "1");
        EXPECT_EQ(c({"CALL", "put", "5", "5"}), "OK");
        EXPECT_EQ(c({"MULTI"}), "OK");
        EXPECT_EQ(c({"CALL", "mix", "2", "2"}), "QUEUED");
        EXPECT_EQ(c({"CALL", "mix", "2", "2"}), "QUEUED");
        EXPECT_EQ(c({"EXEC", "ID", "k2"}), "(1 33)");
    }
    std::string kept;
    journal::log_store{file()}.read_answers([&](const journal::stored_reply& a) { kept += a.key; });
    EXPECT_EQ(kept, "k1k2");
    bank again{how};
    client c{again.serves.port()};
    EXPECT_EQ(c({"CALL", "ID", "k1", "mix", "1", "1"}), first) << "it has run before the restart";
    EXPECT_EQ(again.state->cells[1].load(), 1U);
    EXPECT_EQ(again.state->cells[2].load(), 33U);
    EXPECT_EQ(c({"CALL", "ID", "k1", "mix", "1", "2"}).find("-ARGUMENT"), 0U);
    EXPECT_EQ(c({"MULTI"}), "OK");
    for (const char* const procedure : {"mix", "put"}) EXPECT_EQ(c({"CALL", procedure, "2", "2"}), "QUEUED");
    EXPECT_EQ(c({"EXEC", "ID", "k2"}).find("-ARGUMENT this ID belongs"), 0U) << "the same words for other procedures";
    bare_socket other{again.serves.port()};
    other.send("HELLO 3\r\nCALL ID k1 mix 1 1\r\nQUIT\r\n");
    const std::string said = other.receive_all();
    EXPECT_NE(said.find("-ARGUMENT this ID belongs"), std::string::npos) << said << "its answer is in RESP2";
}

// When the answer was given, the clock was a year slow or fast. The clock has been corrected since then.
TEST_F(durability, ids_outlive_a_clock_that_is_set) {
    settings how = with_log(log_sync::always);
    how.port = 0;
    constexpr std::int64_t year = std::int64_t{365} * 24 * 3600 * 1'000'000;
    for (const std::int64_t moved : {-year, year}) {
        remove_log();
        std::string first;
        {
            bank b{how};
            first = client{b.serves.port()}({"CALL", "ID", "k", "next", "1", "1"});
        }
        {
            sqlite3* db = nullptr;
            ASSERT_EQ(sqlite3_open_v2(file().c_str(), &db, SQLITE_OPEN_READWRITE, journal::checked_pages()), SQLITE_OK);
            const std::string sql =
                "PRAGMA locking_mode = EXCLUSIVE; UPDATE answers SET at = at + (" + std::to_string(moved) + ")";
            EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
            sqlite3_close(db);
            std::filesystem::remove(file() + "-end");  // it belongs to the file as the server left it
        }
        bank again{how};
        EXPECT_EQ(client{again.serves.port()}({"CALL", "ID", "k", "next", "1", "1"}), first) << moved;
        EXPECT_EQ(again.state->cells[1].load(), 1U) << "it has run twice";
    }
}

}  // namespace
}  // namespace tutti::server
