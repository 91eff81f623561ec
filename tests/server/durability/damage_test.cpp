// Starts on a damaged log. The start either refuses and changes nothing, or finds everything that was on the disk.
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "server/durability/log_folder.hpp"
#include "server/journal/checked_pages.hpp"
#include "server/journal/checksum.hpp"
#include "server/journal/durable_end.hpp"
#include "server/journal/log_store.hpp"
#include "support/effort.hpp"
#include "tutti/server/log.hpp"

namespace tutti::server {
namespace {

using support::rounds;

/// The log of a killed server, and copies of it that the tests damage.
struct log_damage : log_folder {
    static constexpr std::uint64_t calls = 12;

    void SetUp() override {
        log_folder::SetUp();
        {
            journal::log_store log{file()};
            log.add_leader_epoch({.term = 1, .id = 7, .first = 1});
            for (std::uint64_t n = 1; n <= calls; ++n) {
                log.add(std::vector{journal::group{
                            .first = n, .last = n, .records = record_of(n), .answers = {{"key", n, "answer", 1}}}},
                        true);
            }
            copy("log", "killed");
        }
        copy("log", "ended");
    }
    static std::string record_of(std::uint64_t n) { return std::string(200, static_cast<char>('a' + n)); }
    void copy(const std::string& from, const std::string& to) const {
        remove_log(to);
        for (const char* const suffix : {"", "-wal", "-end"}) {
            if (std::filesystem::exists(file(from) + suffix))
                std::filesystem::copy_file(file(from) + suffix, file(to) + suffix);
        }
    }
    /// Returns all bytes of a file, or nothing if the file does not exist. Reads the whole file at once: reading byte
    /// by byte took longer than the rest of these tests.
    [[nodiscard]] std::string bytes_of(const std::string& name) const {
        std::ifstream from{file(name), std::ios::binary | std::ios::ate};
        if (!from) return {};
        std::string all(static_cast<std::size_t>(from.tellg()), '\0');
        from.seekg(0);
        from.read(all.data(), static_cast<std::streamsize>(all.size()));
        return all;
    }
    void write(const std::string& name, const std::string& bytes) const {
        std::ofstream{file(name), std::ios::binary} << bytes;
    }
    /// Returns the number of calls that a start finds, each unchanged; or nothing if the start refuses.
    std::optional<std::uint64_t> found_in(const std::string& name) {
        refusal.clear();
        findings.clear();
        try {
            journal::log_store log{file(name)};
            std::uint64_t n = 0;
            log.read_groups([&](std::string_view records) { EXPECT_EQ(records, record_of(++n)); });
            EXPECT_EQ(log.end(), n + 1);
            findings = log.findings();
            return n;
        } catch (const journal::log_store_error& e) {
            refusal = e.what();
            EXPECT_FALSE(e.is_retryable());
            return std::nullopt;
        }
    }
    /// Damages a file of a copy of `from`. The start either finds every call, or refuses and changes nothing.
    template <class F>
    void expect_all_or_refusal(const std::string& from, const std::string& suffix, const F& damage,
                               const std::string& what) {
        copy(from, "damaged");
        std::string bytes = bytes_of("damaged" + suffix);
        damage(bytes);
        write("damaged" + suffix, bytes);
        const std::string before = bytes_of("damaged"), own_log = bytes_of("damaged-wal");
        const std::optional<std::uint64_t> found = found_in("damaged");
        if (found) {
            EXPECT_EQ(*found, calls) << what << " of " << from << suffix;
            return;
        }
        EXPECT_NE(refusal.find("replica"), std::string::npos) << refusal << ": " << what << " of " << from << suffix;
        EXPECT_EQ(bytes_of("damaged"), before) << what << " of " << from << suffix;
        EXPECT_EQ(bytes_of("damaged-wal"), own_log) << what << " of " << from << suffix;
    }

    std::string refusal;
    std::vector<std::string> findings;
};

TEST_F(log_damage, intact_logs_start) {
    EXPECT_EQ(found_in("killed"), calls) << refusal;
    EXPECT_EQ(found_in("ended"), calls) << refusal;
}

TEST_F(log_damage, any_flipped_bit_of_any_file_is_found) {
    struct part {
        const char *log, *suffix;
    };
    for (const part p : {part{"killed", "-wal"}, part{"killed", ""}, part{"ended", ""}, part{"killed", "-end"}}) {
        const std::uint64_t bits = 8 * std::filesystem::file_size(file(p.log) + p.suffix);
        const std::uint64_t step = bits / rounds(400) | 1;
        for (std::uint64_t bit = 0; bit < bits; bit += step) {
            expect_all_or_refusal(
                p.log, p.suffix, [&](std::string& bytes) { bytes[bit / 8] ^= static_cast<char>(1 << bit % 8); },
                "bit " + std::to_string(bit));
        }
    }
}

TEST_F(log_damage, lost_zeroed_duplicated_or_swapped_pages_are_found) {
    constexpr std::size_t page = 8192;
    for (const char* const log : {"killed", "ended"}) {
        for (const char* const suffix : {"", "-wal"}) {
            if (!std::filesystem::exists(file(log) + suffix)) continue;
            const std::size_t frame = *suffix == '\0' ? page : page + 24, begin = *suffix == '\0' ? 0 : 32;
            const std::size_t pages = (bytes_of(log + std::string{suffix}).size() - begin) / frame;
            for (std::size_t n = 0; n < pages; n += pages / rounds(100) + 1) {
                const std::size_t at = begin + n * frame, other = begin + (n + 1) % pages * frame;
                const std::string where = "page " + std::to_string(n);
                expect_all_or_refusal(
                    log, suffix, [&](std::string& b) { b.replace(at, frame, frame, '\0'); }, where + " zero");
                expect_all_or_refusal(log, suffix, [&](std::string& b) { b.resize(at); }, where + " and later gone");
                expect_all_or_refusal(
                    log, suffix, [&](std::string& b) { b.resize(at + frame / 2); }, where + " cut in half");
                expect_all_or_refusal(log, suffix, [&](std::string& b) { b.erase(at, frame); }, where + " left out");
                expect_all_or_refusal(
                    log, suffix, [&](std::string& b) { b.insert(at, b.substr(at, frame)); }, where + " twice");
                expect_all_or_refusal(
                    log, suffix,
                    [&](std::string& b) {
                        const std::string one = b.substr(at, frame), two = b.substr(other, frame);
                        b.replace(at, frame, two);
                        b.replace(other, frame, one);
                    },
                    where + " in the place of another");
            }
        }
    }
}

TEST_F(log_damage, a_missing_file_is_found) {
    for (const char* const suffix : {"", "-wal"}) {
        copy("killed", "damaged");
        std::filesystem::remove(file("damaged") + suffix);
        EXPECT_EQ(found_in("damaged"), std::nullopt) << suffix;
    }
    copy("killed", "damaged");
    for (const bool is_empty : {false, true}) {
        copy("killed", "damaged");
        std::filesystem::remove(file("damaged-end"));
        if (is_empty) write("damaged-end", "");
        EXPECT_EQ(found_in("damaged"), calls);
        ASSERT_EQ(findings.size(), 1U);
        EXPECT_NE(findings[0].find(file("damaged-end") + " is missing or empty"), std::string::npos) << findings[0];
        EXPECT_EQ(found_in("damaged"), calls);
        EXPECT_EQ(findings, std::vector<std::string>{});  // the start before it has made the file
    }
    copy("killed", "damaged");
    write("damaged", "");
    EXPECT_EQ(found_in("damaged"), std::nullopt);
    // The user has removed the file on purpose, but not the companion file -end, which few users know.
    copy("ended", "damaged");
    std::filesystem::remove(file("damaged"));
    EXPECT_EQ(found_in("damaged"), 0U) << refusal;
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_NE(findings[0].find("was removed; 12 calls"), std::string::npos) << findings[0];
}

/// All calls were in SQLite's own log. The remaining files look like a log that was never written.
TEST_F(log_damage, a_start_warns_about_an_empty_log_without_end) {
    copy("killed", "damaged");
    std::filesystem::remove(file("damaged-end"));
    write("damaged-wal", "");
    EXPECT_EQ(found_in("damaged"), 0U) << refusal;
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_NE(findings[0].find("damaged-end is missing"), std::string::npos) << findings[0];
    EXPECT_EQ(found_in("anew"), 0U) << refusal;
    EXPECT_EQ(findings, std::vector<std::string>{});
}

/// Catches a start that trusts the header of SQLite's own log when no other file says how far the log went.
TEST_F(log_damage, any_flipped_bit_of_the_wal_header_is_found) {
    std::filesystem::remove(file("killed-end"));
    for (std::size_t bit = 0; bit < 32 * 8; bit += 32 * 8 / rounds(300) + 1) {
        copy("killed", "damaged");
        std::string bytes = bytes_of("damaged-wal");
        bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
        write("damaged-wal", bytes);
        EXPECT_EQ(found_in("damaged"), std::nullopt) << "bit " << bit;
    }
}

/// A machine crash has cut a group short. The group was not acknowledged, so its end need not be on the disk.
TEST_F(log_damage, a_torn_end_is_cut_off_and_reported) {
    std::string end;
    {
        copy("killed", "more");
        journal::log_store log{file("more")};
        end = bytes_of("more-end");
        log.add(std::vector{journal::group{.first = calls + 1, .last = calls + 1, .records = record_of(calls + 1)}},
                true);
        copy("more", "damaged");
    }
    write("damaged-end", end);
    std::string bytes = bytes_of("damaged-wal");
    bytes[32 + 24 + 500] ^= 1;  // SQLite has begun its own log anew
    write("damaged-wal", bytes);
    EXPECT_EQ(found_in("damaged"), calls) << refusal;
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_NE(findings[0].find("was torn"), std::string::npos) << findings[0];
}

/// A file ends within a frame, and no other file says how far it went. A start finds the calls before that frame, and
/// no other calls.
TEST_F(log_damage, an_end_within_a_page_is_reported) {
    constexpr std::size_t frame = 8192 + 24;
    for (const std::size_t missing : {std::size_t{1}, frame / 2, frame - 17, frame - 15, frame - 1}) {
        copy("killed", "damaged");
        std::filesystem::remove(file("damaged-end"));
        std::string bytes = bytes_of("damaged-wal");
        bytes.resize(bytes.size() - missing);
        write("damaged-wal", bytes);
        EXPECT_EQ(found_in("damaged"), calls - 1) << missing << ": " << refusal;
        ASSERT_EQ(findings.size(), 2U) << missing;
        EXPECT_NE(findings[1].find("was torn: "), std::string::npos) << findings[1];
    }
}

/// Catches a transaction without calls that is silently lost because its damage looks like a torn end. After a lost
/// promotion, for instance, the server leads in an earlier term.
TEST_F(log_damage, a_transaction_without_calls_is_not_taken_for_a_torn_end) {
    using journal::log_store;
    const journal::leader_epoch promoted{.term = 2, .id = 8, .first = calls + 1};
    const journal::handed_over leads{.leads = true, .host = "there", .port = 7};
    struct change {
        const char* what;
        std::function<void(log_store&)> before, last;
    };
    const auto nothing = [](log_store&) {};
    const std::vector<change> all{
        {"a start or a promotion", nothing, [&](log_store& log) { log.add_leader_epoch(promoted); }},
        {"a promotion by an order", nothing, [&](log_store& log) { log.add_leader_epoch(promoted, leads); }},
        {"a term that was heard of", nothing, [](log_store& log) { log.record_announced_term(3); }},
        {"a former leader", nothing, [](log_store& log) { log.add_former_leader({.host = "there", .port = 7}); }},
        {"a former leader that knows", [](log_store& log) { log.add_former_leader({.host = "there", .port = 7}); },
         [](log_store& log) { log.forget_former_leader("there", 7); }},
        {"a handover", nothing, [&](log_store& log) { log.record_handover(leads); }},
        {"options that are newer than a handover", [&](log_store& log) { log.record_handover(leads); },
         [](log_store& log) { log.forget_handover(); }},
        {"the number of a follower", nothing, [](log_store& log) { static_cast<void>(log.follower_id()); }},
        {"a branch from the leader", nothing,
         [&](log_store& log) { log.append({}, {promoted}, calls + 1, promoted.term, false); }},
        {"a term from the leader", nothing, [](log_store& log) { log.append({}, {}, calls + 1, 3, false); }},
        {"where the leader is", nothing,
         [](log_store& log) { log.record_redirection({.from = {"there", 7}, .to = {"elsewhere", 7}}); }},
        {"a leader that is where the options say",
         [](log_store& log) { log.record_redirection({.from = {"there", 7}, .to = {"elsewhere", 7}}); },
         [](log_store& log) { log.forget_redirection(); }},
        {"the exchange of a snapshot",
         [](log_store& log) {
             log.begin_snapshot();
             log.add_parts(std::vector<std::string>{"part"});
         },
         [](log_store& log) { log.finish_snapshot(calls + 1, 1 << 20); }},
    };
    constexpr std::size_t frame = 8192 + 24;
    for (const change& c : all) {
        std::size_t bytes_before = 0;
        {
            copy("killed", "now");
            log_store log{file("now")};
            c.before(log);
            bytes_before = bytes_of("now-wal").size();
            c.last(log);
            copy("now", "whole");
        }
        const std::string whole = bytes_of("whole-wal");
        // SQLite begins its own log anew after a start has moved the content into the file.
        const std::size_t first = whole.size() > bytes_before ? bytes_before : std::size_t{32};
        EXPECT_EQ((whole.size() - 32) % frame, 0U) << c.what;
        const auto refuses = [&](std::string bytes, const std::string& how) {
            copy("whole", "damaged");
            write("damaged-wal", bytes);
            EXPECT_EQ(found_in("damaged"), std::nullopt) << c.what << ": " << how;
            EXPECT_NE(refusal.find("-wal"), std::string::npos) << refusal;
            EXPECT_NE(refusal.find("tutti log repair"), std::string::npos) << refusal;
            EXPECT_EQ(bytes_of("damaged-wal"), bytes) << c.what << ": " << how;
        };
        std::string flipped = whole;
        flipped[first + 24 + 500] ^= 1;
        refuses(flipped, "a bit");
        refuses(whole.substr(0, first), "cut off");
        std::string zero = whole;
        zero.replace(first, frame, frame, '\0');
        refuses(zero, "zero");
        if (first == 32) refuses("", "empty");
        copy("whole", "damaged");
        EXPECT_EQ(log_store{file("damaged")}.end(), calls + 1) << c.what;
    }
}

/// Catches a crash between the steps of a start or an end that is reported as damage to SQLite's own log.
TEST_F(log_damage, the_wal_may_be_missing_after_a_checkpoint) {
    {
        copy("killed", "now");
        journal::log_store log{file("now")};
        log.record_announced_term(3);
        copy("now", "whole");
        {
            // The content of -end before SQLite moves and removes its own log.
            journal::durable_end end{file("whole-end")};
            ASSERT_GT(end.read()->wal_frames, 0U);
            end.forget_pages();
        }
    }
    // The file has everything, SQLite's own log is gone, and -end has not been written since.
    const std::string said_before = bytes_of("whole-end");
    write("now-end", said_before);
    EXPECT_FALSE(std::filesystem::exists(file("now-wal")));
    EXPECT_EQ(found_in("now"), calls) << refusal;
    // The server was killed before it removed SQLite's own log.
    EXPECT_EQ(found_in("whole"), calls) << refusal;
}

/// An earlier version does not store the number of frames.
TEST_F(log_damage, the_end_file_of_an_earlier_version_is_read) {
    struct {
        char what[8] = {'T', 'u', 't', 't', 'i', 'E', 'n', '2'};
        std::uint64_t writes = 2, end = calls + 2, pages = 0, turn = 0, sum = 0;
    } slot;
    const auto put = [&] {
        slot.sum = journal::checksum({reinterpret_cast<const char*>(&slot), offsetof(decltype(slot), sum)});
        write("ended-end", {reinterpret_cast<const char*>(&slot), sizeof slot});
    };
    put();
    EXPECT_EQ(found_in("ended"), std::nullopt);
    EXPECT_NE(refusal.find("it ends before call 13"), std::string::npos) << refusal;
    slot.end = calls + 1;
    put();
    EXPECT_EQ(found_in("ended"), calls) << refusal;
}

TEST_F(log_damage, the_message_names_file_offset_and_remedies) {
    copy("killed", "damaged");
    std::string bytes = bytes_of("damaged-wal");
    bytes[bytes.size() / 2] ^= 1;
    write("damaged-wal", bytes);
    EXPECT_EQ(found_in("damaged"), std::nullopt);
    for (const std::string& part :
         {file("damaged-wal"), std::string{"at byte "}, std::string{"whole pages of later groups"},
          std::string{"is the first that cannot be read"}, "tutti log repair " + file("damaged")}) {
        EXPECT_NE(refusal.find(part), std::string::npos) << part << " in " << refusal;
    }
}

/// Each file is whole, but together the files are a database in which groups in the middle are missing.
TEST_F(log_damage, files_of_another_time_or_log_are_found) {
    const auto add = [this](const std::string& to, std::uint64_t first, std::uint64_t last) {
        journal::log_store log{file(to)};
        for (std::uint64_t n = first; n <= last; ++n)
            log.add(std::vector{journal::group{.first = n, .last = n, .records = record_of(n)}}, true);
        copy(to, to + "-killed");
    };
    add("log", calls + 1, calls + 6);  // its start has moved SQLite's own log into the file
    copy("log-killed", "earlier");
    add("log", calls + 7, calls + 12);
    copy("log-killed", "now");
    add("another", 1, calls + 12);
    add("another", calls + 13, calls + 14);
    copy("another-killed", "another");
    for (const char* const from : {"earlier", "another"}) {
        for (const char* const suffix : {"", "-wal", "-end"}) {
            copy("now", "damaged");
            write(std::string{"damaged"} + suffix, bytes_of(std::string{from} + suffix));
            const std::string before = bytes_of("damaged"), own_log = bytes_of("damaged-wal");
            EXPECT_EQ(found_in("damaged"), std::nullopt) << suffix << " of " << from;
            EXPECT_NE(refusal.find("replica"), std::string::npos) << refusal;
            EXPECT_THROW(static_cast<void>(repair_log(file("damaged"))), std::runtime_error)
                << suffix << " of " << from;
            EXPECT_EQ(bytes_of("damaged"), before);
            EXPECT_EQ(bytes_of("damaged-wal"), own_log);
        }
    }
    // Also searches the undamaged files.
    EXPECT_EQ(found_in("now"), calls + 12) << refusal;
    EXPECT_EQ(found_in("log"), calls + 12) << refusal;
}

/// Pages of different times may have groups out of order. Catches a check of the log that never ends because of such
/// groups.
TEST_F(log_damage, groups_out_of_order_are_found) {
    for (const char* const change :
         {"UPDATE calls SET last = first - 3 WHERE first = 8", "UPDATE calls SET last = first + 3 WHERE first = 8"}) {
        copy("ended", "damaged");
        {
            sqlite3* db = nullptr;
            ASSERT_EQ(sqlite3_open_v2(file("damaged").c_str(), &db, SQLITE_OPEN_READWRITE, journal::checked_pages()),
                      SQLITE_OK);
            for (const char* const sql : {"PRAGMA locking_mode=EXCLUSIVE", change})
                EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
            sqlite3_close(db);
        }
        std::filesystem::remove(file("damaged-end"));  // it belongs to the file as the store left it
        const log_contents found = check_log(file("damaged"));
        ASSERT_EQ(found.damage.size(), 1U) << change;
        EXPECT_NE(found.damage[0].find("is not behind the one before it"), std::string::npos) << found.damage[0];
        EXPECT_THROW(
            {
                journal::log_store log{file("damaged")};
                log.read_groups([](std::string_view) {});
            },
            journal::log_store_error)
            << change;
    }
}

TEST_F(log_damage, files_that_are_not_logs_are_named) {
    const auto says = [this](const std::string& name) {
        try {
            static_cast<void>(check_log(file(name)));
            return std::string{};
        } catch (const std::runtime_error& e) {
            return std::string{e.what()};
        }
    };
    write("empty", "");
    EXPECT_NE(says("empty").find("is empty: no server has written a log there"), std::string::npos) << says("empty");
    write("text", std::string(4096, 'x'));
    EXPECT_NE(says("text").find("is not the log of a server"), std::string::npos) << says("text");
    EXPECT_NE(says("absent").find("no such log"), std::string::npos) << says("absent");
}

/// Checks the calls before the damage, and the copies of the original files.
TEST_F(log_damage, a_repair_keeps_intact_records) {
    EXPECT_EQ(repair_log(file("killed")).kept_as, "");
    EXPECT_EQ(check_log(file("killed")).end, calls + 1);
    const std::size_t frames = (bytes_of("killed-wal").size() - 32) / (8192 + 24);
    std::uint64_t most = 0;
    for (std::size_t n = 0; n + 4 < frames; n += most == 0 ? 1 : 3) {
        copy("killed", "damaged");
        std::string bytes = bytes_of("damaged-wal");
        bytes[32 + n * (8192 + 24) + 24 + 77] ^= 4;
        write("damaged-wal", bytes);
        EXPECT_FALSE(check_log(file("damaged")).damage.empty());
        log_repair done;
        try {
            done = repair_log(file("damaged"));
        } catch (const std::runtime_error& e) {
            EXPECT_EQ(most, 0U) << "frame " << n;  // this frame created the tables
            EXPECT_NE(std::string{e.what()}.find("its beginning cannot be read"), std::string::npos)
                << e.what() << ": frame " << n;
            EXPECT_EQ(bytes_of("damaged-wal"), bytes);
            EXPECT_FALSE(std::filesystem::exists(file("damaged-repaired"))) << "frame " << n;
            continue;
        }
        EXPECT_TRUE(done.now.damage.empty());
        EXPECT_EQ(done.lost_upto, calls);
        EXPECT_LE(done.now.end, calls) << "frame " << n;
        EXPECT_GE(done.now.end, most + 1);
        most = done.now.end - 1;
        EXPECT_EQ(found_in("damaged"), most) << refusal;
        const std::string kept = done.kept_as.substr(folder_.size() + 1);
        EXPECT_EQ(bytes_of(kept + "-wal"), bytes);
        remove_log(kept);
    }
    EXPECT_GT(most, calls / 2);
}

TEST_F(log_damage, a_repaired_log_can_be_continued) {
    copy("ended", "damaged");
    std::string bytes = bytes_of("damaged");
    for (std::size_t page = 1; page * 8192 < bytes.size(); ++page) {
        copy("ended", "damaged");
        std::string now = bytes;
        now[page * 8192 + 5000] ^= 1;
        write("damaged", now);
        log_repair done;
        try {
            done = repair_log(file("damaged"));
        } catch (const std::runtime_error& e) {
            // All other pages depend on this page. The repair has changed nothing.
            EXPECT_EQ(bytes_of("damaged"), now);
            continue;
        }
        {
            journal::log_store log{file("damaged")};
            const std::uint64_t next = log.end();
            log.add(std::vector{journal::group{.first = next, .last = next, .records = record_of(next)}}, true);
        }
        EXPECT_EQ(found_in("damaged"), done.now.end) << refusal;
        remove_log(done.kept_as.substr(folder_.size() + 1));
    }
}

}  // namespace
}  // namespace tutti::server
