// A connection to PostgreSQL whose every wait has an end: libpq's own calls wait for as long as the server likes, also
// to send.
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

/// libpq's own words for what to connect to, the environment's (PGHOST, PGSERVICE, …) included.
using postgres_address = std::vector<std::pair<std::string, std::string>>;

/// Throws refusal for what is no address, and for a machine beyond loopback, whoever names it.
[[nodiscard]] postgres_address resolve_postgres(const std::string& url);

/// Of a statement that was prepared.
class postgres_parameters {
public:
    void add(std::string text) {
        texts_.push_back(std::move(text));
        add(texts_.back().c_str(), 0, 0);
    }
    /// REQUIRES: they stay until the statement was executed.
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

    /// Null: `why` says what is in the way.
    [[nodiscard]] static std::unique_ptr<postgres_link> open(const postgres_address& to, time_point late,
                                                             std::string& why);

    /// What the last of the statements came to, or the first that failed. Null: it has not answered by `late`, or the
    /// connection has ended; it is of no use any more.
    [[nodiscard]] result run(const char* statements, time_point late);
    [[nodiscard]] result prepare(const char* name, const char* statement, time_point late);
    /// Of a statement that was prepared; the answer is in binary.
    [[nodiscard]] result execute(const char* name, const postgres_parameters& with, time_point late);

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
