#include "server/journal/store.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "server/journal/statement.hpp"

namespace tutti::server::journal {
namespace {

constexpr int application = 0x54755474;  // "TuTt"
// Logs of earlier formats are brought up to date: what they have stays as it is, with checksums of their kind.
constexpr std::uint64_t format = 3;
constexpr std::uint64_t format_without_kinds = 2;  // of checksums
constexpr std::uint64_t format_without_followers = 1;
constexpr int beside_bytes = 1024;  // of a row: its numbers, and what SQLite says of its columns

/// How many frames SQLite's own log holds that were written since it was last begun anew: those that carry the salt of
/// its header. What lies behind is of an earlier turn. (The format is documented at sqlite.org/fileformat2.html, 4.1.)
std::uint64_t frames_in(const std::string& log) {
    constexpr std::size_t header = 32, frame_header = 24;
    std::ifstream from{log, std::ios::binary};
    unsigned char head[header];
    if (!from.read(reinterpret_cast<char*>(head), sizeof head)) return 0;
    const auto big_endian = [](const unsigned char* at) {
        return (std::uint32_t{at[0]} << 24) | (std::uint32_t{at[1]} << 16) | (std::uint32_t{at[2]} << 8) | at[3];
    };
    const std::uint32_t page = big_endian(head + 8);
    std::uint64_t frames = 0;
    unsigned char one[frame_header];
    while (from.read(reinterpret_cast<char*>(one), sizeof one) && std::memcmp(one + 8, head + 16, 8) == 0) {
        ++frames;
        from.seekg(page, std::ios::cur);
    }
    return frames;
}

}  // namespace

void store::fail(const std::string& doing) { fail(doing, sqlite3_extended_errcode(db_), sqlite3_errmsg(db_)); }

void store::fail(const std::string& doing, int code, const std::string& why) {
    const int kind = code & 0xff;
    // A write that failed has left nothing behind, whatever the reason. An fsync that failed may have lost pages that
    // the system counts as written from then on.
    const bool again = code != SQLITE_IOERR_FSYNC && code != SQLITE_IOERR_DIR_FSYNC && code != SQLITE_IOERR_CLOSE &&
                       (kind == SQLITE_FULL || kind == SQLITE_IOERR || kind == SQLITE_BUSY || kind == SQLITE_NOMEM ||
                        kind == SQLITE_TOOBIG);
    if (kind == SQLITE_BUSY) throw store_error{"the log " + file_ + " is in use by another process", false};
    if (kind == SQLITE_NOTADB) throw store_error{file_ + " is no log of a server: " + why, false};
    throw store_error{"the log " + file_ + " cannot " + doing + ": " + why, again};
}

void store::run(const char* sql) {
    if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail("be set up");
}

std::uint64_t store::number(const char* sql) {
    statement s{*this, sql};
    return s.step("be read") ? s.number(0) : 0;
}

store::store(const std::string& file) : file_{file} {
    look_at_tail();
    try {
        const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
        if (sqlite3_open_v2(file.c_str(), &db_, flags, nullptr) != SQLITE_OK) fail("be opened");
        sqlite3_extended_result_codes(db_, 1);
        longest_ = static_cast<std::size_t>(sqlite3_limit(db_, SQLITE_LIMIT_LENGTH, -1) - beside_bytes);
        // One process, so no shared memory. The lock is taken by the first access.
        run("PRAGMA locking_mode=EXCLUSIVE");
        run("PRAGMA page_size=8192");
        const bool fresh = number("PRAGMA schema_version") == 0;
        if (!fresh && number("PRAGMA application_id") != application)
            throw store_error{file + " is a database, but no log of a server", false};
        const auto written_in = fresh ? std::uint64_t{0} : number("PRAGMA user_version");
        if (!fresh && (written_in < format_without_followers || written_in > format)) {
            throw store_error{file + " was written by another version, in format " + std::to_string(written_in) +
                                  " and not " + std::to_string(format) + " or an earlier one",
                              false};
        }
        run("PRAGMA journal_mode=WAL");
        run("PRAGMA synchronous=FULL");
        synchronous_ = true;
        // Not by itself: an fsync that fails there must not go unnoticed.
        run("PRAGMA wal_autocheckpoint=0");
        sqlite3_wal_hook(
            db_,
            [](void* pages, sqlite3*, const char*, int now) {
                *static_cast<int*>(pages) = now;
                return SQLITE_OK;
            },
            &pages_of_log_);
        run("PRAGMA cache_size=-4096");
        if (written_in != format) {
            run("BEGIN IMMEDIATE");
            if (fresh) {
                run("CREATE TABLE calls(first INTEGER PRIMARY KEY, last INTEGER NOT NULL, checksum INTEGER NOT NULL,"
                    " records BLOB NOT NULL);"
                    "CREATE TABLE answers(key BLOB PRIMARY KEY, call INTEGER NOT NULL, answer BLOB NOT NULL,"
                    " at INTEGER NOT NULL) WITHOUT ROWID;"
                    "CREATE TABLE snapshot(number INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, part BLOB NOT NULL);"
                    "CREATE TABLE position(one INTEGER PRIMARY KEY CHECK(one = 1), of_snapshot INTEGER NOT NULL);"
                    "INSERT INTO position VALUES(1, 1);");
            }
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
            // Of a checksum. At the end and 0 or 1, so that it takes no walk over the bytes before it.
            run("ALTER TABLE calls ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;"
                "ALTER TABLE snapshot ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;");
            run(("PRAGMA application_id=" + std::to_string(application)).c_str());
            run(("PRAGMA user_version=" + std::to_string(format)).c_str());
            run("COMMIT");
        }
        // Of the same format: an earlier version does without them.
        run("CREATE TABLE IF NOT EXISTS follower(one INTEGER PRIMARY KEY CHECK(one = 1), id INTEGER NOT NULL);"
            "CREATE TABLE IF NOT EXISTS former_leaders(host BLOB NOT NULL, port INTEGER NOT NULL, user BLOB NOT NULL,"
            " tls_authority BLOB NOT NULL, PRIMARY KEY(host, port)) WITHOUT ROWID;");
        if (frames_of_log_ != 0) {
            // The first checkpoint says how many frames SQLite found to be complete.
            int frames = 0, done = 0;
            if (sqlite3_wal_checkpoint_v2(db_, nullptr, SQLITE_CHECKPOINT_PASSIVE, &frames, &done) != SQLITE_OK)
                fail("be brought up to date");
            const auto complete = static_cast<std::uint64_t>(frames);
            if (complete < frames_of_log_) {
                findings_.push_back("the end of the log " + file_ +
                                    " was torn: " + std::to_string(frames_of_log_ - complete) +
                                    " pages of a group that was never acknowledged as written were cut off");
            }
        }
    } catch (...) {
        sqlite3_close(db_);
        throw;
    }
}

void store::look_at_tail() { frames_of_log_ = frames_in(file_ + "-wal"); }

store::~store() {
    for (sqlite3_stmt* const s : {begin_, commit_, add_, keep_}) sqlite3_finalize(s);
    sqlite3_close(db_);
}

/// All of `what` or nothing.
void store::change(const std::function<void()>& what) {
    statement{*this, begin_, "BEGIN IMMEDIATE"}.step("be written");
    try {
        what();
        statement{*this, commit_, "COMMIT"}.step("be written");
    } catch (...) {
        if (sqlite3_get_autocommit(db_) == 0) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
        throw;
    }
}

/// What is changed next is on the disk when it returns.
void store::write_through() { synchronize(true); }

void store::tell_damage(std::uint64_t position) {
    throw store_error{
        "the log " + file_ + " is damaged at call " + std::to_string(position) + ": restore the file from a copy",
        false};
}

void store::add_answers(const std::vector<kept_answer>& answers, std::uint64_t group) {
    for (const kept_answer& a : answers) {
        statement{*this, keep_, "INSERT OR REPLACE INTO answers VALUES(?, ?, ?, ?, ?)"}
            .bind(a.key)
            .bind(a.call)
            .bind(a.answer)
            .bind(static_cast<std::uint64_t>(a.at))
            .bind(group)
            .step("be written");
    }
}

void store::add_part(std::uint64_t number, std::string_view part) {
    statement{*this, "INSERT INTO snapshot VALUES(?, ?, ?, 1)"}
        .bind(number)
        .bind(checksum(part))
        .bind(part)
        .step("be written");
}

void store::synchronize(bool sync) {
    if (sync == synchronous_) return;
    // NORMAL: nothing is synced but where SQLite moves its own log into the file. FULL: this, and what was before.
    run(sync ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
    synchronous_ = sync;
}

void store::add_groups(std::span<const group> groups) {
    for (const group& g : groups) {
        statement{*this, add_, "INSERT INTO calls VALUES(?, ?, ?, ?, 1)"}
            .bind(g.first)
            .bind(g.last)
            .bind(checksum(g.records))
            .bind(g.records)
            .step("be written");
        add_answers(g.answers, g.first);
    }
}

void store::add(std::span<const group> groups, bool sync) {
    synchronize(sync);
    change([&] { add_groups(groups); });
    count(groups);
}

void store::count(std::span<const group> groups) noexcept {
    if (!bytes_) return;
    try {
        for (const group& g : groups) bytes_->add(g.first, g.records.size());
    } catch (const std::bad_alloc&) {
        bytes_.reset();  // for now: they are in the file
    }
}

/// The end of a log that goes as far as to `position`. What was drawn behind its last call, by calls that were rolled
/// back, is in nobody's log: a start draws it again, and no log has gone another way for want of it.
std::uint64_t store::end_before(std::uint64_t position) {
    statement last{*this, "SELECT last FROM calls WHERE last < ? ORDER BY first DESC LIMIT 1"};
    return last.bind(position).step("be read") ? last.number(0) + 1 : 1;
}

void store::replace_snapshot(const snapshot& s, std::uint64_t kept_bytes) {
    const std::uint64_t old = snapshot_position(), position = std::max(old, end_before(s.position));
    if (position == old) return;  // a follower may be copying the one that is there, piece by piece
    write_through();
    std::uint64_t dropped = 0;  // the last position of the newest group that goes
    change([&] {
        statement{*this, "DELETE FROM snapshot"}.step("be written");
        std::uint64_t number = 0;
        for (const std::string& p : s.parts) add_part(++number, p);
        {
            statement each{*this, "SELECT last, length(records) FROM calls WHERE last < ? ORDER BY first DESC"};
            each.bind(position);
            for (std::uint64_t bytes = 0; dropped == 0 && each.step("be read");) {
                bytes += each.number(1);
                if (bytes > kept_bytes) dropped = each.number(0);
            }
        }
        statement{*this, "UPDATE position SET of_snapshot = ?, kept_from = max(kept_from, ?)"}
            .bind(position)
            .bind(dropped + 1)
            .step("be written");
        statement{*this, "DELETE FROM calls WHERE last <= ?"}.bind(dropped).step("be written");
    });
    if (bytes_) bytes_->drop_before(dropped + 1);
}

void store::tidy() {
    constexpr int many = 2000;
    if (pages_of_log_ < many) return;
    if (sqlite3_wal_checkpoint_v2(db_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr) != SQLITE_OK)
        fail("be brought up to date");
    pages_of_log_ = 0;
}

void store::forget_answers(std::int64_t before, std::size_t most) {
    change([&] {
        statement{*this, "DELETE FROM answers WHERE at < ?"}
            .bind(static_cast<std::uint64_t>(before))
            .step("be written");
        statement{*this,
                  "DELETE FROM answers WHERE key IN"
                  " (SELECT key FROM answers ORDER BY at DESC LIMIT -1 OFFSET ?)"}
            .bind(std::uint64_t{most})
            .step("be written");
    });
}

std::uint64_t store::snapshot_position() { return number("SELECT of_snapshot FROM position"); }

std::uint64_t store::end() {
    const std::uint64_t last = number("SELECT last FROM calls ORDER BY first DESC LIMIT 1");
    return std::max(last + 1, snapshot_position());
}

std::uint64_t store::bytes() {
    return number("SELECT sum(length(records)) FROM calls, position WHERE last >= of_snapshot");
}

void store::read_snapshot(const std::function<void(std::string_view)>& take) {
    statement each{*this, "SELECT checksum, part, kind FROM snapshot ORDER BY number"};
    while (each.step("be read")) {
        if (!each.is_whole(1, 0, 2))
            throw store_error{"the snapshot in " + file_ + " is damaged: restore the file from a copy", false};
        take(each.bytes(1));
    }
}

void store::read_groups(const std::function<void(std::string_view)>& take) {
    statement each{
        *this, "SELECT first, checksum, records, kind FROM calls, position WHERE last >= of_snapshot ORDER BY first"};
    while (each.step("be read")) {
        if (!each.is_whole(2, 1, 3)) tell_damage(each.number(0));
        take(each.bytes(2));
    }
}

void store::read_answers(const std::function<void(const kept_answer&)>& take) {
    statement each{*this, "SELECT key, call, answer, at FROM answers ORDER BY at"};
    while (each.step("be read")) take(each.answer());
}

}  // namespace tutti::server::journal
