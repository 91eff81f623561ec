#include "cluster/backend/postgres.hpp"

#include <endian.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <bitset>
#include <charconv>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "cluster/backend/backoff_timer.hpp"
#include "cluster/backend/connection_pool.hpp"
#include "cluster/backend/postgres_connection.hpp"
#include "cluster/backend/postgres_schema.hpp"

namespace tutti::cluster::backend {
namespace {

using clock = std::chrono::steady_clock;
constexpr std::size_t max_quick_rows = 8;  // a commit of up to this many rows has a prepared statement
using result = postgres_connection::result;

std::string with_prefix(std::string text, const std::string& prefix) {
    for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos; at += prefix.size())
        text.replace(at, 1, prefix);
    return text;
}

/// An array as text. Keys are letters and digits, so no escapes are needed.
class text_array {
public:
    void add(std::string_view word) {
        text_ += text_.size() == 1 ? "" : ",";
        text_ += word;
    }
    void add_bytes(std::string_view bytes) {
        static constexpr char digits[] = "0123456789abcdef";
        text_ += text_.size() == 1 ? "\"\\\\x" : ",\"\\\\x";
        for (const char c : bytes) {
            text_ += digits[static_cast<unsigned char>(c) >> 4];
            text_ += digits[static_cast<unsigned char>(c) & 15];
        }
        text_ += '"';
    }
    [[nodiscard]] std::string take() { return std::move(text_) + "}"; }

private:
    std::string text_ = "{";
};

/// Returns the statement for that many rows, or for arrays of any length if `rows` is 0.
std::string quick_commit_of(std::string text, std::size_t rows) {
    std::string from = "unnest($1::text[], $2::bigint[], $3::boolean[], $4::bytea[])";
    int last = rows == 0 ? 4 : 0;
    for (std::size_t i = 0; i < rows; ++i) {
        if (i == 0) from = "(VALUES ";
        for (const char* const type : {"text", "bigint", "boolean", "bytea"}) {
            from += last % 4 != 0 ? ", " : i == 0 ? "(" : ", (";
            from += "$" + std::to_string(++last) + "::" + type;
        }
        from += i + 1 == rows ? "))" : ")";
    }
    for (std::size_t at = 0; (at = text.find('%', at)) != std::string::npos;)
        text.replace(at, 2, "$" + std::to_string(last + text[at + 1] - '0'));
    return text.replace(text.find('#'), 1, from);
}

bool number_of(const postgres_connection::result& r, std::int64_t& number) {
    if (PQresultStatus(r.get()) != PGRES_TUPLES_OK) return false;
    const std::string_view text{PQgetvalue(r.get(), 0, 0)};
    return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc{};
}

std::int64_t number_in(const PGresult& r, int row, int column) {
    std::uint64_t big = 0;
    std::memcpy(&big, PQgetvalue(&r, row, column), sizeof big);
    return static_cast<std::int64_t>(be64toh(big));
}

class listener final : public key_feed {
public:
    listener(std::unique_ptr<postgres_connection> l, const std::string& prefix,
             std::chrono::milliseconds request_timeout)
        : connection_{std::move(l)},
          request_timeout_{request_timeout},
          extend_{with_prefix(postgres_tell, prefix)},
          drawn_{with_prefix(postgres_drawn, prefix)} {
        extend_.replace(extend_.find("$1"), 2, std::to_string(postgres_reach));
    }

    /// When this function returns, ENG5 holds. The function runs one transaction. When that transaction commits, the
    /// connection begins to listen, and the waiting commits continue.
    bool start(const std::string& prefix, clock::time_point deadline) {
        checked_at_ = clock::now();
        const std::string all =
            "LISTEN \"" + prefix + "_written\"; " + extend_ + ";" + with_prefix(postgres_await_commits, prefix);
        return ask(all, deadline, notified_until_);
    }

    bool next(std::vector<key>& written) override {
        PGconn* const c = connection_->raw();
        while (!closed_.load(std::memory_order_relaxed)) {
            if (clock::now() - checked_at_ > pause && !check_notifications()) return false;
            bool any = false;
            while (PGnotify* const n = PQnotifies(c)) {
                any = true;
                if (!add(n->extra, written)) {
                    PQfreemem(n);
                    return false;  // there were too many keys to name: every sleeping block checks its objects
                }
                PQfreemem(n);
            }
            if (any) return true;
            pollfd p{PQsocket(c), POLLIN, 0};
            if (::poll(&p, 1, 50) > 0 && PQconsumeInput(c) == 0) return false;
        }
        return false;
    }
    void close() noexcept override { closed_.store(true, std::memory_order_relaxed); }

private:
    static constexpr std::chrono::seconds pause{1};

    /// Returns true if all commits so far have sent notifications, and if many more commits will do so.
    bool check_notifications() {
        checked_at_ = clock::now();
        const clock::time_point deadline = checked_at_ + request_timeout_;
        std::int64_t last = 0, until = 0;
        if (!ask(drawn_, deadline, last)) return false;
        if (last < notified_until_ - postgres_reach / 2) return true;
        if (!ask(extend_, deadline, until) || !ask(drawn_, deadline, last) || last > notified_until_) return false;
        notified_until_ = until;
        return true;
    }
    bool ask(const std::string& what, clock::time_point deadline, std::int64_t& number) {
        return number_of(connection_->run(what.c_str(), deadline), number);
    }
    static bool add(std::string_view names, std::vector<key>& written) {
        if (names.empty()) return false;
        while (!names.empty()) {
            const std::size_t comma = std::min(names.find(','), names.size());
            written.emplace_back(names.substr(0, comma));
            names.remove_prefix(std::min(comma + 1, names.size()));
        }
        return true;
    }

    std::unique_ptr<postgres_connection> connection_;
    const std::chrono::milliseconds request_timeout_;
    std::string extend_, drawn_;
    std::int64_t notified_until_ = 0;
    clock::time_point checked_at_{};
    std::atomic<bool> closed_{false};
};

/// A connection, the versions that it has drawn for further commits, and the quick statements that it has prepared.
struct session {
    std::unique_ptr<postgres_connection> connection;
    std::int64_t next = 0, end = 0;
    std::bitset<max_quick_rows + 1> prepared{};
};

class postgres final : public engine {
public:
    postgres(const std::string& url, const settings& how) : address_{resolve_postgres(url)}, how_{how} {
        abilities_.name = "PostgreSQL";
        get_ = with_prefix(postgres_get, how.prefix);
        plain_ = with_prefix(postgres_plain_get, how.prefix);
        commit_ = with_prefix(postgres_commit, how.prefix);
        quick_ = with_prefix(postgres_quick_commit, how.prefix);
        draw_ = with_prefix(postgres_draw, how.prefix);
        const backoff_timer timer{how.request_timeout};
        std::string reason;
        std::unique_ptr<postgres_connection> l = open(timer.deadline(), reason);
        if (!l) throw engine_error{"PostgreSQL cannot be reached: " + reason};
        PGconn* const c = l->raw();
        abilities_.name += std::string{" at "} + PQhost(c) + ":" + PQport(c) + "/" + PQdb(c);
        // Without this lock, two programs that make the same table at once could fail with an error of the catalogue.
        const std::string make = "SET client_min_messages = warning; SELECT pg_advisory_xact_lock(hashtext('tutti'));" +
                                 with_prefix(postgres_schema, how.prefix);
        if (const result r = l->run(make.c_str(), timer.deadline()); !is_good(r))
            throw engine_error{abilities_.name +
                               " does not allow the creation of its tables: " + (r ? PQerrorMessage(c) : "no answer")};
        const auto setting = [&](const char* name) {
            const result r = l->run((std::string{"SHOW "} + name).c_str(), timer.deadline());
            return PQresultStatus(r.get()) == PGRES_TUPLES_OK ? std::string{PQgetvalue(r.get(), 0, 0)} : std::string{};
        };
        abilities_.durable = setting("fsync") == "on" && setting("synchronous_commit") != "off";
        if (prepare_statements(*l, timer.deadline())) pool_.release(std::make_unique<session>(std::move(l)));
    }
    const capabilities& abilities() const noexcept override { return abilities_; }

    engine_status get(read_snapshot&, freshness, std::span<const check> held, std::span<const key> wanted,
                      std::vector<record>& found) override {
        text_array all, fresh;
        std::unordered_map<std::string_view, std::size_t> indices;
        for (const check& c : held) {
            indices.emplace(c.of, indices.size());
            all.add(c.of);
        }
        for (const key& k : wanted) {
            indices.emplace(k, indices.size());
            all.add(k);
            if (!held.empty()) fresh.add(k);
        }
        postgres_parameters asked;
        asked.add(all.take());
        if (!held.empty()) asked.add(fresh.take());
        const result r = ask_until_answered(held.empty() ? "plain" : "get", asked);
        if (!r) return engine_status::unreachable;
        std::vector<record> records(indices.size());
        for (int row = 0; row < PQntuples(r.get()); ++row) {
            const std::string_view name{PQgetvalue(r.get(), row, 0),
                                        static_cast<std::size_t>(PQgetlength(r.get(), row, 0))};
            record& one = records[indices.at(name)];
            one.at = static_cast<version>(number_in(*r, row, 1));
            one.exists = *PQgetvalue(r.get(), row, 2) != 0;
            one.bytes.assign(PQgetvalue(r.get(), row, 3), static_cast<std::size_t>(PQgetlength(r.get(), row, 3)));
        }
        for (std::size_t i = 0; i < held.size(); ++i) {
            if (records[i].at != held[i].at) return engine_status::conflict;
        }
        found.assign(std::make_move_iterator(records.begin() + static_cast<std::ptrdiff_t>(held.size())),
                     std::make_move_iterator(records.end()));
        return engine_status::good;
    }

    void commit(request& r) override {
        // Rows are locked in the order of the keys.
        std::vector<const write*> sorted;
        for (const write& w : r.writes) sorted.push_back(&w);
        std::ranges::sort(sorted, {}, &write::of);
        std::unordered_map<std::string_view, version> read;
        for (const check& c : r.checks) read.emplace(c.of, c.at);
        std::vector<std::optional<version>> checked;  // for each write: the version that was read, if any
        for (const write* w : sorted) {
            const auto found = read.extract(w->of);
            checked.push_back(found.empty() ? std::nullopt : std::optional{found.mapped()});
        }
        const bool quick =
            read.empty() && std::ranges::all_of(checked, [](const auto& v) { return v.value_or(0) != 0; });
        backoff_timer timer{how_.request_timeout};
        std::unique_ptr<session> s;
        while (true) {
            s = acquire(timer.deadline());
            r.status = s ? draw(*s, timer.deadline(), r) : engine_status::unreachable;
            if (r.status == engine_status::good) break;
            if (r.status == engine_status::refused || !timer.wait()) return;
        }
        const std::int64_t at = s->next++;
        r.at = static_cast<version>(at);
        const result outcome = quick ? commit_quickly(*s, at, sorted, checked, timer.deadline())
                                     : commit_any(*s, at, sorted, checked, read, timer.deadline());
        if (!is_good(outcome)) r.status = outcome ? status_of(*outcome, r) : engine_status::unknown;
        // Rows are deleted only if they are forgotten commit records. If another program deleted other rows, the commit
        // record shows the result of this commit.
        else if (quick)
            r.status = PQcmdTuples(outcome.get()) == std::to_string(sorted.size()) ? engine_status::good
                                                                                   : engine_status::unknown;
        else r.status = *PQgetvalue(outcome.get(), 0, 0) != 0 ? engine_status::good : engine_status::conflict;
        if (r.status == engine_status::unknown) pool_.close_all();
        else pool_.release(std::move(s));
    }

    void forget(std::span<const key> all) noexcept override {
        const std::unique_ptr<session> s = pool_.acquire();
        if (!s) return;
        try {
            std::string keys;
            for (const key& k : all) keys += (keys.empty() ? "'" : ", '") + k + "'";
            const std::string text = "DELETE FROM \"" + how_.prefix + "_records\" WHERE key IN (" + keys + ")";
            static_cast<void>(s->connection->run(text.c_str(), clock::now() + how_.request_timeout));
        } catch (const std::bad_alloc&) {  // the records stay
        }
    }

    std::unique_ptr<key_feed> open_key_feed() override {
        const backoff_timer timer{how_.request_timeout};
        std::string reason;
        std::unique_ptr<postgres_connection> l = open(timer.deadline(), reason);
        if (!l) return nullptr;
        auto f = std::make_unique<listener>(std::move(l), how_.prefix, how_.request_timeout);
        if (!f->start(how_.prefix, timer.deadline())) return nullptr;
        return f;
    }

private:
    using written = std::span<const write* const>;
    using versions = std::span<const std::optional<version>>;
    using other_checks = std::unordered_map<std::string_view, version>;

    /// Makes a commit that checks exactly the records that it writes.
    result commit_quickly(session& s, std::int64_t at, written all, versions checked,
                          clock::time_point deadline) const {
        const std::size_t rows = all.size() <= max_quick_rows ? all.size() : 0;
        const std::string name = "quick" + std::to_string(rows);
        if (!s.prepared[rows]) {
            const result known = s.connection->prepare(name.c_str(), quick_commit_of(quick_, rows).c_str(), deadline);
            if (!is_good(known)) return nullptr;  // the commit was not sent, but the connection has ended
            s.prepared[rows] = true;
        }
        postgres_parameters p;
        std::string notified;
        text_array keys, seen, present, bytes;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::string at_before = std::to_string(*checked[i]);
            const char* const exists = all[i]->exists ? "t" : "f";
            notified += (notified.empty() ? "" : ",") + all[i]->of;
            if (rows != 0) {
                p.add(all[i]->of);
                p.add(at_before);
                p.add(exists);
                p.add_bytes(all[i]->bytes);
            } else {
                keys.add(all[i]->of);
                seen.add(at_before);
                present.add(exists);
                bytes.add_bytes(all[i]->bytes);
            }
        }
        if (rows == 0)
            for (text_array* a : {&keys, &seen, &present, &bytes}) p.add(a->take());
        p.add(std::to_string(at));
        p.add(std::to_string(at / postgres_block));
        p.add(notified.size() < 7900 ? notified : "");
        p.add(all.back()->of);
        return s.connection->execute(name.c_str(), p, deadline);
    }
    /// Makes a commit. `checked` has the version that was read of each written record, if any. `beside` has the checks
    /// of other records.
    result commit_any(session& s, std::int64_t at, written all, versions checked, const other_checks& beside,
                      clock::time_point deadline) const {
        text_array keys, present, bytes, checks, seen, only_checked;
        for (std::size_t i = 0; i < all.size(); ++i) {
            keys.add(all[i]->of);
            present.add(all[i]->exists ? "t" : "f");
            bytes.add_bytes(all[i]->bytes);
            if (!checked[i]) continue;
            checks.add(all[i]->of);
            seen.add(std::to_string(*checked[i]));
        }
        for (const auto& [of, v] : beside) {
            checks.add(of);
            seen.add(std::to_string(v));
            only_checked.add(of);
        }
        postgres_parameters p;
        for (text_array* a : {&keys, &seen, &present, &bytes, &checks, &only_checked}) p.add(a->take());
        p.add(std::to_string(at));
        p.add(std::to_string(at / postgres_block));
        return s.connection->execute("commit", p, deadline);
    }
    [[nodiscard]] engine_status draw(session& s, clock::time_point deadline, request& asker) const {
        if (s.next != s.end) return engine_status::good;
        const result r = s.connection->run(draw_.c_str(), deadline);
        std::int64_t block = 0;
        if (!number_of(r, block))
            return r && status_of(*r, asker) == engine_status::refused ? engine_status::refused
                                                                       : engine_status::unreachable;
        s.next = block * postgres_block;
        s.end = s.next + postgres_block;
        return engine_status::good;
    }

    /// An idle connection may have ended, which is noticed only at its next use.
    result ask_until_answered(const char* statement, const postgres_parameters& asked) {
        backoff_timer timer{how_.request_timeout};
        do {
            std::unique_ptr<session> s = acquire(timer.deadline());
            if (!s) continue;
            result r = s->connection->execute(statement, asked, timer.deadline());
            if (PQresultStatus(r.get()) == PGRES_TUPLES_OK) {
                pool_.release(std::move(s));
                return r;
            }
            pool_.close_all();
        } while (timer.wait());
        return nullptr;
    }

    engine_status status_of(const PGresult& r, request& asker) const {
        const char* const code = PQresultErrorField(&r, PG_DIAG_SQLSTATE);
        const std::string_view state{code == nullptr ? "" : code};
        if (state.starts_with("40") || state == "22P02")
            return engine_status::conflict;  // an error of postgres_quick_commit
        if (state.empty() || state.starts_with("57") || state.starts_with("08")) return engine_status::unknown;
        asker.reason = "tutti: " + abilities_.name + " refuses writes: " + PQresultErrorMessage(&r);
        return engine_status::refused;
    }

    std::unique_ptr<session> acquire(clock::time_point deadline) {
        if (std::unique_ptr<session> s = pool_.acquire()) return s;
        std::string reason;
        std::unique_ptr<postgres_connection> l = open(deadline, reason);
        return l && prepare_statements(*l, deadline) ? std::make_unique<session>(std::move(l)) : nullptr;
    }
    std::unique_ptr<postgres_connection> open(clock::time_point deadline, std::string& reason) const {
        std::unique_ptr<postgres_connection> l = postgres_connection::open(address_, deadline, reason);
        // These settings prevent full scans of a table without statistics, and new plans for each execution, because
        // both are slow. They set the isolation level, because the argument in postgres_schema.hpp relies on it and the
        // database's default may differ.
        if (l && !is_good(l->run("SET default_transaction_isolation = 'read committed'; SET enable_seqscan = off; "
                                 "SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off; "
                                 "SET plan_cache_mode = force_generic_plan",
                                 deadline))) {
            reason = PQerrorMessage(l->raw());
            return nullptr;
        }
        return l;
    }
    /// REQUIRES: the tables exist.
    [[nodiscard]] bool prepare_statements(postgres_connection& l, clock::time_point deadline) const {
        return is_good(l.prepare("get", get_.c_str(), deadline)) &&
               is_good(l.prepare("plain", plain_.c_str(), deadline)) &&
               is_good(l.prepare("commit", commit_.c_str(), deadline));
    }

    const postgres_address address_;
    const settings how_;
    capabilities abilities_;
    std::string get_, plain_, commit_, quick_, draw_;
    connection_pool<session> pool_;
};

}  // namespace

std::unique_ptr<engine> open_postgres(const std::string& url, const settings& how) {
    return std::make_unique<postgres>(url, how);
}

}  // namespace tutti::cluster::backend
