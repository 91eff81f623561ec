#include "cluster/backend/postgres.hpp"

#include <endian.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <unordered_map>

#include <libpq-fe.h>

#include "cluster/backend/link.hpp"
#include "cluster/backend/postgres_schema.hpp"

namespace tutti::cluster::backend {
namespace {

using clock = std::chrono::steady_clock;

struct close_link {
    void operator()(PGconn* c) const noexcept { PQfinish(c); }
};
struct free_result {
    void operator()(PGresult* r) const noexcept { PQclear(r); }
};
struct link {
    std::unique_ptr<PGconn, close_link> to;
};
using result = std::unique_ptr<PGresult, free_result>;

std::string with_prefix(std::string text, const std::string& prefix) {
    for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos; at += prefix.size())
        text.replace(at, 1, prefix);
    return text;
}

/// Arrays as text; keys are letters and digits, so nothing needs an escape.
class array {
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

std::int64_t number_in(const PGresult& r, int row, int column) {
    std::uint64_t big = 0;
    std::memcpy(&big, PQgetvalue(&r, row, column), sizeof big);
    return static_cast<std::int64_t>(be64toh(big));
}

/// Sends nothing and waits for what comes next. Null: nothing came until `late`, or the connection has ended.
result await(PGconn& c, clock::time_point late, bool& broken) {
    while (PQisBusy(&c) != 0) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(late - clock::now()).count();
        pollfd p{PQsocket(&c), static_cast<short>(POLLIN | (PQflush(&c) == 1 ? POLLOUT : 0)), 0};
        if (left <= 0 || ::poll(&p, 1, static_cast<int>(left)) <= 0 || PQconsumeInput(&c) == 0) {
            broken = true;
            return nullptr;
        }
    }
    return result{PQgetResult(&c)};
}

class listener final : public feed {
public:
    listener(std::unique_ptr<link> l, std::string watch) : link_{std::move(l)}, watch_{std::move(watch)} {}

    /// B5 holds from its return on, for `announced`.
    bool announce(const std::string& prefix) {
        const auto good = [&](const std::string& text) {
            const result r{PQexec(link_->to.get(), text.c_str())};
            const auto s = PQresultStatus(r.get());
            return s == PGRES_TUPLES_OK || s == PGRES_COMMAND_OK;
        };
        const std::string lock = "(hashtext('" + prefix + "_watched'))";
        announced_ = clock::now();
        std::string text = watch_;
        text.replace(text.find("$1"), 2, std::to_string(announcement.count()));
        return good(text) && good("SELECT pg_advisory_lock" + lock) && good("SELECT pg_advisory_unlock" + lock);
    }

    bool next(std::vector<key>& written) override {
        PGconn* const c = link_->to.get();
        while (!closed_.load(std::memory_order_relaxed)) {
            const auto age = clock::now() - announced_;
            if (age > announcement / 2) return false;  // stopped for long: commits may have told nobody meanwhile
            if (age > announcement / 6) {
                announced_ = clock::now();
                std::string text = watch_;
                text.replace(text.find("$1"), 2, std::to_string(announcement.count()));
                const result r{PQexec(c, text.c_str())};
                if (PQresultStatus(r.get()) != PGRES_TUPLES_OK) return false;
            }
            bool any = false;
            while (PGnotify* const n = PQnotifies(c)) {
                any = true;
                if (!add(n->extra, written)) {
                    PQfreemem(n);
                    return false;  // too many to tell: everybody looks
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
    static constexpr std::chrono::milliseconds announcement{60000};

    static bool add(std::string_view told, std::vector<key>& written) {
        if (told.empty()) return false;
        while (!told.empty()) {
            const std::size_t comma = std::min(told.find(','), told.size());
            written.emplace_back(told.substr(0, comma));
            told.remove_prefix(std::min(comma + 1, told.size()));
        }
        return true;
    }

    std::unique_ptr<link> link_;
    const std::string watch_;
    clock::time_point announced_{};
    std::atomic<bool> closed_{false};
};

class postgres final : public engine {
public:
    postgres(const std::string& url, const settings& how) : url_{url}, how_{how} {
        can_.name = "PostgreSQL";
        get_ = with_prefix(postgres_get, how.prefix);
        commit_ = with_prefix(postgres_commit, how.prefix);
        std::string why;
        std::unique_ptr<link> l = connect(&why);
        if (!l) throw refusal{"PostgreSQL cannot be reached: " + why};
        PGconn* const c = l->to.get();
        can_.name += std::string{" at "} + PQhost(c) + ":" + PQport(c) + "/" + PQdb(c);
        // Two that make the same table at once would get an error of the catalogue.
        const std::string make =
            "BEGIN; SELECT pg_advisory_xact_lock(hashtext('tutti')); SET client_min_messages = "
            "warning;" +
            with_prefix(postgres_schema, how.prefix) + "COMMIT;";
        if (const result r{PQexec(c, make.c_str())}; PQresultStatus(r.get()) != PGRES_COMMAND_OK)
            throw refusal{can_.name + " does not let its tables be made: " + PQerrorMessage(c)};
        const auto setting = [c](const char* name) {
            const result r{PQexec(c, (std::string{"SHOW "} + name).c_str())};
            return PQresultStatus(r.get()) == PGRES_TUPLES_OK ? std::string{PQgetvalue(r.get(), 0, 0)} : std::string{};
        };
        can_.durable = setting("fsync") == "on" && setting("synchronous_commit") != "off";
    }
    const capabilities& can() const noexcept override { return can_; }

    verdict get(snapshot&, freshness, std::span<const check> held, std::span<const key> wanted,
                std::vector<record>& found) override {
        array all, fresh;
        std::unordered_map<std::string_view, std::size_t> places;
        for (const check& c : held) {
            places.emplace(c.of, places.size());
            all.add(c.of);
        }
        for (const key& k : wanted) {
            places.emplace(k, places.size());
            all.add(k);
            fresh.add(k);
        }
        const std::string first = all.take(), second = fresh.take();
        std::unique_ptr<link> l = take();
        if (!l) return verdict::unreachable;
        const char* values[] = {first.c_str(), second.c_str()};
        PGconn& c = *l->to;
        const auto late = clock::now() + how_.patience;
        bool broken = PQsendQueryPrepared(&c, "get", 2, values, nullptr, nullptr, 1) == 0;
        const result r = broken ? nullptr : await(c, late, broken);
        while (!broken && await(c, late, broken)) {}
        if (broken || PQresultStatus(r.get()) != PGRES_TUPLES_OK) {
            links_.drop_all();
            return verdict::unreachable;
        }
        std::vector<record> records(places.size());
        for (int row = 0; row < PQntuples(r.get()); ++row) {
            const std::string_view name{PQgetvalue(r.get(), row, 0),
                                        static_cast<std::size_t>(PQgetlength(r.get(), row, 0))};
            record& one = records[places.at(name)];
            one.at = static_cast<version>(number_in(*r, row, 1));
            one.exists = *PQgetvalue(r.get(), row, 2) != 0;
            one.bytes.assign(PQgetvalue(r.get(), row, 3), static_cast<std::size_t>(PQgetlength(r.get(), row, 3)));
        }
        links_.give_back(std::move(l));
        for (std::size_t i = 0; i < held.size(); ++i) {
            if (records[i].at != held[i].at) return verdict::conflict;
        }
        found.assign(std::make_move_iterator(records.begin() + static_cast<std::ptrdiff_t>(held.size())),
                     std::make_move_iterator(records.end()));
        return verdict::good;
    }

    void commit(request& r) override {
        array checks, versions, written, present, bytes, beside;
        for (const check& c : r.checks) {
            checks.add(c.of);
            versions.add(std::to_string(c.at));
            if (std::ranges::find(r.writes, c.of, &write::of) == r.writes.end()) beside.add(c.of);
        }
        for (const write& w : r.writes) {
            written.add(w.of);
            present.add(w.exists ? "t" : "f");
            bytes.add_bytes(w.bytes);
        }
        const std::string texts[] = {checks.take(),  versions.take(), written.take(),
                                     present.take(), bytes.take(),    beside.take()};
        const char* values[6];
        std::ranges::transform(texts, values, &std::string::c_str);
        std::unique_ptr<link> l = take();
        if (!l) {
            r.said = verdict::unreachable;
            return;
        }
        PGconn& c = *l->to;
        r.said = ask(c, values, r);
        if (r.said == verdict::unknown) return links_.drop_all();
        if (PQtransactionStatus(&c) == PQTRANS_IDLE) links_.give_back(std::move(l));
    }

    std::unique_ptr<feed> open_feed() override {
        std::unique_ptr<link> l = connect(nullptr);
        if (!l) return nullptr;
        const result r{PQexec(l->to.get(), ("LISTEN \"" + how_.prefix + "_written\"").c_str())};
        if (PQresultStatus(r.get()) != PGRES_COMMAND_OK) return nullptr;
        auto f = std::make_unique<listener>(std::move(l), with_prefix(postgres_watch, how_.prefix));
        if (!f->announce(how_.prefix)) return nullptr;
        return f;
    }

private:
    /// BEGIN, the function and COMMIT in one round trip.
    verdict ask(PGconn& c, const char* const* values, request& r) {
        const auto late = clock::now() + how_.patience;
        if (PQenterPipelineMode(&c) == 0 || PQsendQueryPrepared(&c, "begin", 0, nullptr, nullptr, nullptr, 0) == 0 ||
            PQsendQueryPrepared(&c, "commit", 6, values, nullptr, nullptr, 1) == 0 ||
            PQsendQueryPrepared(&c, "end", 0, nullptr, nullptr, nullptr, 0) == 0 || PQpipelineSync(&c) == 0)
            return verdict::unknown;
        verdict said = verdict::good;
        bool broken = false;
        while (true) {
            const result one = await(c, late, broken);
            if (broken) return verdict::unknown;
            if (!one) continue;  // the end of one statement
            const ExecStatusType s = PQresultStatus(one.get());
            if (s == PGRES_PIPELINE_SYNC) break;
            if (s == PGRES_TUPLES_OK) {
                r.at = static_cast<version>(number_in(*one, 0, 0));
                if (r.at == 0) said = verdict::conflict;
            } else if (s == PGRES_FATAL_ERROR) {
                said = meaning(*one, r);
                if (said == verdict::unknown) return said;
            }
        }
        PQexitPipelineMode(&c);
        // After a statement that failed, COMMIT was skipped.
        if (PQtransactionStatus(&c) != PQTRANS_IDLE) result{PQexec(&c, "ROLLBACK")}.reset();
        return said;
    }

    verdict meaning(const PGresult& r, request& of) const {
        const char* const code = PQresultErrorField(&r, PG_DIAG_SQLSTATE);
        const std::string_view state{code == nullptr ? "" : code};
        if (state.starts_with("40") || state == "23505") return verdict::conflict;
        if (state.empty() || state.starts_with("57") || state.starts_with("08")) return verdict::unknown;
        of.why = "tutti: " + can_.name + " takes no writes: " + PQresultErrorMessage(&r);
        return verdict::refused;
    }

    std::unique_ptr<link> take() {
        std::unique_ptr<link> l = links_.take();
        return l ? std::move(l) : connect(nullptr);
    }
    std::unique_ptr<link> connect(std::string* why) {
        const std::string seconds = std::to_string(std::max<long>(how_.patience.count() / 1000, 2));
        const char* names[] = {"dbname", "connect_timeout", "fallback_application_name", nullptr};
        const char* values[] = {url_.c_str(), seconds.c_str(), "tutti", nullptr};
        auto l = std::make_unique<link>();
        l->to.reset(PQconnectdbParams(names, values, 1));
        PGconn* const c = l->to.get();
        if (PQstatus(c) != CONNECTION_OK) {
            if (why != nullptr) *why = PQerrorMessage(c);
            return nullptr;
        }
        // A table without statistics is read as a whole, which is slow, and SERIALIZABLE counts all of it as read.
        const result plan{PQexec(c,
                                 "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; "
                                 "SET jit = off")};
        const auto prepare = [c](const char* name, const std::string& text) {
            const result r{PQprepare(c, name, text.c_str(), 0, nullptr)};
            return PQresultStatus(r.get()) == PGRES_COMMAND_OK;
        };
        // The constructor's has no tables yet, and is not kept.
        if (why == nullptr && !(prepare("get", get_) && prepare("commit", commit_) &&
                                prepare("begin", "BEGIN ISOLATION LEVEL SERIALIZABLE") && prepare("end", "COMMIT")))
            return nullptr;
        return l;
    }

    const std::string url_;
    const settings how_;
    capabilities can_;
    std::string get_, commit_;
    links<link> links_;
};

}  // namespace

std::unique_ptr<engine> open_postgres(const std::string& url, const settings& how) {
    PQconninfoOption* const parsed = PQconninfoParse(url.c_str(), nullptr);
    if (parsed == nullptr)
        throw refusal{"'" + url + "' is no address of PostgreSQL: postgres://user@host:port/database"};
    std::string host;
    for (const PQconninfoOption* o = parsed; o->keyword != nullptr; ++o) {
        if (o->val != nullptr && (std::strcmp(o->keyword, "host") == 0 || std::strcmp(o->keyword, "hostaddr") == 0))
            host = o->val;
    }
    PQconninfoFree(parsed);
    if (!host.empty()) static_cast<void>(parse_place(host, 5432));
    return std::make_unique<postgres>(url, how);
}

}  // namespace tutti::cluster::backend
