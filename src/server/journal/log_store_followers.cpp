// The functions of the log's file that leaders and followers use.
#include <sqlite3.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <utility>

#include "server/journal/statement.hpp"

namespace tutti::server::journal {
namespace {

constexpr std::uint64_t max_leader_epochs = 1000;  // the newest ones; only followers that lag far behind need more

}  // namespace

std::vector<leader_epoch> log_store::leader_epochs() {
    std::vector<leader_epoch> all;
    statement each{*this, "SELECT term, id, first FROM branches ORDER BY number"};
    while (each.step("be read")) all.push_back({each.number(0), each.number(1), each.number(2)});
    return all;
}

void log_store::write_leader_epoch(const leader_epoch& b) {
    statement{*this, "INSERT INTO branches(term, id, first) VALUES(?, ?, ?)"}
        .bind(b.term)
        .bind(b.id)
        .bind(b.first)
        .step("be written");
}

void log_store::forget_old_leader_epochs() {
    statement{*this, "DELETE FROM branches WHERE number <= (SELECT max(number) FROM branches) - ?"}
        .bind(max_leader_epochs)
        .step("be written");
}

void log_store::add_leader_epoch(const leader_epoch& b) {
    change_durably([&] {
        write_leader_epoch(b);
        forget_old_leader_epochs();
    });
}

void log_store::add_leader_epoch(const leader_epoch& b, const std::optional<handed_over>& latest) {
    change_durably([&] {
        write_leader_epoch(b);
        forget_old_leader_epochs();
        write_handover(latest);
    });
}

leader_epoch log_store::last_leader_epoch() {
    const std::uint64_t end_of_log = end();
    leader_epoch last;
    for (const leader_epoch& b : leader_epochs()) {
        if (b.first < end_of_log) last = b;
    }
    return last;
}

void log_store::append(std::span<const group> groups, const std::vector<leader_epoch>& later, std::uint64_t upto,
                       std::uint64_t term, bool sync) {
    const leader_epoch own = last_leader_epoch();
    const std::vector<leader_epoch> all = leader_epochs();
    auto behind = std::ranges::find_if(all, [&](const leader_epoch& b) { return b.is(own); });
    behind = own.id == 0 ? all.begin() : behind + 1;
    std::vector<leader_epoch> reached;
    std::ranges::copy_if(later, std::back_inserter(reached), [&](const leader_epoch& b) { return b.first <= upto; });
    const bool is_same = std::ranges::equal(std::ranges::subrange{behind, all.end()}, reached, &leader_epoch::is);
    const bool is_news = !is_same || term > latest_term();
    if (groups.empty() && !is_news) return;
    synchronize(sync || is_news);
    change([&] {
        if (is_news) {
            record_term(term);
            statement{*this,
                      "DELETE FROM branches WHERE number >"
                      " ifnull((SELECT max(number) FROM branches WHERE term = ? AND id = ?), 0)"}
                .bind(own.term)
                .bind(own.id)
                .step("be written");
            for (const leader_epoch& b : reached) write_leader_epoch(b);
            forget_old_leader_epochs();
        }
        add_groups(groups);
    });
    if (!groups.empty() && (sync || is_news)) record_end(groups.back().last + 1);
    else if (is_news) record_all();
    count(groups);
}

std::uint64_t log_store::announced_term() { return number("SELECT term FROM heard"); }

void log_store::record_term(std::uint64_t term) {
    statement{*this, "UPDATE heard SET term = max(term, ?)"}.bind(term).step("be written");
}

void log_store::record_announced_term(std::uint64_t term) {
    change_durably([&] { record_term(term); });
}

std::uint64_t log_store::latest_term() {
    return number("SELECT max(term, ifnull((SELECT max(term) FROM branches), 0)) FROM heard");
}

std::vector<former_leader> log_store::former_leaders() {
    std::vector<former_leader> all;
    // The table may be missing, because a damaged log is read without a change. The log's first start may have been
    // interrupted before the table was created, or an earlier version, which does not create the table, wrote the log.
    if (number("SELECT count(*) FROM sqlite_schema WHERE name = 'former_leaders'") == 0) return all;
    statement each{*this, "SELECT host, port, user, tls_authority FROM former_leaders ORDER BY host, port"};
    while (each.step("be read")) {
        all.push_back({.host = std::string{each.bytes(0)},
                       .port = static_cast<std::uint16_t>(each.number(1)),
                       .user = std::string{each.bytes(2)},
                       .tls_authority = std::string{each.bytes(3)}});
    }
    return all;
}

void log_store::add_former_leader(const former_leader& l) {
    change_durably([&] {
        statement{*this, "INSERT OR REPLACE INTO former_leaders VALUES(?, ?, ?, ?)"}
            .bind(l.host)
            .bind(std::uint64_t{l.port})
            .bind(l.user)
            .bind(l.tls_authority)
            .step("be written");
    });
}

void log_store::forget_former_leader(const std::string& host, std::uint16_t port) {
    change_durably([&] {
        statement{*this, "DELETE FROM former_leaders WHERE host = ? AND port = ?"}
            .bind(host)
            .bind(std::uint64_t{port})
            .step("be written");
    });
}

std::optional<handed_over> log_store::latest_handover() {
    statement one{*this, "SELECT leads, host, port FROM handed_over"};
    if (!one.step("be read")) return std::nullopt;
    return handed_over{.leads = one.number(0) != 0,
                       .host = std::string{one.bytes(1)},
                       .port = static_cast<std::uint16_t>(one.number(2))};
}

void log_store::write_handover(const std::optional<handed_over>& h) {
    statement{*this, "DELETE FROM handed_over"}.step("be written");
    if (!h) return;
    statement{*this, "INSERT INTO handed_over VALUES(1, ?, ?, ?)"}
        .bind(std::uint64_t{h->leads ? 1U : 0U})
        .bind(h->host)
        .bind(std::uint64_t{h->port})
        .step("be written");
}

void log_store::record_handover(const handed_over& h) {
    change_durably([&] { write_handover(h); });
}

void log_store::forget_handover() {
    change_durably([&] { write_handover(std::nullopt); });
}

std::optional<redirection> log_store::latest_redirection() {
    statement one{*this, "SELECT from_host, from_port, to_host, to_port FROM redirection"};
    if (!one.step("be read")) return std::nullopt;
    const auto address_at = [&](int column) {
        return redirection::address{.host = std::string{one.bytes(column)},
                                    .port = static_cast<std::uint16_t>(one.number(column + 1))};
    };
    return redirection{.from = address_at(0), .to = address_at(2)};
}

void log_store::record_redirection(const redirection& r) {
    change_durably([&] {
        statement{*this, "INSERT OR REPLACE INTO redirection VALUES(1, ?, ?, ?, ?)"}
            .bind(r.from.host)
            .bind(std::uint64_t{r.from.port})
            .bind(r.to.host)
            .bind(std::uint64_t{r.to.port})
            .step("be written");
    });
}

void log_store::forget_redirection() {
    if (!latest_redirection()) return;
    change_durably([&] { statement{*this, "DELETE FROM redirection"}.step("be written"); });
}

std::uint64_t log_store::follower_id() {
    if (const std::uint64_t id = number("SELECT id FROM follower"); id != 0) return id;
    std::random_device chance;
    const std::uint64_t id = (std::uint64_t{chance()} << 32) | chance() | 1;
    change_durably([&] { statement{*this, "INSERT INTO follower VALUES(1, ?)"}.bind(id).step("be written"); });
    return id;
}

std::uint64_t log_store::first_stored_position() { return number("SELECT kept_from FROM position"); }

std::vector<group> log_store::read_from(std::uint64_t from, std::size_t max_bytes) {
    std::vector<group> all;
    statement each{*this, "SELECT first, last, checksum, records, kind FROM calls WHERE first >= ? ORDER BY first"};
    each.bind(from);
    std::uint64_t next = from;
    for (std::size_t bytes = 0; bytes < max_bytes && each.step("be read");) {
        require_order(next, each.number(0), each.number(1));
        next = each.number(1) + 1;
        if (!each.is_whole(3, 2, 4)) throw_damaged_group(each.number(0));
        all.push_back({.first = each.number(0), .last = each.number(1), .records = std::string{each.bytes(3)}});
        bytes += each.bytes(3).size();
    }
    for (group& g : all) {
        statement of{*this, "SELECT key, call, answer, at FROM answers WHERE of_group = ?"};
        of.bind(g.first);
        while (of.step("be read")) g.answers.push_back(of.answer());
    }
    return all;
}

std::uint64_t log_store::bytes_from(std::uint64_t from) {
    if (!bytes_) {
        position_index all;
        statement each{*this, "SELECT first, length(records) FROM calls ORDER BY first"};
        while (each.step("be read")) all.add(each.number(0), each.number(1));
        bytes_ = std::move(all);
    }
    const position_index::indexed_end near = bytes_->from(from);
    statement s{*this, "SELECT sum(length(records)) FROM calls WHERE first >= ? AND first < ?"};
    s.bind(from).bind(near.end);
    return near.behind + (s.step("be read") ? s.number(0) : 0);
}

initial_copy log_store::describe_copy() {
    initial_copy c;
    c.position = snapshot_position();
    c.epochs = leader_epochs();
    c.parts = number("SELECT count(*) FROM snapshot");
    statement each{*this,
                   "SELECT key, call, answer, at FROM answers, position WHERE of_group < of_snapshot ORDER BY at"};
    while (each.step("be read")) c.answers.push_back(each.answer());
    return c;
}

std::string log_store::part(std::uint64_t number) {
    statement s{*this, "SELECT checksum, part, kind FROM snapshot WHERE number = ?"};
    s.bind(number);
    if (!s.step("be read") || !s.is_whole(1, 0, 2)) {
        throw_damage("part " + std::to_string(number) + " of its snapshot is missing or does not have its checksum",
                     std::nullopt);
    }
    return std::string{s.bytes(1)};
}

void log_store::replace_by(const initial_copy& c, const std::function<std::string(std::uint64_t)>& part) {
    bytes_.reset();
    write_through();
    durable_end_.lower(c.position);
    change([&] {
        for (const char* const table : {"calls", "answers", "snapshot", "branches"})
            statement{*this, ("DELETE FROM " + std::string{table}).c_str()}.step("be written");
        for (std::uint64_t n = 1; n <= c.parts; ++n) add_part("snapshot", n, part(n));
        std::uint64_t latest = 0;
        for (const leader_epoch& b : c.epochs) {
            if (b.first <= c.position) write_leader_epoch(b);
            latest = std::max(latest, b.term);
        }
        record_term(latest);
        add_answers(c.answers, 0);
        statement{*this, "UPDATE position SET of_snapshot = ?, kept_from = ?"}
            .bind(c.position)
            .bind(c.position)
            .step("be written");
    });
    record_all();
}

}  // namespace tutti::server::journal
