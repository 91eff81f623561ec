#include "server/protocol/commands.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "server/calls/words.hpp"
#include "server/journal/checksum.hpp"
#include "server/protocol/call_line.hpp"
#include "server/protocol/client_command.hpp"
#include "server/protocol/numbers.hpp"

namespace tutti::server {
namespace {

using words = std::span<const std::string_view>;

constexpr std::string_view wrong_password = "invalid username-password pair or user is disabled.";
constexpr std::string_view nameless = "default";  // the user's name if a client gives only a password

/// Thrown when a request is refused.
struct refusal {
    std::string_view code;
    std::string text;
};

/// Returns the credentials in AUTH or HELLO: a name and a password, or nothing.
words credentials(words given) {
    if (same_word(given[0], "AUTH")) return given.size() > 3 ? words{} : given.subspan(1);
    if (!same_word(given[0], "HELLO")) return {};
    for (std::size_t i = 2; i + 2 < given.size(); i += same_word(given[i], "AUTH") ? 3 : 2) {
        if (same_word(given[i], "AUTH")) return given.subspan(i + 1, 2);
    }
    return {};
}

/// Enforces the user's limits: throws if the user may not call the procedure or use the priority.
void keep_within(const account& a, call_line& l) {
    const procedure& p = l.which->what;
    const user& who = a.what;
    if (!a.may_call(p.name))
        throw refusal{"NOPERM", "this user has no permissions to call the procedure '" + p.name + "'"};
    if (l.priority.value_or(0) > who.highest)
        throw bad_argument{p.name + ": you may bring a PRIORITY from 0 to " + std::to_string(who.highest)};
    if (!l.priority && p.options.priority > who.highest) l.priority = who.highest;
}

/// Returns true for commands about other clients or other servers.
bool is_operation(words given) {
    return same_word(given[0], "TIMELINE") || same_word(given[0], "SLOWLOG") || same_word(given[0], "FOLLOW") ||
           same_word(given[0], "REPLICAOF") || same_word(given[0], "SLAVEOF") || same_word(given[0], "FAILOVER") ||
           (same_word(given[0], "CLIENT") && given.size() > 1 &&
            (same_word(given[1], "LIST") || same_word(given[1], "KILL")));
}

}  // namespace

struct commands::command {
    std::string_view name;
    std::size_t least, most;  // number of words, including the name
    void (*run)(const commands& self, session& who, words given, reply& to);
};

const commands::command commands::list[17] = {
    {"PING", 1, 2,
     [](const commands&, session&, words given, reply& to) {
         if (given.size() == 1) to.status("PONG");
         else to.text(given[1]);
     }},
    {"ECHO", 2, 2, [](const commands&, session&, words given, reply& to) { to.text(given[1]); }},
    {"INFO", 1, 16, [](const commands& self, session&, words, reply& to) { to.text(self.info_()); }},
    {"AUTH", 2, 3, [](const commands& self, session& who, words given, reply& to) { self.auth(who, given, to); }},
    {"ACL", 2, 16,
     [](const commands&, session& who, words given, reply& to) {
         if (given.size() != 2 || !same_word(given[1], "WHOAMI")) return to.error("ERR", "ACL knows only WHOAMI");
         to.text(who.as == nullptr ? nameless : who.as->what.name);
     }},
    {"HELLO", 1, 8, [](const commands& self, session& who, words given, reply& to) { self.hello(who, given, to); }},
    {"QUIT", 1, 1,
     [](const commands&, session& who, words, reply& to) {
         who.quit = true;
         to.status("OK");
     }},
    {"COMMAND", 1, 1024, [](const commands&, session&, words given, reply& to) { describe(given, to); }},
    {"CLIENT", 2, 16,
     [](const commands& self, session& who, words given, reply& to) { client_command(self.clients_, who, given, to); }},
    {"TIMELINE", 2, 2,
     [](const commands& self, session&, words given, reply& to) {
         if (same_word(given[1], "STOP")) return to.text(self.shown_.stop());
         if (same_word(given[1], "NOW")) return to.text(std::to_string(base::real_now().time_since_epoch().count()));
         if (!same_word(given[1], "START")) return to.error("ERR", "TIMELINE is followed by START, NOW or STOP");
         self.shown_.start();
         to.status("OK");
     }},
    {"ROLE", 1, 1, [](const commands& self, session&, words, reply& to) { tell_role(self.others_, to); }},
    // The journal answers these (take_question).
    {"WAIT", 3, 3, nullptr},
    {"FOLLOW", 3, 16, nullptr},
    {"REPLICAOF", 3, 3, nullptr},
    {"FAILOVER", 1, 6, nullptr},
    {"SLOWLOG", 2, 3, [](const commands& self, session&, words given, reply& to) { self.show_slow(given, to); }},
    // redis-benchmark asks for `save` and `appendonly`. Clients cannot configure anything here.
    {"CONFIG", 3, 16,
     [](const commands&, session&, words given, reply& to) {
         if (!same_word(given[1], "GET")) return to.error("ERR", "CONFIG knows only GET");
         to.map(given.size() - 2);
         for (const std::string_view name : given.subspan(2)) {
             to.text(name);
             to.text("");
         }
     }},
};

// Answers COMMAND, as far as client libraries parse it. The answer has each command's name, arity (negative: at least)
// and flags, and says that it has no keys.
void commands::describe(words given, reply& to) {
    struct arity {
        std::string_view name;
        std::size_t least, most;
    };
    // Commands that are not in the list, because other functions answer them.
    static constexpr std::array others{arity{"CALL", 2, 0}, arity{"MULTI", 1, 1}, arity{"EXEC", 1, 3},
                                       arity{"DISCARD", 1, 1}};
    const std::size_t all = std::size(list) + others.size();
    const auto one = [&to](std::string_view name, std::size_t least, std::size_t most) {
        std::string small{name};
        for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        const auto arity = static_cast<std::int64_t>(least);
        to.list(6);
        to.text(small);
        to.integer(least == most ? arity : -arity);
        to.list(1);
        to.status("fast");
        for (int key = 0; key < 3; ++key) to.integer(0);
    };
    const auto named = [&](std::string_view name) {
        for (const arity& o : others) {
            if (same_word(name, o.name)) return one(o.name, o.least, o.most);
        }
        const auto* const c = std::ranges::find_if(list, [name](const command& e) { return same_word(name, e.name); });
        if (c == std::end(list)) return to.null();
        one(c->name, c->least, c->most);
    };
    if (given.size() == 2 && same_word(given[1], "COUNT")) return to.integer(static_cast<std::int64_t>(all));
    if (given.size() > 1 && same_word(given[1], "DOCS")) return to.map(0);
    if (given.size() > 1 && same_word(given[1], "INFO")) {
        to.list(given.size() - 2);
        for (const std::string_view name : given.subspan(2)) named(name);
        return;
    }
    const bool names_only = given.size() == 2 && same_word(given[1], "LIST");
    if (given.size() > 1 && !names_only) return to.error("ERR", "COMMAND knows COUNT, DOCS, INFO and LIST");
    to.list(all);
    const auto show = [&](std::string_view name) { names_only ? to.text(name) : named(name); };
    for (const arity& o : others) show(o.name);
    for (const command& c : list) show(c.name);
}

bool commands::is_password(std::string_view given) const noexcept {
    // Takes a time that does not show how much of the password is right.
    std::size_t wrong = given.size() ^ password_.size();
    for (std::size_t i = 0; i < given.size(); ++i) {
        const char own = password_.empty() ? '\0' : password_[i % password_.size()];
        wrong |= static_cast<unsigned char>(given[i] ^ own);
    }
    return wrong == 0;
}

/// Lets in a client. For a user, the doorkeeper's verdict decides.
bool commands::let_in(session& who, std::string_view name, std::string_view password) const noexcept {
    const bool right = who.seen != nullptr
                           ? who.seen->state == login_claim::verdict::right
                           : users_.empty() && !password_.empty() && name == nameless && is_password(password);
    if (!right) {
        ++who.failed_logins;
        return false;
    }
    if (who.seen != nullptr) who.as = who.seen->who;
    who.trusted = true;
    return true;
}

/// Returns true if the doorkeeper has to check the request first. `r` then says what to check.
bool commands::asks_door(words given, request& r) const {
    if (users_.empty() || credentials(given).empty()) return false;
    r.keep(given);
    const words own = credentials(r.arguments);
    r.login.password = own.back();
    r.login.who = users_.find(own.size() == 1 ? nameless : own[0]);
    return true;
}

bool commands::is_costly(words given) noexcept {
    return same_word(given.front(), "INFO") || same_word(given.front(), "SLOWLOG") ||
           same_word(given.front(), "COMMAND") || same_word(given.front(), "TIMELINE") ||
           same_word(given.front(), "ROLE") || is_login_of_follower(given) ||
           (same_word(given.front(), "CLIENT") && given.size() > 1 &&
            (same_word(given[1], "LIST") || same_word(given[1], "KILL")));
}

void commands::end_login(session& who, request& r) const {
    reply to{r.answer, who.spoken};
    if (r.login.state == login_claim::verdict::unseen)
        return to.error(code_of(ending::shutdown), "the server is ending");
    if (r.login.state == login_claim::verdict::busy)
        return to.error(code_of(ending::busy), "too many clients log in; try again in some seconds");
    who.seen = &r.login;
    try {
        answer_command(who, r.arguments, to);
    } catch (const bad_argument& e) {
        r.answer.clear();
        reply{r.answer, who.spoken}.error(code_of(ending::argument), e.what());
    } catch (...) {
        who.seen = nullptr;
        throw;
    }
    who.seen = nullptr;
}

void commands::auth(session& who, words given, reply& to) const {
    if (password_.empty() && users_.empty()) return to.error("ERR", "AUTH was sent, but the server has no password");
    if (!let_in(who, given.size() == 2 ? nameless : given[1], given.back()))
        return to.error("WRONGPASS", wrong_password);
    to.status("OK");
}

void commands::show_slow(words given, reply& to) const {
    constexpr std::int64_t usual = 10, all = -1;
    if (same_word(given[1], "GET")) {
        const std::int64_t count = given.size() == 3 ? number<std::int64_t>("SLOWLOG GET", given[2]) : usual;
        if (count < all) throw bad_argument{"SLOWLOG GET is followed by how many calls are wanted; -1: all"};
        return slow_.show(static_cast<std::size_t>(count), to);
    }
    if (given.size() == 2 && same_word(given[1], "LEN")) return to.integer(static_cast<std::int64_t>(slow_.size()));
    if (given.size() != 2 || !same_word(given[1], "RESET"))
        return to.error("ERR", "SLOWLOG is followed by GET and a number, LEN or RESET");
    slow_.reset();
    to.status("OK");
}

void commands::hello(session& who, words given, reply& to) const {
    std::size_t next = 1;
    protocol wanted = who.spoken;
    if (given.size() > 1) {
        const int version = number<int>("HELLO", given[next++]);
        if (version != 2 && version != 3) return to.error("NOPROTO", "the protocol's version is 2 or 3");
        wanted = static_cast<protocol>(version);
    }
    while (next < given.size()) {
        if (same_word(given[next], "AUTH") && given.size() - next > 2) {
            if (!let_in(who, given[next + 1], given[next + 2])) return to.error("WRONGPASS", wrong_password);
            next += 3;
        } else if (same_word(given[next], "SETNAME") && given.size() - next > 1) {
            if (!clients_.set_name(*who.entry, given[next + 1]))
                return to.error("ERR", "SETNAME: a name is one printable word of at most 256 characters");
            next += 2;
        } else {
            return to.error("ERR", "HELLO is followed by a version, AUTH <user> <password>, SETNAME <name>");
        }
    }
    if (!who.trusted)
        return to.error(
            "NOAUTH",
            "HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> "
            "<pass> "
            "option can be used to authenticate the client and select the RESP protocol version at the same time");
    who.spoken = wanted;
    to = reply{to.target(), wanted};
    to.map(4);
    to.text("server");
    to.text("tutti");
    to.text("version");
    to.text(TUTTI_SERVER_VERSION);
    to.text("proto");
    to.integer(static_cast<std::int64_t>(wanted));
    to.text("id");
    to.integer(static_cast<std::int64_t>(who.entry->id()));
}

/// Returns true for a request that would write while the lead is handed over. It stays unread, and runs or is refused
/// afterwards.
bool commands::has_to_wait(const session& who, words given) const noexcept {
    if (others_.log == nullptr || !others_.log->others().holds_calls() || !who.trusted) return false;
    if (same_word(given[0], "EXEC")) return who.queued.has_value();
    if (!same_word(given[0], "CALL") || given.size() < 2) return false;
    try {
        return !read_call(given.subspan(1), procedures_, who.called).which->what.options.read_only;
    } catch (const std::exception&) {
        return false;  // it is refused in the usual way
    }
}

/// Throws if this server does not lead and the procedure may write.
void commands::need_leader(const entry& which) const {
    if (others_.log == nullptr || others_.log->others().takes_writes() || which.what.options.read_only) return;
    throw refusal{"READONLY", which.what.name + ": " + others_.log->others().why_no_writes()};
}

bool commands::take_call(session& who, words given, request& r) const {
    reply to{r.answer, who.spoken};
    if (given.size() < 2) {
        to.error("ERR", "CALL needs the name of a procedure");
        if (who.queued) who.queued->spoil();
        return false;
    }
    call_line line = read_call(given.subspan(1), procedures_, who.called);
    who.called = line.which;
    if (who.as != nullptr) keep_within(*who.as, line);
    if (!takes(*line.which, line.arguments.size(), to)) {
        if (who.queued) who.queued->spoil();
        return false;
    }
    need_leader(*line.which);
    invocation what{.which = line.which, .how = {}, .spoken = who.spoken};
    plan(what, line.priority, line.deadline, r.arrived);
    if (who.as != nullptr && !who.as->admit(r.arrived))
        throw refusal{"RATE", "within a second you may make " + std::to_string(who.as->what.rate) + " calls"};
    if (who.queued) {
        if (line.id) throw bad_argument{"the ID of several calls stands behind EXEC"};
        who.queued->add(line, what);
        to.status("QUEUED");
        return false;
    }
    prepare(std::move(what), line.arguments, r);
    return !line.id || is_first(*line.id, r);
}

/// Returns true if the call in `r` is to run. Otherwise it is answered already.
bool commands::is_first(std::string_view key, request& r) const {
    // The identity of the call that a key stands for.
    std::string all = r.what.which->what.name;
    const auto add = [&all](std::string_view word) {
        all.push_back('\0');
        all.append(word);
    };
    for (const invocation::part& p : r.what.parts) add(p.which->what.name);
    for (const std::string_view a : r.arguments) add(a);
    add(r.what.spoken == protocol::resp2 ? "2" : "3");
    // Logs contain checksums of this kind.
    const std::uint64_t stands_for = journal::checksum(all, journal::checksum_kind::fnv1a);
    r.key = key;  // set before begin(): after that, nothing may fail
    const remembered::state known = answers_.begin(key, stands_for, r.answer, r.arrived);
    if (known == remembered::state::fresh) {
        r.logged.key = r.key;
        r.logged.key_stands_for = stands_for;
        return true;
    }
    r.key.clear();
    // For WAIT: the position of this key's first call is unknown, so this uses the next position.
    if (others_.log != nullptr) r.logged.awaits = others_.log->drawn();
    if (known == remembered::state::answered) repeat_when_replicated(r);
    reply to{r.answer, r.what.spoken};
    if (known == remembered::state::under_way)
        to.error(code_of(ending::busy), "the call of this ID is still under way; ask again later");
    if (known == remembered::state::another_call)
        to.error(code_of(ending::argument), "this ID belongs to another call");
    return false;
}

/// An answer that is repeated promises as much as the first time: the configured number of followers have the call.
/// They may have lacked it the first time, or this server has read the answer from its log.
void commands::repeat_when_replicated(request& r) const {
    if (others_.log == nullptr || !others_.log->others().lacks(r.logged.awaits)) return;
    const log_settings& how = others_.log->settings();
    r.asks.what = question::kind::repeat;
    r.asks.position = r.logged.awaits;
    r.asks.wanted = how.replicas;
    r.asks.until = question::clock::now() + how.replicas_timeout;
}

void commands::prepare(invocation what, words arguments, request& r) {
    r.what = std::move(what);
    r.name = r.what.which->what.name.c_str();
    r.priority = r.what.how.priority;
    r.due = r.what.due;
    r.keep(arguments);
}

// EXEC submits all queued calls as one call. If a request since MULTI was refused, none of the calls runs.
bool commands::execute(session& who, words given, request& r) const {
    reply to{r.answer, who.spoken};
    const bool has_id = given.size() == 3 && same_word(given[1], word_id);
    if (given.size() > 1 && !has_id) throw bad_argument{"EXEC is followed by nothing, or by ID and a key"};
    if (has_id) require_key(given[2]);
    if (!who.queued) {
        to.error("ERR", "EXEC without MULTI");
        return false;
    }
    const multi all = *std::exchange(who.queued, std::nullopt);
    if (all.spoiled()) {
        to.error("EXECABORT", "nothing was run, because a command after MULTI was refused");
        return false;
    }
    if (all.empty()) {
        to.list(0);
        return false;
    }
    prepare(all.whole(*procedures_.together(), who.spoken), all.arguments(), r);
    return !has_id || is_first(given[2], r);
}

/// Answers MULTI, DISCARD and requests that are invalid between MULTI and EXEC. Returns false for any other request.
bool commands::answer_multi(session& who, words given, reply& to) const {
    if (same_word(given[0], "MULTI")) {
        if (who.queued) to.error("ERR", "MULTI calls cannot be nested");
        else if (procedures_.together() == nullptr) to.error("ERR", "MULTI is not to be had here");
        else to.status("OK");
        if (!who.queued && procedures_.together() != nullptr) who.queued.emplace(most_queued_);
        return true;
    }
    if (same_word(given[0], "DISCARD")) {
        if (!who.queued) to.error("ERR", "DISCARD without MULTI");
        else to.status("OK");
        who.queued.reset();
        return true;
    }
    if (same_word(given[0], "WATCH") || same_word(given[0], "UNWATCH")) {
        to.error("ERR", "there are no keys to watch: what a transaction reads is watched anyway");
        if (who.queued) who.queued->spoil();
        return true;
    }
    if (!who.queued || same_word(given[0], "QUIT")) return false;
    who.queued->spoil();
    to.error("ERR", "between MULTI and EXEC there is only CALL");
    return true;
}

commands::outcome commands::take(session& who, words given, request& r) const {
    const bool skipped = std::exchange(who.skips_next, false);
    const outcome then = answer_or_prepare(who, given, r);
    r.silent = skipped || who.replies_off || who.skips_next;
    return then;
}

/// The commands of followers need a credential of their own: see machine_secret.hpp.
bool commands::may_follow(const session& who, words given, reply& to) const {
    if (!same_word(given[0], "FOLLOW") || others_.open_to_all || who.replicates) return true;
    if (others_.log == nullptr) return true;  // it is refused for the missing log
    if (who.as != nullptr && who.as->what.replicates) return true;
    to.error("NOPERM",
             "FOLLOW needs the credential of followers: give this server and those that follow it the same "
             "--replication-password-file, or --follow-user a user with replicates = true; servers of one user on one "
             "machine need neither");
    return false;
}

bool commands::may_ask(const session& who, words given, reply& to) {
    if (who.as == nullptr || who.as->what.operates || !is_operation(given)) return true;
    if (who.as->what.replicates && same_word(given[0], "FOLLOW")) return true;
    std::string name{given[0].substr(0, 64)};
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    to.error("NOPERM", "this user has no permissions to run the '" + name + "' command");
    return false;
}

void commands::answer_command(session& who, words given, reply& to) const {
    const auto* const known = std::ranges::find_if(list, [&](const command& c) { return same_word(given[0], c.name); });
    const bool public_one = same_word(given[0], "AUTH") || same_word(given[0], "HELLO") || same_word(given[0], "QUIT");
    if (!who.trusted && !public_one) {
        to.error("NOAUTH", "Authentication required.");
    } else if (known == std::end(list)) {
        to.error("ERR", "there is no command '" + std::string{given[0].substr(0, 64)} + "'");
    } else if (given.size() < known->least || given.size() > known->most) {
        to.error("ERR", std::string{known->name} + " was given a wrong number of arguments");
    } else if (may_ask(who, given, to)) {
        known->run(*this, who, given, to);
    }
}

commands::outcome commands::answer_or_prepare(session& who, words given, request& r) const {
    reply to{r.answer, who.spoken};
    try {
        if (who.trusted) {
            const auto of_call = [&r](bool runs) {
                if (runs) return outcome::submit;
                return r.asks.what == question::kind::repeat ? outcome::ask_journal : outcome::answer;
            };
            if (same_word(given[0], "CALL")) return of_call(take_call(who, given, r));
            if (same_word(given[0], "EXEC")) return of_call(execute(who, given, r));
            if (answer_multi(who, given, to)) return outcome::answer;
            if (is_login_of_follower(given)) {
                who.replicates = admit_follower(others_, given, to);
                if (!who.replicates) ++who.failed_logins;
                return outcome::answer;
            }
            if (is_about_followers(given)) {
                const bool asks =
                    may_ask(who, given, to) && may_follow(who, given, to) && take_question(others_, who, given, r, to);
                return asks ? outcome::ask_journal : outcome::answer;
            }
        }
        if (asks_door(given, r)) return outcome::ask_door;
        answer_command(who, given, to);
    } catch (const refusal& e) {
        if (who.queued) who.queued->spoil();
        to.error(e.code, e.text);
    } catch (const unknown_procedure& e) {
        if (who.queued) who.queued->spoil();
        to.error("NOPROC", "there is no procedure '" + std::string{e.name.substr(0, 64)} + "'");
    } catch (const bad_argument& e) {
        if (who.queued) who.queued->spoil();
        r.answer.clear();
        reply{r.answer, who.spoken}.error(code_of(ending::argument), e.what());
    }
    return outcome::answer;
}

}  // namespace tutti::server
