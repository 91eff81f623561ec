// Prepared statements of SQLite, used only by the log store.
#pragma once

#include <sqlite3.h>

#include <string>
#include <string_view>

#include "server/journal/checksum.hpp"
#include "server/journal/log_store.hpp"

namespace tutti::server::journal {

/// A prepared statement that you bind, run and reset.
class log_store::statement {
public:
    statement(log_store& of, const char* sql) : of_{of} {
        if (sqlite3_prepare_v2(of.db_, sql, -1, &owned_, nullptr) != SQLITE_OK) of.fail("prepare");
        what_ = owned_;
    }
    statement(log_store& of, sqlite3_stmt*& kept, const char* sql) : of_{of} {
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
    /// Binds bytes. REQUIRES: the bytes live until the statement has run.
    statement& bind(std::string_view bytes) {
        if (bytes.size() > of_.max_piece_bytes_) {
            of_.fail("be written", SQLITE_TOOBIG,
                     "of " + std::to_string(bytes.size()) + " bytes in one piece; it takes " +
                         std::to_string(of_.max_piece_bytes_));
        }
        return checked(sqlite3_bind_blob64(what_, ++bound_, bytes.data(), bytes.size(), SQLITE_STATIC));
    }
    /// Binds text, where SQLite does not accept bytes. REQUIRES: the text lives until the statement has run.
    statement& bind_text(std::string_view text) {
        return checked(sqlite3_bind_text64(what_, ++bound_, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8));
    }
    /// Runs one step. Returns true if there is a row.
    bool step(const char* doing) {
        const int result = sqlite3_step(what_);
        if (result == SQLITE_ROW) return true;
        if (result != SQLITE_DONE) of_.fail(doing);
        return false;
    }
    /// Resets the statement, so that you can bind it again.
    void again() {
        sqlite3_reset(what_);
        bound_ = 0;
    }
    [[nodiscard]] std::uint64_t number(int column) const {
        return static_cast<std::uint64_t>(sqlite3_column_int64(what_, column));
    }
    [[nodiscard]] std::string_view bytes(int column) const {
        return {static_cast<const char*>(sqlite3_column_blob(what_, column)),
                static_cast<std::size_t>(sqlite3_column_bytes(what_, column))};
    }
    /// Returns true if the bytes match their checksum of the given kind.
    [[nodiscard]] bool is_whole(int bytes_at, int checksum_at, int kind_at) const {
        return checksum(bytes(bytes_at), static_cast<checksum_kind>(number(kind_at))) == number(checksum_at);
    }
    /// Returns an answer from the columns key, call, answer and at.
    [[nodiscard]] stored_reply answer() const {
        return {std::string{bytes(0)}, number(1), std::string{bytes(2)}, static_cast<std::int64_t>(number(3))};
    }

private:
    /// Throws if binding failed, because a parameter that is not bound would be NULL.
    statement& checked(int result) {
        if (result != SQLITE_OK) of_.fail("be written", result, sqlite3_errstr(result));
        return *this;
    }

    log_store& of_;
    sqlite3_stmt* owned_ = nullptr;
    sqlite3_stmt* what_ = nullptr;
    int bound_ = 0;
};

}  // namespace tutti::server::journal
