#include "server/journal/log_store.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <utility>

#include "server/journal/checked_pages.hpp"
#include "server/journal/statement.hpp"

namespace tutti::server::journal {
void log_store::fail(const std::string& doing) { fail(doing, sqlite3_extended_errcode(db_), sqlite3_errmsg(db_)); }

void log_store::fail(const std::string& doing, int code, const std::string& why) {
    const int kind = code & 0xff;
    if (code == SQLITE_IOERR_DATA) throw_damaged_page();
    if (kind == SQLITE_CORRUPT) throw_damage(why, std::nullopt);
    if (kind == SQLITE_NOTADB && known_.end > 1) throw_damage("its first page is not that of a database", std::nullopt);
    // A failed write leaves nothing behind, whatever the reason, so it can be repeated. After a failed fsync, pages may
    // be lost although the system counts them as written.
    const bool again = code != SQLITE_IOERR_FSYNC && code != SQLITE_IOERR_DIR_FSYNC && code != SQLITE_IOERR_CLOSE &&
                       (kind == SQLITE_FULL || kind == SQLITE_IOERR || kind == SQLITE_BUSY || kind == SQLITE_NOMEM ||
                        kind == SQLITE_TOOBIG);
    if (kind == SQLITE_BUSY) throw log_store_error{"the log " + file_ + " is in use by another process", false};
    if (kind == SQLITE_NOTADB) throw log_store_error{file_ + " is not the log of a server: " + why, false};
    throw log_store_error{"the log " + file_ + " cannot " + doing + ": " + why, again};
}

void log_store::run(const char* sql) {
    if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail("be set up");
}

std::uint64_t log_store::number(const char* sql) {
    statement s{*this, sql};
    return s.step("be read") ? s.number(0) : 0;
}

log_store::~log_store() { close(); }

void log_store::close() noexcept {
    for (sqlite3_stmt** const s : {&begin_, &commit_, &add_group_, &add_reply_})
        sqlite3_finalize(std::exchange(*s, nullptr));
    // On close, SQLite removes its WAL, so that only the database remains.
    std::uint64_t pages = 0;
    try {
        if (std::exchange(database_, std::nullopt)) {
            durable_end_.forget_pages();
            if (checkpoint_wal()) pages = sum_of_pages(db_);
        }
    } catch (const log_store_error&) {
        // The file -end on the disk still describes the current pages. So SQLite must not move its WAL into the
        // database on close, because the move would change these pages.
        sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    }
    if (sqlite3_close(std::exchange(db_, nullptr)) == SQLITE_OK && pages != 0)
        durable_end_.record({.end = durable_end_.end(), .pages = pages});
}

/// Records that everything before `end`, and every completed transaction, is on the disk.
void log_store::record_end(std::uint64_t end) noexcept {
    durable_end_.record({.end = end,
                         .pages = sum_of_pages(db_),
                         .wal_salts = wal_salts(db_),
                         .wal_frames = static_cast<std::uint64_t>(wal_pages_)});
}

/// Checkpoints SQLite's WAL. REQUIRES: forget_pages() has been called.
bool log_store::checkpoint_wal() noexcept {
    if (sqlite3_wal_checkpoint_v2(db_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr) != SQLITE_OK) return false;
    wal_pages_ = 0;  // the log no longer needs the frames of SQLite's WAL
    return true;
}

/// Runs `what` as one transaction: all of it takes effect, or nothing.
void log_store::change(const std::function<void()>& what) {
    statement{*this, begin_, "BEGIN IMMEDIATE"}.step("be written");
    try {
        what();
        statement{*this, commit_, "COMMIT"}.step("be written");
    } catch (...) {
        if (sqlite3_get_autocommit(db_) == 0) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
        throw;
    }
}

/// From now on, each transaction is on the disk when the function that commits it returns.
void log_store::write_through() { synchronize(true); }

/// Runs `what` as one transaction that is on the disk on return, and records it in -end.
void log_store::change_durably(const std::function<void()>& what) {
    write_through();
    change(what);
    record_all();
}

/// Records in -end that a transaction, and everything before it, is on the disk. Must not fail, because the transaction
/// is already complete.
void log_store::record_all() noexcept { record_end(readable_end().value_or(durable_end_.end())); }

void log_store::add_answers(const std::vector<stored_reply>& answers, std::uint64_t group) {
    for (const stored_reply& a : answers) {
        statement{*this, add_reply_, "INSERT OR REPLACE INTO answers VALUES(?, ?, ?, ?, ?)"}
            .bind(a.key)
            .bind(a.call)
            .bind(a.answer)
            .bind(static_cast<std::uint64_t>(a.at))
            .bind(group)
            .step("be written");
    }
}

void log_store::synchronize(bool sync) {
    if (sync == synchronous_) return;
    // With NORMAL, SQLite syncs only when it moves its WAL into the database. With FULL, SQLite syncs each transaction,
    // and so everything before the transaction.
    run(sync ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
    synchronous_ = sync;
}

void log_store::add_groups(std::span<const group> groups) {
    for (const group& g : groups) {
        statement{*this, add_group_, "INSERT INTO calls VALUES(?, ?, ?, ?, 1)"}
            .bind(g.first)
            .bind(g.last)
            .bind(checksum(g.records))
            .bind(g.records)
            .step("be written");
        add_answers(g.answers, g.first);
    }
}

void log_store::add(std::span<const group> groups, bool sync) {
    synchronize(sync);
    change([&] { add_groups(groups); });
    if (sync && !groups.empty()) record_end(groups.back().last + 1);
    count(groups);
}

void log_store::count(std::span<const group> groups) noexcept {
    if (!bytes_) return;
    try {
        for (const group& g : groups) bytes_->add(g.first, g.records.size());
    } catch (const std::bad_alloc&) {
        bytes_.reset();  // recomputed from the file when needed
    }
}

void log_store::checkpoint_if_long() {
    constexpr int many = 2000;
    if (wal_pages_ < many) return;
    durable_end_.forget_pages();
    if (!checkpoint_wal()) fail("be brought up to date");
    record_end(durable_end_.end());
}

void log_store::forget_answers(std::int64_t before, std::size_t max_answers) {
    change([&] {
        statement{*this, "DELETE FROM answers WHERE at < ?"}
            .bind(static_cast<std::uint64_t>(before))
            .step("be written");
        statement{*this,
                  "DELETE FROM answers WHERE key IN"
                  " (SELECT key FROM answers ORDER BY at DESC LIMIT -1 OFFSET ?)"}
            .bind(std::uint64_t{max_answers})
            .step("be written");
    });
}

std::uint64_t log_store::snapshot_position() { return number("SELECT of_snapshot FROM position"); }

std::uint64_t log_store::end() {
    const std::uint64_t last = number("SELECT last FROM calls ORDER BY first DESC LIMIT 1");
    return std::max(last + 1, snapshot_position());
}

std::uint64_t log_store::bytes() {
    return number("SELECT sum(length(records)) FROM calls, position WHERE last >= of_snapshot");
}

void log_store::read_snapshot(const std::function<void(std::string_view)>& take) {
    statement each{*this, "SELECT checksum, part, kind FROM snapshot ORDER BY number"};
    while (each.step("be read")) {
        if (!each.is_whole(1, 0, 2)) throw_damage("a part of its snapshot does not have its checksum", std::nullopt);
        take(each.bytes(1));
    }
}

void log_store::read_groups(const std::function<void(std::string_view)>& take) {
    statement each{
        *this,
        "SELECT first, checksum, records, kind, last FROM calls, position WHERE last >= of_snapshot ORDER BY first"};
    for (std::uint64_t next = 0; each.step("be read"); next = each.number(4) + 1) {
        require_order(next, each.number(0), each.number(4));
        if (!each.is_whole(2, 1, 3)) throw_damaged_group(each.number(0));
        take(each.bytes(2));
    }
}

void log_store::read_answers(const std::function<void(const stored_reply&)>& take) {
    statement each{*this, "SELECT key, call, answer, at FROM answers ORDER BY at"};
    while (each.step("be read")) take(each.answer());
}

std::optional<std::int64_t> log_store::latest_reply_time() {
    statement latest{*this, "SELECT at FROM answers ORDER BY at DESC LIMIT 1"};
    if (!latest.step("be read")) return std::nullopt;
    return static_cast<std::int64_t>(latest.number(0));
}

}  // namespace tutti::server::journal
