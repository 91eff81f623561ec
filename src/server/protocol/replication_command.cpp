#include "server/protocol/replication_command.hpp"

#include <cinttypes>
#include <cstdio>

#include "server/calls/words.hpp"
#include "server/journal/machine_secret.hpp"
#include "server/journal/stream.hpp"
#include "server/protocol/numbers.hpp"
#include "server/protocol/request.hpp"
#include "server/protocol/service_control.hpp"
#include "server/protocol/session.hpp"
#include "tutti/server/endpoint.hpp"

namespace tutti::server {
namespace {

using words = std::span<const std::string_view>;
using std::chrono::milliseconds;

constexpr milliseconds max_fetch_wait{10'000};

std::uint64_t count(std::string_view name, std::string_view given) { return number<std::uint64_t>(name, given); }

std::uint64_t term(std::string_view given) {
    const std::uint64_t all = count("term", given);
    if (all <= journal::latest_possible_term) return all;
    throw bad_argument{"no server has reached term " + std::string{given} + ": terms count promotions"};
}

bool same_version(words given, reply& to) {
    if (count("FOLLOW", given[2]) == journal::stream_version) return true;
    to.error("VERSION", "this server speaks version " + std::to_string(journal::stream_version) +
                            " to followers, and was asked for " + std::string{given[2]} +
                            ": install the same version of both");
    return false;
}

/// Returns the address of a follower. A follower that listens on all addresses does not know by which address other
/// servers reach it. For such a follower, this server uses the address that the connection comes from.
std::string address_of(std::string_view said, const session& who) {
    const std::optional<endpoint> own = parse_endpoint(said);
    const bool is_any = own && (own->host == "0.0.0.0" || own->host == "::");
    if (!is_any || who.entry == nullptr) return std::string{said};
    const std::optional<endpoint> peer = parse_endpoint(who.entry->address());
    return peer ? to_string(endpoint{peer->host, own->port}) : std::string{said};
}

/// Reads FOLLOW PULL version follower address term epoch end upto upto-epoch bytes milliseconds.
void prepare_fetch(const session& who, words given, replication_command& q) {
    const std::uint64_t max_bytes = count("bytes", given[10]);
    if (max_bytes == 0)
        throw bad_argument{"bytes: give at least 1, because an empty chunk shows that nothing is missing"};
    q.what = journal::deferred_request::kind::fetch;
    q.fetched = {.follower = count("follower", given[3]),
                 .address = address_of(given[4], who),
                 .own_epoch = {.term = term(given[5]), .id = count("epoch", given[6])},
                 .end = count("end", given[7]),
                 .upto = count("upto", given[8]),
                 .upto_epoch = count("upto-epoch", given[9]),
                 .max_bytes = max_bytes};
    const milliseconds wanted_wait{number<int>("milliseconds", given[11])};
    q.until = journal::deferred_request::clock::now() + std::clamp(wanted_wait, milliseconds{0}, max_fetch_wait);
}

void answer_copy(journal::journal& log, std::string& answer) {
    std::string text;
    log.record_copying();
    log.with_file([&](journal::log_store& file) { text = encode(file.describe_copy()); });
    reply{answer}.text(text);
}

void answer_part(journal::journal& log, std::uint64_t position, std::uint64_t part, std::string& answer) {
    std::string text;
    bool is_same = false;
    log.record_copying();
    log.with_file([&](journal::log_store& file) {
        is_same = file.snapshot_position() == position;
        if (is_same) text = journal::seal(file.part(part));
    });
    if (is_same) reply{answer}.text(text);
    else reply{answer}.error("ANOTHER", "a newer snapshot has replaced it: begin again");
}

bool prepare_follow(const replication_access& of, const session& who, words given, replication_command& q, reply& to) {
    journal::journal& log = *of.log;
    const auto is = [&](std::string_view name, std::size_t size) {
        return given.size() == size && equals_ignoring_case(given[1], name);
    };
    q.what = journal::deferred_request::kind::task;
    if (is("PULL", 12)) {
        if (!same_version(given, to)) return false;
        prepare_fetch(who, given, q);
    } else if (is("COPY", 3)) {
        if (!same_version(given, to)) return false;
        q.task = [&log](std::string& answer) { answer_copy(log, answer); };
    } else if (is("PART", 5)) {
        if (!same_version(given, to)) return false;
        q.task = [&log, position = count("position", given[3]), part = count("part", given[4])](std::string& answer) {
            answer_part(log, position, part, answer);
        };
    } else if (is("TERM", 5)) {
        if (!same_version(given, to)) return false;
        q.task = [&log, term = term(given[3]), who = std::string{given[4]}](std::string& answer) {
            log.followers().handle_announced_term(term, "the server at " + who);
            // If the other server leads in an earlier term, it has to learn this server's term.
            const journal::replication_statistics own = log.followers().statistics();
            const bool is_later = own.leads && own.refuses.empty() && own.epoch.term > term;
            reply{answer}.status(is_later ? "LATER " + std::to_string(own.epoch.term) : "OK");
        };
    } else if (is("HAS", 6)) {
        if (!same_version(given, to)) return false;
        q.task = [&log, address = address_of(given[3], who), end = count("end", given[4]),
                  all = journal::leader_epochs_in(given[5])](std::string& answer) {
            const std::string lost = log.followers().compare(address, all, end);
            if (lost.empty()) reply{answer}.status("OK");
            else reply{answer}.error("DIVERGED", lost);
        };
    } else if (is("ORDER", 5)) {
        if (!same_version(given, to)) return false;
        const bool is_void = equals_ignoring_case(given[4], "VOID");
        if (!is_void && !equals_ignoring_case(given[4], "KEEP"))
            throw bad_argument{"syntax error: FOLLOW ORDER ends with KEEP or VOID"};
        q.task = [&control = of.control, number = count("order", given[3]), is_void](std::string& answer) {
            reply{answer}.status(control.answer_order(number, is_void));
        };
    } else {
        to.error("ERR", "unknown FOLLOW subcommand; followers send PULL, COPY, PART, TERM, HAS or ORDER");
        return false;
    }
    return true;
}

/// Reads FAILOVER [TO host port] [TIMEOUT milliseconds], as in Redis. Unlike in Redis, the answer is sent when the
/// other server leads.
bool prepare_failover(const replication_access& of, words given, replication_command& q, reply& to) {
    constexpr int usual = 10'000, most = 3'600'000;
    std::string whom;
    milliseconds time_limit{usual};
    for (std::size_t at = 1; at < given.size();) {
        if (equals_ignoring_case(given[at], "TO") && given.size() - at > 2) {
            const auto port = number<std::uint16_t>("FAILOVER TO", given[at + 2]);
            whom = to_string(endpoint{without_brackets(std::string{given[at + 1]}), port});
            at += 3;
        } else if (equals_ignoring_case(given[at], "TIMEOUT") && given.size() - at > 1) {
            time_limit = milliseconds{number<int>("FAILOVER TIMEOUT", given[at + 1])};
            if (time_limit.count() < 1 || time_limit.count() > most)
                throw bad_argument{"FAILOVER TIMEOUT: give 1 to " + std::to_string(most) + " milliseconds"};
            at += 2;
        } else {
            to.error("ERR", "syntax error: FAILOVER [TO <host> <port>] [TIMEOUT <milliseconds>]");
            return false;
        }
    }
    try {
        const auto outcome = of.control.hand_over(std::move(whom), time_limit);
        q.what = journal::deferred_request::kind::event;
        q.has_happened = [outcome] { return outcome->is_over.load(); };
        q.task = [outcome](std::string& answer) {
            if (!outcome->is_over)
                reply{answer}.error("ERR", "a failover is in progress, and this server is shutting down");
            else if (outcome->error.empty()) reply{answer}.status("OK");
            else reply{answer}.error("ERR", outcome->error);
        };
        return true;
    } catch (const std::runtime_error& e) {
        to.error("ERR", e.what());
        return false;
    }
}

}  // namespace

void replication_command::complete(std::string answer) noexcept {
    if (what != kind::repeat) {
        of_.answer = std::move(answer);
    } else {
        std::uint64_t having = 0;
        const bool counted = std::sscanf(answer.c_str(), ":%" SCNu64, &having) == 1;
        if (!counted) of_.answer = std::move(answer);  // there is no memory
        else if (having < min_followers) static_cast<void>(answer_unreplicated(of_.what, of_.answer));
    }
    of_.complete();
}

bool replication_command::is_client_gone() const noexcept {
    return of_.is_client_gone.load(std::memory_order_relaxed) || of_.abandon_flag();
}

bool is_login_of_follower(words given) noexcept {
    return given.size() == 3 && equals_ignoring_case(given[0], "FOLLOW") && equals_ignoring_case(given[1], "AUTH");
}

bool admit_follower(const settings& how, words given, reply& to) {
    bool right = false;
    try {
        const std::string& password = how.replication_password;
        right = how.unprotected ||
                journal::is_same_secret(given[2], password.empty() ? journal::machine_secret() : password);
    } catch (const std::runtime_error& e) {
        to.error("ERR", e.what());
        return false;
    }
    if (right) to.status("OK");
    else to.error("WRONGPASS", "invalid replication password; give both servers the same --replication-password-file");
    return right;
}

bool is_replication_command(words given) noexcept {
    return equals_ignoring_case(given[0], "WAIT") || equals_ignoring_case(given[0], "FOLLOW") ||
           equals_ignoring_case(given[0], "REPLICAOF") || equals_ignoring_case(given[0], "SLAVEOF") ||
           equals_ignoring_case(given[0], "FAILOVER");
}

bool prepare_replication_command(const replication_access& of, const session& who, words given, request& r, reply& to) {
    replication_command& q = r.deferred;
    bool is_deferred = false;
    if (equals_ignoring_case(given[0], "WAIT")) {
        if (given.size() != 3) {
            to.error("ERR",
                     "wrong number of arguments for 'wait' command: WAIT <followers> <milliseconds>; 0 milliseconds: "
                     "no timeout");
        } else {
            q.min_followers = count("WAIT", given[1]);
            const auto time_limit = number<std::int64_t>("WAIT", given[2]);
            if (time_limit < 0) throw bad_argument{"WAIT: timeout is negative"};
            constexpr std::int64_t a_year = 365LL * 24 * 3600 * 1000;
            if (time_limit != 0)
                q.until = replication_command::clock::now() + milliseconds{std::min(time_limit, a_year)};
            if (of.log == nullptr) to.integer(0);
            is_deferred = of.log != nullptr;
            q.what = is_deferred ? replication_command::kind::wait : replication_command::kind::none;
        }
        return is_deferred;
    }
    if (of.log == nullptr) {
        to.error("ERR", "this server has no log, so it cannot lead or follow; start it with --log");
        return false;
    }
    if (equals_ignoring_case(given[0], "FOLLOW")) {
        is_deferred = given.size() > 2 && prepare_follow(of, who, given, q, to);
        if (given.size() <= 2) to.error("ERR", "wrong number of arguments for 'follow' command");
    } else if (equals_ignoring_case(given[0], "FAILOVER")) {
        is_deferred = prepare_failover(of, given, q, to);
    } else if (given.size() != 3 || !equals_ignoring_case(given[1], "NO") || !equals_ignoring_case(given[2], "ONE")) {
        to.error("ERR", "REPLICAOF supports only NO ONE; to follow another server, restart with --follow");
    } else {
        q.what = replication_command::kind::task;
        q.task = [&control = of.control](std::string& answer) {
            const std::string why_not = control.promote();
            if (why_not.empty()) reply{answer}.status("OK");
            else reply{answer}.error("ERR", why_not);
        };
        is_deferred = true;
    }
    if (!is_deferred) q.reset();
    return is_deferred;
}

void write_role(journal::journal* log, reply& to) {
    if (log == nullptr) {
        to.list(3);
        to.text("master");
        to.integer(0);
        to.list(0);
        return;
    }
    const journal::replication_statistics f = log->followers().statistics();
    const auto split = [](const std::string& address) {
        return parse_endpoint(address).value_or(endpoint{.host = address, .port = 0});
    };
    if (!f.leads) {
        const auto [host, port] = split(f.leader);
        to.list(5);
        to.text("slave");
        to.text(host);
        to.integer(port);
        to.text(f.link && f.link->is_connected ? "connected" : "connect");
        to.integer(static_cast<std::int64_t>(f.position));
        return;
    }
    to.list(3);
    to.text("master");
    to.integer(static_cast<std::int64_t>(f.position));
    to.list(f.followers.size());
    for (const auto& one : f.followers) {
        const auto [host, port] = split(one.address);
        to.list(3);
        to.text(host);
        to.text(std::to_string(port));
        to.text(std::to_string(one.position));
    }
}

}  // namespace tutti::server
