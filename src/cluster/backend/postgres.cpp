#include "cluster/backend/postgres.hpp"

#include <endian.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <unordered_map>

#include "cluster/backend/link.hpp"
#include "cluster/backend/postgres_link.hpp"
#include "cluster/backend/postgres_schema.hpp"
#include "cluster/backend/tries.hpp"

namespace tutti::cluster::backend {
namespace {

using clock = std::chrono::steady_clock;
using result = postgres_link::result;

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

class listener final : public feed {
public:
    listener(std::unique_ptr<postgres_link> l, const std::string& prefix, std::chrono::milliseconds patience)
        : link_{std::move(l)}, patience_{patience}, watch_{with_prefix(postgres_watch, prefix)} {
        watch_.replace(watch_.find("$1"), 2, std::to_string(announcement.count()));
    }

    /// B5 holds from its return on, for `announced`. One transaction, at whose end it listens, and lets commits go on.
    bool announce(const std::string& prefix, clock::time_point late) {
        announced_ = clock::now();
        const std::string statements = "LISTEN \"" + prefix + "_written\"; " + watch_ +
                                       "; SELECT pg_advisory_xact_lock(hashtext('" + prefix + "_watched'))";
        return is_good(link_->run(statements.c_str(), late));
    }

    bool next(std::vector<key>& written) override {
        PGconn* const c = link_->raw();
        while (!closed_.load(std::memory_order_relaxed)) {
            const auto age = clock::now() - announced_;
            if (age > announcement / 2) return false;  // stopped for long: commits may have told nobody meanwhile
            if (age > announcement / 6) {
                announced_ = clock::now();
                if (!is_good(link_->run(watch_.c_str(), announced_ + patience_))) return false;
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

    std::unique_ptr<postgres_link> link_;
    const std::chrono::milliseconds patience_;
    std::string watch_;
    clock::time_point announced_{};
    std::atomic<bool> closed_{false};
};

class postgres final : public engine {
public:
    postgres(const std::string& url, const settings& how) : address_{resolve_postgres(url)}, how_{how} {
        can_.name = "PostgreSQL";
        get_ = with_prefix(postgres_get, how.prefix);
        commit_ = with_prefix(postgres_commit, how.prefix);
        quick_ = with_prefix(postgres_quick_commit, how.prefix);
        const tries all{how.patience};
        std::string why;
        std::unique_ptr<postgres_link> l = open(all.late(), why);
        if (!l) throw refusal{"PostgreSQL cannot be reached: " + why};
        PGconn* const c = l->raw();
        can_.name += std::string{" at "} + PQhost(c) + ":" + PQport(c) + "/" + PQdb(c);
        // Two that make the same table at once would get an error of the catalogue.
        const std::string make = "SET client_min_messages = warning; SELECT pg_advisory_xact_lock(hashtext('tutti'));" +
                                 with_prefix(postgres_schema, how.prefix);
        if (const result r = l->run(make.c_str(), all.late()); !is_good(r))
            throw refusal{can_.name + " does not let its tables be made: " + (r ? PQerrorMessage(c) : "no answer")};
        const auto setting = [&](const char* name) {
            const result r = l->run((std::string{"SHOW "} + name).c_str(), all.late());
            return PQresultStatus(r.get()) == PGRES_TUPLES_OK ? std::string{PQgetvalue(r.get(), 0, 0)} : std::string{};
        };
        can_.durable = setting("fsync") == "on" && setting("synchronous_commit") != "off";
        if (make_ready(*l, all.late())) links_.give_back(std::move(l));
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
        const char* values[] = {first.c_str(), second.c_str()};
        const result r = ask_until_answered(values);
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
        // In the order of the keys, in which the rows are locked.
        std::vector<const write*> sorted;
        for (const write& w : r.writes) sorted.push_back(&w);
        std::ranges::sort(sorted, {}, &write::of);
        std::unordered_map<std::string_view, version> read;
        for (const check& c : r.checks) read.emplace(c.of, c.at);
        array checks, versions, written, present, bytes, beside;
        bool quick = true;
        for (const write* w : sorted) {
            const auto seen = read.extract(w->of);
            quick = quick && !seen.empty() && seen.mapped() != 0;
            if (!seen.empty()) {
                checks.add(w->of);
                versions.add(std::to_string(seen.mapped()));
            }
            written.add(w->of);
            present.add(w->exists ? "t" : "f");
            bytes.add_bytes(w->bytes);
        }
        quick = quick && read.empty();
        for (const auto& [of, at] : read) {
            checks.add(of);
            versions.add(std::to_string(at));
            beside.add(of);
        }
        const std::string texts[] = {written.take(), versions.take(), present.take(),
                                     bytes.take(),   checks.take(),   beside.take()};
        const char* values[6];
        std::ranges::transform(texts, values, &std::string::c_str);
        tries all{how_.patience};
        std::unique_ptr<postgres_link> l;
        while (!(l = take(all.late()))) {
            if (all.again()) continue;
            r.said = verdict::unreachable;
            return;
        }
        const result said =
            quick ? l->execute("quick", 4, values, all.late()) : l->execute("commit", 6, values, all.late());
        if (PQresultStatus(said.get()) == PGRES_TUPLES_OK) {
            r.at = static_cast<version>(number_in(*said, 0, 0));
            r.said = r.at == 0 ? verdict::conflict : verdict::good;
        } else {
            r.said = said ? meaning(*said, r) : verdict::unknown;
        }
        if (r.said == verdict::unknown) links_.drop_all();
        else links_.give_back(std::move(l));
    }

    void forget(std::span<const key> all) noexcept override {
        const std::unique_ptr<postgres_link> l = links_.take();
        if (!l) return;
        try {
            std::string keys;
            for (const key& k : all) keys += (keys.empty() ? "'" : ", '") + k + "'";
            const std::string text = "DELETE FROM \"" + how_.prefix + "_records\" WHERE key IN (" + keys + ")";
            static_cast<void>(l->run(text.c_str(), clock::now() + how_.patience));
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
    /// A connection that has lain idle may have ended, and says so only when it is used.
    result ask_until_answered(const char* const (&values)[2]) {
        tries all{how_.patience};
        do {
            std::unique_ptr<postgres_link> l = take(all.late());
            if (!l) continue;
            result r = l->execute("get", 2, values, all.late());
            if (PQresultStatus(r.get()) == PGRES_TUPLES_OK) {
                links_.give_back(std::move(l));
                return r;
            }
            links_.drop_all();
        } while (all.again());
        return nullptr;
    }

    verdict meaning(const PGresult& r, request& of) const {
        const char* const code = PQresultErrorField(&r, PG_DIAG_SQLSTATE);
        const std::string_view state{code == nullptr ? "" : code};
        if (state.starts_with("40") || state == "22P02") return verdict::conflict;  // postgres_quick_commit's
        if (state.empty() || state.starts_with("57") || state.starts_with("08")) return verdict::unknown;
        of.why = "tutti: " + can_.name + " takes no writes: " + PQresultErrorMessage(&r);
        return verdict::refused;
    }

    std::unique_ptr<postgres_link> take(clock::time_point late) {
        if (std::unique_ptr<postgres_link> l = links_.take()) return l;
        std::string why;
        std::unique_ptr<postgres_link> l = open(late, why);
        return l && make_ready(*l, late) ? std::move(l) : nullptr;
    }
    std::unique_ptr<postgres_link> open(clock::time_point late, std::string& why) const {
        std::unique_ptr<postgres_link> l = postgres_link::open(address_, late, why);
        // A table without statistics is read as a whole, which is slow; so is a plan for each execution. The isolation
        // is a part of the argument in postgres_schema.hpp, and the database may have another one as its default.
        if (l && !is_good(l->run("SET default_transaction_isolation = 'read committed'; SET enable_seqscan = off; "
                                 "SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off; "
                                 "SET plan_cache_mode = force_generic_plan",
                                 late))) {
            why = PQerrorMessage(l->raw());
            return nullptr;
        }
        return l;
    }
    /// REQUIRES: the tables are there.
    [[nodiscard]] bool make_ready(postgres_link& l, clock::time_point late) const {
        return is_good(l.prepare("get", get_.c_str(), late)) && is_good(l.prepare("commit", commit_.c_str(), late)) &&
               is_good(l.prepare("quick", quick_.c_str(), late));
    }

    const postgres_address address_;
    const settings how_;
    capabilities can_;
    std::string get_, commit_, quick_;
    links<postgres_link> links_;
};

}  // namespace

std::unique_ptr<engine> open_postgres(const std::string& url, const settings& how) {
    return std::make_unique<postgres>(url, how);
}

}  // namespace tutti::cluster::backend
