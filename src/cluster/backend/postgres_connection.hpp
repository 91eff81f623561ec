// A connection to PostgreSQL with a timeout for every wait. libpq's own calls may block without a limit, even calls
// that only send.
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

/// The parameters of a connection by libpq's keywords, including parameters from the environment (PGHOST, PGSERVICE,
/// …).
using postgres_address = std::vector<std::pair<std::string, std::string>>;

/// Returns the parameters. Throws engine_error if the address is invalid, or if the address or the environment names a
/// machine beyond loopback.
[[nodiscard]] postgres_address resolve_postgres(const std::string& url);

/// The parameters of a prepared statement.
class postgres_parameters {
public:
    void add(std::string text) {
        texts_.push_back(std::move(text));
        add(texts_.back().c_str(), 0, 0);
    }
    /// REQUIRES: the bytes stay valid until the statement has been executed.
    void add_bytes(std::string_view bytes) { add(bytes.data(), static_cast<int>(bytes.size()), 1); }

private:
    friend class postgres_connection;
    void add(const char* value, int length, int format) {
        values_.push_back(value);
        lengths_.push_back(length);
        formats_.push_back(format);
    }
    std::deque<std::string> texts_;
    std::vector<const char*> values_;
    std::vector<int> lengths_, formats_;
};

class postgres_connection {
public:
    using time_point = std::chrono::steady_clock::time_point;
    struct free_result {
        void operator()(PGresult* r) const noexcept { PQclear(r); }
    };
    using result = std::unique_ptr<PGresult, free_result>;

    /// Opens a connection. On failure, returns null, and sets `reason`.
    [[nodiscard]] static std::unique_ptr<postgres_connection> open(const postgres_address& to, time_point deadline,
                                                                   std::string& reason);

    /// Returns the result of the last statement, or of the first one that failed. Returns null if there is no answer by
    /// `deadline`, or if the connection has ended. After a null result, the connection is unusable.
    [[nodiscard]] result run(const char* statements, time_point deadline);
    [[nodiscard]] result prepare(const char* name, const char* statement, time_point deadline);
    /// Executes a prepared statement. The answer is in binary format.
    [[nodiscard]] result execute(const char* name, const postgres_parameters& with, time_point deadline);

    /// Returns libpq's connection. Use it only for calls that do not block.
    [[nodiscard]] PGconn* raw() const noexcept { return connection_.get(); }

private:
    struct close_connection {
        void operator()(PGconn* c) const noexcept { PQfinish(c); }
    };
    explicit postgres_connection(PGconn* to) noexcept : connection_{to} {}
    [[nodiscard]] bool wait(short for_what, time_point deadline) const;
    [[nodiscard]] result finish(int sent, time_point deadline);

    std::unique_ptr<PGconn, close_connection> connection_;
};

[[nodiscard]] inline bool is_good(const postgres_connection::result& r) noexcept {
    const ExecStatusType s = PQresultStatus(r.get());
    return s == PGRES_COMMAND_OK || s == PGRES_TUPLES_OK;
}

}  // namespace tutti::cluster::backend
