// A connection to PostgreSQL with a timeout for every wait. libpq's own calls wait without a limit, even to send.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <libpq-fe.h>

namespace tutti::cluster::backend {

/// The parameters of a connection in libpq's words, including those of the environment (PGHOST, PGSERVICE, …).
using postgres_address = std::vector<std::pair<std::string, std::string>>;

/// Returns the parameters. Throws refusal if the address is invalid, or if the address or the environment names a
/// machine beyond loopback.
[[nodiscard]] postgres_address resolve_postgres(const std::string& url);

/// The parameters of a prepared statement.
class postgres_parameters {
public:
    void add(std::string text) {
        texts_.push_back(std::move(text));
        add(texts_.back().c_str(), 0, 0);
    }
    /// REQUIRES: the bytes stay valid until the statement was executed.
    void add_bytes(std::string_view bytes) { add(bytes.data(), static_cast<int>(bytes.size()), 1); }

private:
    friend class postgres_link;
    void add(const char* value, int length, int format) {
        values_.push_back(value);
        lengths_.push_back(length);
        formats_.push_back(format);
    }
    std::deque<std::string> texts_;
    std::vector<const char*> values_;
    std::vector<int> lengths_, formats_;
};

class postgres_link {
public:
    using time_point = std::chrono::steady_clock::time_point;
    struct free_result {
        void operator()(PGresult* r) const noexcept { PQclear(r); }
    };
    using result = std::unique_ptr<PGresult, free_result>;

    /// Opens a connection. Returns null on failure, and sets `why`.
    [[nodiscard]] static std::unique_ptr<postgres_link> open(const postgres_address& to, time_point late,
                                                             std::string& why);

    /// Returns the result of the last statement, or of the first that failed. Returns null if there is no answer by
    /// `late`, or the connection has ended; the connection is then unusable.
    [[nodiscard]] result run(const char* statements, time_point late);
    [[nodiscard]] result prepare(const char* name, const char* statement, time_point late);
    /// Executes a prepared statement. The answer is in binary format.
    [[nodiscard]] result execute(const char* name, const postgres_parameters& with, time_point late);

    /// Returns the connection, for calls that do not wait.
    [[nodiscard]] PGconn* raw() const noexcept { return to_.get(); }

private:
    struct close_link {
        void operator()(PGconn* c) const noexcept { PQfinish(c); }
    };
    explicit postgres_link(PGconn* to) noexcept : to_{to} {}
    [[nodiscard]] bool wait(short for_what, time_point late) const;
    [[nodiscard]] result finish(int sent, time_point late);

    std::unique_ptr<PGconn, close_link> to_;
};

[[nodiscard]] inline bool is_good(const postgres_link::result& r) noexcept {
    const ExecStatusType s = PQresultStatus(r.get());
    return s == PGRES_COMMAND_OK || s == PGRES_TUPLES_OK;
}

}  // namespace tutti::cluster::backend
