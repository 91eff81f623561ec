// Opens the file of the log: checks what it contains and whether it is intact, and converts logs of earlier versions.
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "server/journal/checked_pages.hpp"
#include "server/journal/replace_file.hpp"
#include "server/journal/statement.hpp"

namespace tutti::server::journal {
namespace {

constexpr int application = 0x54755474;  // "TuTt"
// The store converts logs of earlier formats. The rows of such a log stay unchanged, and keep the kind of checksum of
// their format.
constexpr std::uint64_t format = 4;
constexpr std::uint64_t format_without_checked_pages = 3;
constexpr std::uint64_t format_without_kinds = 2;  // without kinds of checksums
constexpr std::uint64_t format_without_followers = 1;
constexpr std::uint32_t page_bytes = 8192;
// the bytes of a row other than its contents: its numbers, and SQLite's description of its columns
constexpr int beside_bytes = 1024;

}  // namespace

log_store::log_store(const std::string& file, damage_policy how)
    : file_{file}, damage_policy_{how}, durable_end_{file + "-end"} {
    const std::optional<durable_log_state> known = durable_end_.read();
    known_ = known.value_or(durable_log_state{});
    std::error_code none;
    const std::uintmax_t bytes = std::filesystem::file_size(file, none);
    const bool had_pages = !none && bytes != 0;
    try {
        check_database_exists(read_write_ahead_log(file + "-wal", page_bytes).frames);
        open();
        const bool fresh = number("PRAGMA schema_version") == 0;
        if (!fresh && number("PRAGMA application_id") != application)
            throw log_store_error{file + " is a database, but not the log of a server", false};
        const auto written_in = fresh ? std::uint64_t{0} : number("PRAGMA user_version");
        if (!fresh && (written_in < format_without_followers || written_in > format)) {
            throw log_store_error{file + " was written by a newer version, in format " + std::to_string(written_in) +
                                      "; this version reads formats up to " + std::to_string(format),
                                  false};
        }
        // Reads SQLite's WAL again, now that the file is locked.
        const write_ahead_log wal = read_write_ahead_log(file + "-wal", page_bytes);
        if (written_in == format && !has_checksums(db_)) record_damage("its first page is damaged");
        if (!fresh && written_in == format) find_mixture(wal);
        find_damage(wal, fresh ? 1 : readable_end());
        if (damage_policy_ == damage_policy::report) {
            if (!fresh && written_in <= format_without_kinds) {
                throw log_store_error{file +
                                          " was written by an earlier version; the next start of a server with this "
                                          "log upgrades its format",
                                      false};
            }
            return;
        }
        if (!known && (fresh ? had_pages : written_in == format)) {
            findings_.push_back(file_ + "-end is missing or empty: it records how much of the log " + file_ +
                                " was on the disk. A start without it cannot tell whether calls are missing at the "
                                "end. Compare the log with a replica");
        }
        durable_end_.forget_pages();
        finish_wal(wal);
        run("PRAGMA journal_mode=WAL");
        if (fresh) create();
        else if (written_in != format) upgrade_format(written_in);
        // These tables do not change the format, because an earlier version ignores them.
        run("CREATE TABLE IF NOT EXISTS follower(one INTEGER PRIMARY KEY CHECK(one = 1), id INTEGER NOT NULL);"
            "CREATE TABLE IF NOT EXISTS former_leaders(host BLOB NOT NULL, port INTEGER NOT NULL, user BLOB NOT NULL,"
            " tls_authority BLOB NOT NULL, PRIMARY KEY(host, port)) WITHOUT ROWID;"
            "CREATE TABLE IF NOT EXISTS handed_over(one INTEGER PRIMARY KEY CHECK(one = 1), leads INTEGER NOT NULL,"
            " host BLOB NOT NULL, port INTEGER NOT NULL);"
            "CREATE TABLE IF NOT EXISTS redirection(one INTEGER PRIMARY KEY CHECK(one = 1), from_host BLOB NOT NULL,"
            " from_port INTEGER NOT NULL, to_host BLOB NOT NULL, to_port INTEGER NOT NULL);"
            "CREATE TABLE IF NOT EXISTS next_snapshot(number INTEGER PRIMARY KEY, checksum INTEGER NOT NULL,"
            " part BLOB NOT NULL, kind INTEGER NOT NULL DEFAULT 0);");
        sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
        database_ = identity_of(file_);
        record_end(end());
    } catch (...) {
        close();
        throw;
    }
}

void log_store::open() {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (damage_policy_ != damage_policy::report) make_with_mode(file_, mode_of_logs);
    if (sqlite3_open_v2(file_.c_str(), &db_, flags, checked_pages()) != SQLITE_OK) fail("be opened");
    sqlite3_extended_result_codes(db_, 1);
    // Until the log is known to be intact, SQLite must not move or remove any part of the log.
    sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    max_piece_bytes_ = static_cast<std::size_t>(sqlite3_limit(db_, SQLITE_LIMIT_LENGTH, -1) - beside_bytes);
    // Only one process uses the file, so SQLite needs no shared memory. The first access locks the file.
    run("PRAGMA locking_mode=EXCLUSIVE");
    run(("PRAGMA page_size=" + std::to_string(page_bytes)).c_str());
    reserve_checksums(db_);
    run("PRAGMA synchronous=FULL");
    synchronous_ = true;
    // The store itself moves SQLite's WAL into the database, so that the store notices a failed fsync of this move.
    run("PRAGMA wal_autocheckpoint=0");
    sqlite3_wal_hook(
        db_,
        [](void* pages, sqlite3*, const char*, int now) {
            *static_cast<int*>(pages) = now;
            return SQLITE_OK;
        },
        &wal_pages_);
    run("PRAGMA cache_size=-4096");
}

/// Throws if the database is missing or empty, but files that belong to it show that it had content. SQLite would
/// remove the WAL of an empty database. If only -end is left, the store begins a new log and reports how many calls
/// were lost.
void log_store::check_database_exists(std::uint64_t frames) {
    std::error_code none;
    const auto bytes = std::filesystem::file_size(file_, none);
    if (!none && bytes != 0) return;
    const std::uint64_t calls = known_.end - 1;
    if (frames != 0 || (!none && calls != 0)) {
        throw log_store_error{
            "the log " + file_ + " is " + (none ? "missing" : "empty") + ", but " +
                (frames != 0 ? file_ + "-wal belongs to it" : file_ + "-end records that calls were in it") +
                ": restore it, fetch the log from a replica, or remove " + file_ +
                ", -wal and -end to "
                "begin a new one",
            false};
    }
    if (calls == 0) return;
    findings_.push_back("the log " + file_ + " was removed; " + std::to_string(calls) + " calls were in it, as " +
                        file_ + "-end says. A new log begins");
    durable_end_.lower(1);
    known_.end = 1;
}

void log_store::create() {
    change([this] {
        run("CREATE TABLE calls(first INTEGER PRIMARY KEY, last INTEGER NOT NULL, checksum INTEGER NOT NULL,"
            " records BLOB NOT NULL);"
            "CREATE TABLE answers(key BLOB PRIMARY KEY, call INTEGER NOT NULL, answer BLOB NOT NULL,"
            " at INTEGER NOT NULL) WITHOUT ROWID;"
            "CREATE TABLE snapshot(number INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, part BLOB NOT NULL);"
            "CREATE TABLE position(one INTEGER PRIMARY KEY CHECK(one = 1), of_snapshot INTEGER NOT NULL);"
            "INSERT INTO position VALUES(1, 1);");
        add_missing_tables(0);
        run(("PRAGMA application_id=" + std::to_string(application)).c_str());
        set_format(format);
    });
}

void log_store::add_missing_tables(std::uint64_t written_in) {
    if (written_in < format_without_kinds) {
        run("CREATE TABLE branches(number INTEGER PRIMARY KEY, term INTEGER NOT NULL, id INTEGER NOT NULL,"
            " first INTEGER NOT NULL);"
            "CREATE TABLE heard(one INTEGER PRIMARY KEY CHECK(one = 1), term INTEGER NOT NULL);"
            "INSERT INTO heard VALUES(1, 0);"
            "ALTER TABLE position ADD COLUMN kept_from INTEGER NOT NULL DEFAULT 1;"
            "UPDATE position SET kept_from = of_snapshot;"
            "ALTER TABLE answers ADD COLUMN of_group INTEGER NOT NULL DEFAULT 0;"
            "CREATE INDEX answers_of_groups ON answers(of_group);");
    }
    if (written_in < format_without_checked_pages) {
        // The column is the kind of the checksum. It is the last column, with the value 0 or 1, so that SQLite reads it
        // without reading the columns before it.
        run("ALTER TABLE calls ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;"
            "ALTER TABLE snapshot ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;");
    }
}

void log_store::set_format(std::uint64_t number) { run(("PRAGMA user_version=" + std::to_string(number)).c_str()); }

void log_store::upgrade_format(std::uint64_t written_in) {
    change([&] {
        add_missing_tables(written_in);
        set_format(format_without_checked_pages);
    });
    if (!has_checksums(db_)) rewrite();
    set_format(format);
}

/// Replaces a file by one with checked pages. VACUUM in place would not work: after a crash, SQLite would restore pages
/// that have no room for a checksum.
void log_store::rewrite() {
    const std::string anew = file_ + "-new";
    std::filesystem::remove(anew);
    run("PRAGMA journal_mode=DELETE");  // SQLite would use a remaining WAL as the WAL of the new file
    wal_pages_ = 0;
    make_with_mode(anew, mode_of_drafts);
    statement{*this, "VACUUM INTO ?"}.bind_text(anew).step("be brought up to date");
    close();
    replace_file(file_, anew);
    open();
    run("PRAGMA journal_mode=WAL");
}

std::optional<log_store::identity> log_store::identity_of(const std::string& file) noexcept {
    struct ::stat about{};
    if (::stat(file.c_str(), &about) != 0) return std::nullopt;
    return identity{about.st_dev, about.st_ino};
}

void log_store::check_names() {
    if (!wal_) wal_ = identity_of(file_ + "-wal");
    const bool is_there = identity_of(file_) == database_;
    if (is_there && (!wal_ || identity_of(file_ + "-wal") == wal_)) return;
    throw log_store_error{
        "the log " + file_ + (is_there ? "-wal" : "") +
            " was removed, renamed or replaced while the server runs: put back the file that the server "
            "has, under its name. A start would not find what is written now",
        true};
}

void log_store::find_damage(const write_ahead_log& wal, std::optional<std::uint64_t> end) {
    if (wal.is_damaged()) {
        record_damage("its own log, " + file_ + "-wal, is not whole at byte " + std::to_string(wal.first_bad) +
                      ", and " + std::to_string(wal.later) + " whole pages of later groups follow");
    }
    find_lost_frames(wal);
    find_damaged_page();
    if (end && *end < known_.end) {
        record_damage("it ends before call " + std::to_string(*end) + ", and the calls up to " +
                      std::to_string(known_.end - 1) + " were on the disk");
    }
}

/// Detects that SQLite's WAL lacks a transaction that was on the disk, including one without calls. While the sum of
/// the pages is unknown, the transaction may not be lost: SQLite may have moved its WAL into the database, and removed
/// or restarted the WAL.
void log_store::find_lost_frames(const write_ahead_log& wal) {
    if (known_.wal_frames == 0 || wal.complete >= known_.wal_frames) return;
    const bool is_same_turn = wal.salts == known_.wal_salts;
    const bool is_gone = wal.salts == 0 && known_.pages != 0;
    if (!is_same_turn && !is_gone) return;
    record_damage("its own log, " + file_ + "-wal, has " + std::to_string(wal.complete) + " whole pages, and " +
                  std::to_string(known_.wal_frames) + " were on the disk");
}

/// Detects that the three files do not belong together. A damaged page also changes the sum of the pages, but another
/// check reports that page.
void log_store::find_mixture(const write_ahead_log& wal) {
    const bool is_other_log =
        known_.wal_salts != 0 && wal.salts != 0 && wal.frames != 0 && !may_come_after(known_.wal_salts, wal.salts);
    const bool is_other_file = known_.pages != 0 && sum_of_pages(db_) != known_.pages && all_pages_are_intact(db_);
    if (!is_other_log && !is_other_file) return;
    is_mixed_ = true;
    record_damage("its files do not belong together: " + file_ + (is_other_log ? "-wal" : "") +
                  " is not the one that " + file_ +
                  "-end was written beside. One of them is of another log, or of an earlier time");
}

void log_store::find_damaged_page() {
    try {
        statement check{*this, "PRAGMA quick_check(1)"};
        if (!check.step("be read")) return;
        if (const std::string_view found = check.bytes(0); found != "ok") record_damage(std::string{found});
    } catch (const log_store_error& e) {
        if (damage_policy_ == damage_policy::refuse) throw;
        damage_.emplace_back(e.what());
    }
}

void log_store::record_damage(const std::string& what) {
    if (damage_policy_ == damage_policy::refuse) throw_damage(what, readable_end());
    damage_.push_back(what);
}

std::optional<std::uint64_t> log_store::readable_end() noexcept {
    try {
        return end();
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

std::uint64_t log_store::last_known_call() {
    std::uint64_t last = known_.end - 1;
    try {
        last = std::max(last, number("SELECT max(last) FROM calls"));
    } catch (const log_store_error&) {
        // This part of the file cannot be read, so the last known call is the one before the end that -end records.
    }
    return last;
}

void log_store::throw_damage(const std::string& what, std::optional<std::uint64_t> first_lost) {
    throw log_store_error{
        "the log " + file_ + " is damaged: " + what +
            (first_lost ? ". Call " + std::to_string(*first_lost) + " is the first that cannot be read"
                        : std::string{}) +
            ". Nothing was changed. Restore the file from a copy, fetch the log from a replica (remove " + file_ +
            ", -wal and -end, and start with --follow), or keep what is whole: tutti log repair " + file_,
        false};
}

void log_store::throw_damaged_group(std::uint64_t position) {
    const std::uint64_t behind = number("SELECT max(last) FROM calls") - position;
    throw_damage("the group of call " + std::to_string(position) + " does not have its checksum, and " +
                     std::to_string(behind) + " calls follow it",
                 position);
}

/// Throws if a group begins before the end of the previous group. Pages from different times may contain such groups,
/// even if each page is intact.
void log_store::require_order(std::uint64_t next, std::uint64_t first, std::uint64_t last) {
    if (first >= next && last >= first) return;
    throw_damage("the group of the calls from " + std::to_string(first) + " to " + std::to_string(last) +
                     " is not behind the one before it",
                 std::nullopt);
}

void log_store::throw_damaged_page() {
    const std::optional<std::uint64_t> at = damaged_page(db_);
    throw_damage("the page at byte " + std::to_string(at.value_or(0)) + " does not have its checksum", std::nullopt);
}

/// Moves the complete transactions of SQLite's WAL into the database, and reports which part of the WAL was cut off.
void log_store::finish_wal(const write_ahead_log& wal) {
    if (wal.frames == 0) return;
    if (!checkpoint_wal()) fail("be brought up to date");
    if (wal.is_torn()) {
        findings_.push_back("the end of the log " + file_ + " was torn: " + std::to_string(wal.frames - wal.complete) +
                            " pages of a group that was never acknowledged as written were cut off");
    }
}

}  // namespace tutti::server::journal
