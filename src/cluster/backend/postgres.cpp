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

#include "cluster/backend/link.hpp"
#include "cluster/backend/postgres_link.hpp"
#include "cluster/backend/postgres_schema.hpp"
#include "cluster/backend/tries.hpp"

namespace tutti::cluster::backend {
namespace {

using clock = std::chrono::steady_clock;
constexpr std::size_t postgres_most_rows = 8;  // of a commit that has a prepared statement for its number of rows
using result = postgres_link::result;

std::string with_prefix(std::string text, const std::string& prefix) {
    for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos; at += prefix.size())
        text.replace(at, 1, prefix);
    return text;
}

/// An array as text. Keys are letters and digits, so no escapes are needed.
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

bool number_of(const postgres_link::result& r, std::int64_t& said) {
    if (PQresultStatus(r.get()) != PGRES_TUPLES_OK) return false;
    const std::string_view text{PQgetvalue(r.get(), 0, 0)};
    return std::from_chars(text.data(), text.data() + text.size(), said).ec == std::errc{};
}

std::int64_t number_in(const PGresult& r, int row, int column) {
    std::uint64_t big = 0;
    std::memcpy(&big, PQgetvalue(&r, row, column), sizeof big);
    return static_cast<std::int64_t>(be64toh(big));
}

class listener final : public feed {
public:
    listener(std::unique_ptr<postgres_link> l, const std::string& prefix, std::chrono::milliseconds patience)
        : link_{std::move(l)},
          patience_{patience},
          tell_{with_prefix(postgres_tell, prefix)},
          drawn_{with_prefix(postgres_drawn, prefix)} {
        tell_.replace(tell_.find("$1"), 2, std::to_string(postgres_reach));
    }

    /// Makes B5 hold from its return on. Uses one transaction. At its end, the transaction begins to listen, and lets
    /// commits continue.
    bool announce(const std::string& prefix, clock::time_point late) {
        looked_ = clock::now();
        const std::string all =
            "LISTEN \"" + prefix + "_written\"; " + tell_ + ";" + with_prefix(postgres_await_commits, prefix);
        return ask(all, late, told_until_);
    }

    bool next(std::vector<key>& written) override {
        PGconn* const c = link_->raw();
        while (!closed_.load(std::memory_order_relaxed)) {
            if (clock::now() - looked_ > pause && !is_told()) return false;
            bool any = false;
            while (PGnotify* const n = PQnotifies(c)) {
                any = true;
                if (!add(n->extra, written)) {
                    PQfreemem(n);
                    return false;  // too much to name: every sleeping block checks its objects
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

    /// Returns true if all commits so far have notified, and many more will.
    bool is_told() {
        looked_ = clock::now();
        const clock::time_point late = looked_ + patience_;
        std::int64_t last = 0, until = 0;
        if (!ask(drawn_, late, last)) return false;
        if (last < told_until_ - postgres_reach / 2) return true;
        if (!ask(tell_, late, until) || !ask(drawn_, late, last) || last > told_until_) return false;
        told_until_ = until;
        return true;
    }
    bool ask(const std::string& what, clock::time_point late, std::int64_t& said) {
        return number_of(link_->run(what.c_str(), late), said);
    }
    static bool add(std::string_view told, std::vector<key>& written) {
        if (told.empty()) return false;
        while (!told.empty()) {
            const std::size_t comma = std::min(told.find(','), told.size());
            written.emplace_back(told.substr(0, comma));
            told.remove_prefix(std::min(comma + 1, told.size()));
        }
        return true;
    }

    std::unique_ptr<postgres_link> link_;
    const std::chrono::milliseconds patience_;
    std::string tell_, drawn_;
    std::int64_t told_until_ = 0;
    clock::time_point looked_{};
    std::atomic<bool> closed_{false};
};

/// A connection, the versions that it may still give to commits, and the quick statements that it has prepared.
struct session {
    std::unique_ptr<postgres_link> link;
    std::int64_t next = 0, end = 0;
    std::bitset<postgres_most_rows + 1> knows{};
};

class postgres final : public engine {
public:
    postgres(const std::string& url, const settings& how) : address_{resolve_postgres(url)}, how_{how} {
        can_.name = "PostgreSQL";
        get_ = with_prefix(postgres_get, how.prefix);
        plain_ = with_prefix(postgres_plain_get, how.prefix);
        commit_ = with_prefix(postgres_commit, how.prefix);
        quick_ = with_prefix(postgres_quick_commit, how.prefix);
        draw_ = with_prefix(postgres_draw, how.prefix);
        const tries all{how.patience};
        std::string why;
        std::unique_ptr<postgres_link> l = open(all.late(), why);
        if (!l) throw refusal{"PostgreSQL cannot be reached: " + why};
        PGconn* const c = l->raw();
        can_.name += std::string{" at "} + PQhost(c) + ":" + PQport(c) + "/" + PQdb(c);
        // If two programs made the same table at once, one would get an error of the catalogue.
        const std::string make = "SET client_min_messages = warning; SELECT pg_advisory_xact_lock(hashtext('tutti'));" +
                                 with_prefix(postgres_schema, how.prefix);
        if (const result r = l->run(make.c_str(), all.late()); !is_good(r))
            throw refusal{can_.name + " does not let its tables be made: " + (r ? PQerrorMessage(c) : "no answer")};
        const auto setting = [&](const char* name) {
            const result r = l->run((std::string{"SHOW "} + name).c_str(), all.late());
            return PQresultStatus(r.get()) == PGRES_TUPLES_OK ? std::string{PQgetvalue(r.get(), 0, 0)} : std::string{};
        };
        can_.durable = setting("fsync") == "on" && setting("synchronous_commit") != "off";
        if (make_ready(*l, all.late())) links_.give_back(std::make_unique<session>(std::move(l)));
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
            if (!held.empty()) fresh.add(k);
        }
        postgres_parameters asked;
        asked.add(all.take());
        if (!held.empty()) asked.add(fresh.take());
        const result r = ask_until_answered(held.empty() ? "plain" : "get", asked);
        if (!r) return verdict::unreachable;
        std::vector<record> records(places.size());
        for (int row = 0; row < PQntuples(r.get()); ++row) {
            const std::string_view name{PQgetvalue(r.get(), row, 0),
                                        static_cast<std::size_t>(PQgetlength(r.get(), row, 0))};
            record& one = records[places.at(name)];
            one.at = static_cast<version>(number_in(*r, row, 1));
            one.exists = *PQgetvalue(r.get(), row, 2) != 0;
            one.bytes.assign(PQgetvalue(r.get(), row, 3), static_cast<std::size_t>(PQgetlength(r.get(), row, 3)));
        }
        for (std::size_t i = 0; i < held.size(); ++i) {
            if (records[i].at != held[i].at) return verdict::conflict;
        }
        found.assign(std::make_move_iterator(records.begin() + static_cast<std::ptrdiff_t>(held.size())),
                     std::make_move_iterator(records.end()));
        return verdict::good;
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
        tries all{how_.patience};
        std::unique_ptr<session> s;
        while (true) {
            s = take(all.late());
            r.said = s ? draw(*s, all.late(), r) : verdict::unreachable;
            if (r.said == verdict::good) break;
            if (r.said == verdict::refused || !all.again()) return;
        }
        const std::int64_t at = s->next++;
        r.at = static_cast<version>(at);
        const result said = quick ? commit_quickly(*s, at, sorted, checked, all.late())
                                  : commit_any(*s, at, sorted, checked, read, all.late());
        if (!is_good(said)) r.said = said ? meaning(*said, r) : verdict::unknown;
        // Only forgotten marks are deleted. If other rows were deleted, the mark tells the commit's result.
        else if (quick)
            r.said = PQcmdTuples(said.get()) == std::to_string(sorted.size()) ? verdict::good : verdict::unknown;
        else r.said = *PQgetvalue(said.get(), 0, 0) != 0 ? verdict::good : verdict::conflict;
        if (r.said == verdict::unknown) links_.drop_all();
        else links_.give_back(std::move(s));
    }

    void forget(std::span<const key> all) noexcept override {
        const std::unique_ptr<session> s = links_.take();
        if (!s) return;
        try {
            std::string keys;
            for (const key& k : all) keys += (keys.empty() ? "'" : ", '") + k + "'";
            const std::string text = "DELETE FROM \"" + how_.prefix + "_records\" WHERE key IN (" + keys + ")";
            static_cast<void>(s->link->run(text.c_str(), clock::now() + how_.patience));
        } catch (const std::bad_alloc&) {  // they stay
        }
    }

    std::unique_ptr<feed> open_feed() override {
        const tries all{how_.patience};
        std::string why;
        std::unique_ptr<postgres_link> l = open(all.late(), why);
        if (!l) return nullptr;
        auto f = std::make_unique<listener>(std::move(l), how_.prefix, how_.patience);
        if (!f->announce(how_.prefix, all.late())) return nullptr;
        return f;
    }

private:
    using written = std::span<const write* const>;
    using versions = std::span<const std::optional<version>>;
    using others = std::unordered_map<std::string_view, version>;

    /// Commits writes that are also exactly the checks.
    result commit_quickly(session& s, std::int64_t at, written all, versions checked, clock::time_point late) const {
        const std::size_t rows = all.size() <= postgres_most_rows ? all.size() : 0;
        const std::string name = "quick" + std::to_string(rows);
        if (!s.knows[rows]) {
            const result known = s.link->prepare(name.c_str(), quick_commit_of(quick_, rows).c_str(), late);
            if (!is_good(known)) return nullptr;  // the commit was not sent, but the connection has ended
            s.knows[rows] = true;
        }
        postgres_parameters p;
        std::string told;
        array keys, seen, present, bytes;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::string at_before = std::to_string(*checked[i]);
            const char* const exists = all[i]->exists ? "t" : "f";
            told += (told.empty() ? "" : ",") + all[i]->of;
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
            for (array* a : {&keys, &seen, &present, &bytes}) p.add(a->take());
        p.add(std::to_string(at));
        p.add(std::to_string(at / postgres_block));
        p.add(told.size() < 7900 ? told : "");
        p.add(all.back()->of);
        return s.link->execute(name.c_str(), p, late);
    }
    /// Commits writes, with the versions that were read of them, if any, and checks of other records (`beside`).
    result commit_any(session& s, std::int64_t at, written all, versions checked, const others& beside,
                      clock::time_point late) const {
        array keys, present, bytes, checks, seen, only_checked;
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
        for (array* a : {&keys, &seen, &present, &bytes, &checks, &only_checked}) p.add(a->take());
        p.add(std::to_string(at));
        p.add(std::to_string(at / postgres_block));
        return s.link->execute("commit", p, late);
    }
    [[nodiscard]] verdict draw(session& s, clock::time_point late, request& of) const {
        if (s.next != s.end) return verdict::good;
        const result r = s.link->run(draw_.c_str(), late);
        std::int64_t block = 0;
        if (!number_of(r, block))
            return r && meaning(*r, of) == verdict::refused ? verdict::refused : verdict::unreachable;
        s.next = block * postgres_block;
        s.end = s.next + postgres_block;
        return verdict::good;
    }

    /// An idle connection may have ended, which is noticed only at its next use.
    result ask_until_answered(const char* statement, const postgres_parameters& asked) {
        tries all{how_.patience};
        do {
            std::unique_ptr<session> s = take(all.late());
            if (!s) continue;
            result r = s->link->execute(statement, asked, all.late());
            if (PQresultStatus(r.get()) == PGRES_TUPLES_OK) {
                links_.give_back(std::move(s));
                return r;
            }
            links_.drop_all();
        } while (all.again());
        return nullptr;
    }

    verdict meaning(const PGresult& r, request& of) const {
        const char* const code = PQresultErrorField(&r, PG_DIAG_SQLSTATE);
        const std::string_view state{code == nullptr ? "" : code};
        if (state.starts_with("40") || state == "22P02") return verdict::conflict;  // an error of postgres_quick_commit
        if (state.empty() || state.starts_with("57") || state.starts_with("08")) return verdict::unknown;
        of.why = "tutti: " + can_.name + " takes no writes: " + PQresultErrorMessage(&r);
        return verdict::refused;
    }

    std::unique_ptr<session> take(clock::time_point late) {
        if (std::unique_ptr<session> s = links_.take()) return s;
        std::string why;
        std::unique_ptr<postgres_link> l = open(late, why);
        return l && make_ready(*l, late) ? std::make_unique<session>(std::move(l)) : nullptr;
    }
    std::unique_ptr<postgres_link> open(clock::time_point late, std::string& why) const {
        std::unique_ptr<postgres_link> l = postgres_link::open(address_, late, why);
        // A table without statistics would be scanned as a whole, which is slow, and so is a new plan for each
        // execution. The isolation level is part of the argument in postgres_schema.hpp, and the database's default may
        // be another one.
        if (l && !is_good(l->run("SET default_transaction_isolation = 'read committed'; SET enable_seqscan = off; "
                                 "SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off; "
                                 "SET plan_cache_mode = force_generic_plan",
                                 late))) {
            why = PQerrorMessage(l->raw());
            return nullptr;
        }
        return l;
    }
    /// REQUIRES: the tables exist.
    [[nodiscard]] bool make_ready(postgres_link& l, clock::time_point late) const {
        return is_good(l.prepare("get", get_.c_str(), late)) && is_good(l.prepare("plain", plain_.c_str(), late)) &&
               is_good(l.prepare("commit", commit_.c_str(), late));
    }

    const postgres_address address_;
    const settings how_;
    capabilities can_;
    std::string get_, plain_, commit_, quick_, draw_;
    links<session> links_;
};

}  // namespace

std::unique_ptr<engine> open_postgres(const std::string& url, const settings& how) {
    return std::make_unique<postgres>(url, how);
}

}  // namespace tutti::cluster::backend
