// A connection to PostgreSQL whose every wait has an end: libpq's own calls wait for as long as the server likes, also
// to send.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <libpq-fe.h>

namespace tutti::cluster::backend {

/// libpq's own words for what to connect to, the environment's (PGHOST, PGSERVICE, …) included.
using postgres_address = std::vector<std::pair<std::string, std::string>>;

/// Throws refusal for what is no address, and for a machine beyond loopback, whoever names it.
[[nodiscard]] postgres_address resolve_postgres(const std::string& url);

class postgres_link {
public:
    using time_point = std::chrono::steady_clock::time_point;
    struct free_result {
        void operator()(PGresult* r) const noexcept { PQclear(r); }
    };
    using result = std::unique_ptr<PGresult, free_result>;

    /// Null: `why` says what is in the way.
    [[nodiscard]] static std::unique_ptr<postgres_link> open(const postgres_address& to, time_point late,
                                                             std::string& why);

    /// What the last of the statements came to, or the first that failed. Null: it has not answered by `late`, or the
    /// connection has ended; it is of no use any more.
    [[nodiscard]] result run(const char* statements, time_point late);
    [[nodiscard]] result prepare(const char* name, const char* statement, time_point late);
    /// Of a statement that was prepared: parameters as text, the answer in binary.
    [[nodiscard]] result execute(const char* name, int count, const char* const* values, time_point late);

    /// For what does not wait.
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
