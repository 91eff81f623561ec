#include "server/journal/store.hpp"

#include <sqlite3.h>

#include <cstring>
#include <fstream>

#include "server/journal/record.hpp"

namespace tutti::server::journal {
namespace {

constexpr int application = 0x54755474;  // "TuTt"
constexpr int format = 1;
constexpr int beside_bytes = 1024;  // of a row: its numbers, and what SQLite says of its columns

std::string_view blob(sqlite3_stmt* row, int column) {
    const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(row, column));
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(row, column))};
}

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

/// A prepared statement that is bound, run and made ready again.
class store::statement {
public:
    statement(store& of, const char* sql) : of_{of} {
        if (sqlite3_prepare_v2(of.db_, sql, -1, &owned_, nullptr) != SQLITE_OK) of.fail("prepare");
        what_ = owned_;
    }
    statement(store& of, sqlite3_stmt*& kept, const char* sql) : of_{of} {
        if (kept == nullptr &&
            sqlite3_prepare_v3(of.db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &kept, nullptr) != SQLITE_OK) {
            of.fail("prepare");
        }
        what_ = kept;
    }
    ~statement() {
        sqlite3_reset(what_);
        sqlite3_finalize(owned_);
    }
    statement(const statement&) = delete;
    statement& operator=(const statement&) = delete;

    statement& bind(std::uint64_t value) {
        return checked(sqlite3_bind_int64(what_, ++bound_, static_cast<sqlite3_int64>(value)));
    }
    /// REQUIRES: the bytes live until the statement has run.
    statement& bind(std::string_view bytes) {
        if (bytes.size() > of_.longest_) {
            of_.fail(
                "be written", SQLITE_TOOBIG,
                "of " + std::to_string(bytes.size()) + " bytes in one piece; it takes " + std::to_string(of_.longest_));
        }
        return checked(sqlite3_bind_blob64(what_, ++bound_, bytes.data(), bytes.size(), SQLITE_STATIC));
    }
    /// True: there is a row.
    bool step(const char* doing) {
        const int result = sqlite3_step(what_);
        if (result == SQLITE_ROW) return true;
        if (result != SQLITE_DONE) of_.fail(doing);
        return false;
    }
    [[nodiscard]] std::uint64_t number(int column) const {
        return static_cast<std::uint64_t>(sqlite3_column_int64(what_, column));
    }
    [[nodiscard]] std::string_view bytes(int column) const { return blob(what_, column); }

private:
    /// What is not bound would be NULL.
    statement& checked(int result) {
        if (result != SQLITE_OK) of_.fail("be written", result, sqlite3_errstr(result));
        return *this;
    }

    store& of_;
    sqlite3_stmt* owned_ = nullptr;
    sqlite3_stmt* what_ = nullptr;
    int bound_ = 0;
};

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
        if (!fresh && number("PRAGMA user_version") != format) {
            throw store_error{file + " was written by another version, in format " +
                                  std::to_string(number("PRAGMA user_version")) + " and not " + std::to_string(format),
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
        if (fresh) {
            run("BEGIN IMMEDIATE;"
                "CREATE TABLE calls(first INTEGER PRIMARY KEY, last INTEGER NOT NULL, checksum INTEGER NOT NULL,"
                " records BLOB NOT NULL);"
                "CREATE TABLE answers(key BLOB PRIMARY KEY, call INTEGER NOT NULL, answer BLOB NOT NULL,"
                " at INTEGER NOT NULL) WITHOUT ROWID;"
                "CREATE TABLE snapshot(number INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, part BLOB NOT NULL);"
                "CREATE TABLE position(one INTEGER PRIMARY KEY CHECK(one = 1), of_snapshot INTEGER NOT NULL);"
                "INSERT INTO position VALUES(1, 1);");
            run(("PRAGMA application_id=" + std::to_string(application)).c_str());
            run(("PRAGMA user_version=" + std::to_string(format)).c_str());
            run("COMMIT");
        }
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

void store::add(const group& g, bool sync) {
    if (sync != synchronous_) {
        // NORMAL: nothing is synced but where SQLite moves its own log into the file. FULL: this, and what was before.
        run(sync ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
        synchronous_ = sync;
    }
    change([&] {
        statement{*this, add_, "INSERT INTO calls VALUES(?, ?, ?, ?)"}
            .bind(g.first)
            .bind(g.last)
            .bind(checksum(g.records))
            .bind(g.records)
            .step("be written");
        for (const kept_answer& a : g.answers) {
            statement{*this, keep_, "INSERT OR REPLACE INTO answers VALUES(?, ?, ?, ?)"}
                .bind(a.key)
                .bind(a.call)
                .bind(a.answer)
                .bind(static_cast<std::uint64_t>(a.at))
                .step("be written");
        }
    });
}

void store::replace_snapshot(const snapshot& s) {
    if (!synchronous_) run("PRAGMA synchronous=FULL");
    synchronous_ = true;
    change([&] {
        statement{*this, "DELETE FROM snapshot"}.step("be written");
        std::uint64_t number = 0;
        for (const std::string& p : s.parts) {
            statement{*this, "INSERT INTO snapshot VALUES(?, ?, ?)"}
                .bind(++number)
                .bind(checksum(p))
                .bind(p)
                .step("be written");
        }
        statement{*this, "UPDATE position SET of_snapshot = ?"}.bind(s.position).step("be written");
        statement{*this, "DELETE FROM calls WHERE last < ?"}.bind(s.position).step("be written");
    });
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
    const std::uint64_t last = number("SELECT max(last) FROM calls");
    return std::max(last + 1, snapshot_position());
}

std::uint64_t store::bytes() { return number("SELECT sum(length(records)) FROM calls"); }

void store::read_snapshot(const std::function<void(std::string_view)>& take) {
    statement each{*this, "SELECT checksum, part FROM snapshot ORDER BY number"};
    while (each.step("be read")) {
        if (checksum(each.bytes(1)) != each.number(0))
            throw store_error{"the snapshot in " + file_ + " is damaged: restore the file from a copy", false};
        take(each.bytes(1));
    }
}

void store::read_groups(const std::function<void(std::string_view)>& take) {
    statement each{*this, "SELECT first, checksum, records FROM calls ORDER BY first"};
    while (each.step("be read")) {
        if (checksum(each.bytes(2)) != each.number(1)) {
            throw store_error{"the log " + file_ + " is damaged at call " + std::to_string(each.number(0)) +
                                  ": restore the file from a copy",
                              false};
        }
        take(each.bytes(2));
    }
}

void store::read_answers(const std::function<void(const kept_answer&)>& take) {
    statement each{*this, "SELECT key, call, answer, at FROM answers ORDER BY at"};
    while (each.step("be read")) {
        take({std::string{each.bytes(0)}, each.number(1), std::string{each.bytes(2)},
              static_cast<std::int64_t>(each.number(3))});
    }
}

}  // namespace tutti::server::journal
