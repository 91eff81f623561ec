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
struct command_error {
    std::string_view code;
    std::string text;
};

/// Returns the credentials in AUTH or HELLO: a name and a password, only a password, or nothing.
words credentials(words given) {
    if (equals_ignoring_case(given[0], "AUTH")) return given.size() > 3 ? words{} : given.subspan(1);
    if (!equals_ignoring_case(given[0], "HELLO")) return {};
    for (std::size_t i = 2; i + 2 < given.size(); i += equals_ignoring_case(given[i], "AUTH") ? 3 : 2) {
        if (equals_ignoring_case(given[i], "AUTH")) return given.subspan(i + 1, 2);
    }
    return {};
}

/// Enforces the user's limits: throws if the user may not call the procedure or use the priority.
void apply_user_limits(const account& a, call_line& l) {
    const procedure& p = l.entry->definition;
    const user& who = a.configured;
    if (!a.may_call(p.name))
        throw command_error{"NOPERM", "this user has no permissions to call the procedure '" + p.name + "'"};
    if (l.priority.value_or(0) > who.max_priority)
        throw bad_argument{p.name + ": this user may set a PRIORITY from 0 to " + std::to_string(who.max_priority)};
    if (!l.priority && p.options.priority > who.max_priority) l.priority = who.max_priority;
}

/// Returns true for commands about other clients or other servers.
bool is_operation(words given) {
    return equals_ignoring_case(given[0], "TIMELINE") || equals_ignoring_case(given[0], "SLOWLOG") ||
           equals_ignoring_case(given[0], "FOLLOW") || equals_ignoring_case(given[0], "REPLICAOF") ||
           equals_ignoring_case(given[0], "SLAVEOF") || equals_ignoring_case(given[0], "FAILOVER") ||
           (equals_ignoring_case(given[0], "CLIENT") && given.size() > 1 &&
            (equals_ignoring_case(given[1], "LIST") || equals_ignoring_case(given[1], "KILL")));
}

std::string lower_case(std::string_view word) {
    std::string lower{word};
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower;
}

}  // namespace

struct commands::command {
    std::string_view name;
    std::size_t min_words, max_words;  // number of words, including the name
    void (*run)(const commands& self, session& who, words given, reply& to);
};

const commands::command commands::list[17] = {
    {"PING", 1, 2,
     [](const commands&, session&, words given, reply& to) {
         if (given.size() == 1) to.status("PONG");
         else to.text(given[1]);
     }},
    {"ECHO", 2, 2, [](const commands&, session&, words given, reply& to) { to.text(given[1]); }},
    {"INFO", 1, 16, [](const commands& self, session&, words, reply& to) { to.text(self.parts_.control.info()); }},
    {"AUTH", 2, 3, [](const commands& self, session& who, words given, reply& to) { self.auth(who, given, to); }},
    {"ACL", 2, 16,
     [](const commands&, session& who, words given, reply& to) {
         if (given.size() != 2 || !equals_ignoring_case(given[1], "WHOAMI"))
             return to.error("ERR", "unknown ACL subcommand; try ACL WHOAMI");
         to.text(who.login == nullptr ? nameless : who.login->configured.name);
     }},
    {"HELLO", 1, 8, [](const commands& self, session& who, words given, reply& to) { self.hello(who, given, to); }},
    {"QUIT", 1, 1,
     [](const commands&, session& who, words, reply& to) {
         who.quit = true;
         to.status("OK");
     }},
    {"COMMAND", 1, 1024, [](const commands&, session&, words given, reply& to) { describe(given, to); }},
    {"CLIENT", 2, 16,
     [](const commands& self, session& who, words given, reply& to) {
         client_command(self.parts_.clients, who, given, to);
     }},
    {"TIMELINE", 2, 2,
     [](const commands& self, session&, words given, reply& to) {
         if (equals_ignoring_case(given[1], "STOP")) return to.text(self.parts_.recorder.stop());
         if (equals_ignoring_case(given[1], "NOW"))
             return to.text(std::to_string(base::real_now().time_since_epoch().count()));
         if (!equals_ignoring_case(given[1], "START"))
             return to.error("ERR", "unknown TIMELINE subcommand; try START, NOW or STOP");
         self.parts_.recorder.start();
         to.status("OK");
     }},
    {"ROLE", 1, 1,
     [](const commands& self, session&, words, reply& to) { write_role(self.parts_.log, to); }},
    // The journal answers these commands (prepare_replication_command).
    {"WAIT", 3, 3, nullptr},
    {"FOLLOW", 3, 16, nullptr},
    {"REPLICAOF", 3, 3, nullptr},
    {"FAILOVER", 1, 6, nullptr},
    {"SLOWLOG", 2, 3, [](const commands& self, session&, words given, reply& to) { self.answer_slow_log(given, to); }},
    // redis-benchmark requests `save` and `appendonly`. Clients cannot configure this server, so all values are empty.
    {"CONFIG", 3, 16,
     [](const commands&, session&, words given, reply& to) {
         if (!equals_ignoring_case(given[1], "GET"))
             return to.error("ERR", "unknown CONFIG subcommand; try CONFIG GET");
         to.map(given.size() - 2);
         for (const std::string_view name : given.subspan(2)) {
             to.text(name);
             to.text("");
         }
     }},
};

// Answers COMMAND with the fields that client libraries parse: each command's name, arity (negative: at least so many
// words) and flags, and the information that the command has no keys.
void commands::describe(words given, reply& to) {
    struct arity {
        std::string_view name;
        std::size_t min_words, max_words;
    };
    // The commands that are not in `list`, because other functions answer them.
    static constexpr std::array others{arity{"CALL", 2, 0}, arity{"MULTI", 1, 1}, arity{"EXEC", 1, 3},
                                       arity{"DISCARD", 1, 1}};
    const std::size_t all = std::size(list) + others.size();
    const auto one = [&to](std::string_view name, std::size_t min_words, std::size_t max_words) {
        std::string small{name};
        for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        const auto arity = static_cast<std::int64_t>(min_words);
        to.list(6);
        to.text(small);
        to.integer(min_words == max_words ? arity : -arity);
        to.list(1);
        to.status("fast");
        for (int key = 0; key < 3; ++key) to.integer(0);
    };
    const auto named = [&](std::string_view name) {
        for (const arity& o : others) {
            if (equals_ignoring_case(name, o.name)) return one(o.name, o.min_words, o.max_words);
        }
        const auto* const c =
            std::ranges::find_if(list, [name](const command& e) { return equals_ignoring_case(name, e.name); });
        if (c == std::end(list)) return to.null();
        one(c->name, c->min_words, c->max_words);
    };
    if (given.size() == 2 && equals_ignoring_case(given[1], "COUNT")) return to.integer(static_cast<std::int64_t>(all));
    if (given.size() > 1 && equals_ignoring_case(given[1], "DOCS")) return to.map(0);
    if (given.size() > 1 && equals_ignoring_case(given[1], "INFO")) {
        to.list(given.size() - 2);
        for (const std::string_view name : given.subspan(2)) named(name);
        return;
    }
    const bool names_only = given.size() == 2 && equals_ignoring_case(given[1], "LIST");
    if (given.size() > 1 && !names_only) return to.error("ERR", "COMMAND knows COUNT, DOCS, INFO and LIST");
    to.list(all);
    const auto show = [&](std::string_view name) { names_only ? to.text(name) : named(name); };
    for (const arity& o : others) show(o.name);
    for (const command& c : list) show(c.name);
}

bool commands::is_password(std::string_view given) const noexcept {
    // The loop takes a time that does not show how much of the password is right.
    const std::string& password = parts_.how.password;
    std::size_t wrong = given.size() ^ password.size();
    for (std::size_t i = 0; i < given.size(); ++i) {
        const char own = password.empty() ? '\0' : password[i % password.size()];
        wrong |= static_cast<unsigned char>(given[i] ^ own);
    }
    return wrong == 0;
}

/// Logs a client in if its credentials are right. For a user, the password verifier has already checked the password.
bool commands::log_in(session& who, std::string_view name, std::string_view password) const noexcept {
    const bool right = who.checked_login != nullptr ? who.checked_login->state == login_claim::login_result::correct
                                                    : parts_.users.empty() && !parts_.how.password.empty() &&
                                                          name == nameless && is_password(password);
    if (!right) {
        ++who.failed_logins;
        return false;
    }
    if (who.checked_login != nullptr) who.login = who.checked_login->who;
    who.is_trusted = true;
    return true;
}

/// Returns true if the password verifier has to check the request's credentials first. Then `r` contains these
/// credentials.
bool commands::needs_password_check(words given, request& r) const {
    if (parts_.users.empty() || credentials(given).empty()) return false;
    r.set_words(given);
    const words own = credentials(r.arguments);
    r.login.password = own.back();
    r.login.who = parts_.users.find(own.size() == 1 ? nameless : own[0]);
    return true;
}

bool commands::is_costly(words given) noexcept {
    return equals_ignoring_case(given.front(), "INFO") || equals_ignoring_case(given.front(), "SLOWLOG") ||
           equals_ignoring_case(given.front(), "COMMAND") || equals_ignoring_case(given.front(), "TIMELINE") ||
           equals_ignoring_case(given.front(), "ROLE") || is_login_of_follower(given) ||
           (equals_ignoring_case(given.front(), "CLIENT") && given.size() > 1 &&
            (equals_ignoring_case(given[1], "LIST") || equals_ignoring_case(given[1], "KILL")));
}

void commands::finish_login(session& who, request& r) const {
    reply to{r.answer, who.spoken};
    if (r.login.state == login_claim::login_result::unchecked)
        return to.error(code_of(call_outcome::shutdown), "the server is shutting down");
    if (r.login.state == login_claim::login_result::busy)
        return to.error(code_of(call_outcome::busy), "too many logins wait for their check; try again in some seconds");
    who.checked_login = &r.login;
    try {
        answer_command(who, r.arguments, to);
    } catch (const bad_argument& e) {
        r.answer.clear();
        reply{r.answer, who.spoken}.error(code_of(call_outcome::argument), e.what());
    } catch (...) {
        who.checked_login = nullptr;
        throw;
    }
    who.checked_login = nullptr;
}

void commands::auth(session& who, words given, reply& to) const {
    if (parts_.how.password.empty() && parts_.users.empty())
        return to.error(
            "ERR",
            "AUTH <password> called without any password configured for the default user. Are you sure your "
            "configuration is correct?");
    if (!log_in(who, given.size() == 2 ? nameless : given[1], given.back()))
        return to.error("WRONGPASS", wrong_password);
    to.status("OK");
}

void commands::answer_slow_log(words given, reply& to) const {
    constexpr std::int64_t usual = 10, all = -1;
    if (equals_ignoring_case(given[1], "GET")) {
        const std::int64_t count = given.size() == 3 ? number<std::int64_t>("SLOWLOG GET", given[2]) : usual;
        if (count < all) throw bad_argument{"SLOWLOG GET: count should be greater than or equal to -1"};
        return parts_.slow.write(static_cast<std::size_t>(count), to);
    }
    if (given.size() == 2 && equals_ignoring_case(given[1], "LEN"))
        return to.integer(static_cast<std::int64_t>(parts_.slow.size()));
    if (given.size() != 2 || !equals_ignoring_case(given[1], "RESET"))
        return to.error("ERR", "unknown SLOWLOG subcommand; try GET [count], LEN or RESET");
    parts_.slow.reset();
    to.status("OK");
}

void commands::hello(session& who, words given, reply& to) const {
    std::size_t next = 1;
    protocol wanted = who.spoken;
    if (given.size() > 1) {
        const int version = number<int>("HELLO", given[next++]);
        if (version != 2 && version != 3) return to.error("NOPROTO", "unsupported protocol version; use 2 or 3");
        wanted = static_cast<protocol>(version);
    }
    while (next < given.size()) {
        if (equals_ignoring_case(given[next], "AUTH") && given.size() - next > 2) {
            if (!log_in(who, given[next + 1], given[next + 2])) return to.error("WRONGPASS", wrong_password);
            next += 3;
        } else if (equals_ignoring_case(given[next], "SETNAME") && given.size() - next > 1) {
            if (!parts_.clients.set_name(*who.entry, given[next + 1]))
                return to.error(
                    "ERR",
                    "Client names cannot contain spaces, newlines or special characters, nor more than 256 characters");
            next += 2;
        } else {
            return to.error("ERR", "Syntax error in HELLO; the options are AUTH <user> <password> and SETNAME <name>");
        }
    }
    if (!who.is_trusted)
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

/// Returns true for a request that would write, while leadership is handed over. The request stays unread until the
/// handover is over, and then runs or is refused.
bool commands::must_be_delayed(const session& who, words given) const noexcept {
    if (parts_.log == nullptr || !parts_.log->followers().holds_calls() || !who.is_trusted) return false;
    if (equals_ignoring_case(given[0], "EXEC")) return who.queued.has_value();
    if (!equals_ignoring_case(given[0], "CALL") || given.size() < 2) return false;
    try {
        return !read_call(given.subspan(1), parts_.procedures, who.latest_procedure)
                    .entry->definition.options.read_only;
    } catch (const std::exception&) {
        return false;  // the request is then refused in the usual way
    }
}

/// Throws if this server does not lead and the procedure may write.
void commands::require_leader(const procedure_entry& which) const {
    if (parts_.log == nullptr || parts_.log->followers().accepts_writes() || which.definition.options.read_only) return;
    throw command_error{"READONLY", which.definition.name + ": " + parts_.log->followers().write_refusal_reason()};
}

bool commands::prepare_call(session& who, words given, request& r) const {
    reply to{r.answer, who.spoken};
    if (given.size() < 2) {
        to.error("ERR", "wrong number of arguments for 'call' command: the procedure is missing");
        if (who.queued) who.queued->mark_invalid();
        return false;
    }
    call_line line = read_call(given.subspan(1), parts_.procedures, who.latest_procedure);
    who.latest_procedure = line.entry;
    if (who.login != nullptr) apply_user_limits(*who.login, line);
    if (!accepts_arguments(*line.entry, line.arguments.size(), to)) {
        if (who.queued) who.queued->mark_invalid();
        return false;
    }
    require_leader(*line.entry);
    invocation what{.entry = line.entry, .how = {}, .spoken = who.spoken};
    set_priority_and_deadline(what, line.priority, line.deadline, r.arrived);
    if (who.login != nullptr && !who.login->try_admit(r.arrived))
        throw command_error{"RATELIMIT", "this user may make " + std::to_string(who.login->configured.rate) +
                                             " calls a second; try again later"};
    if (who.queued) {
        if (line.id) throw bad_argument{"give the ID after EXEC: EXEC ID <key>"};
        who.queued->add(line, what);
        to.status("QUEUED");
        return false;
    }
    prepare(std::move(what), line.arguments, r);
    return !line.id || is_first_use(*line.id, r);
}

/// Returns true if the call in `r` is to run. Otherwise the call is already answered.
bool commands::is_first_use(std::string_view key, request& r) const {
    // The identity of the call that the key belongs to.
    std::string all = r.what.entry->definition.name;
    const auto add = [&all](std::string_view word) {
        all.push_back('\0');
        all.append(word);
    };
    for (const invocation::queued_call& p : r.what.queued_calls) add(p.entry->definition.name);
    for (const std::string_view a : r.arguments) add(a);
    add(r.what.spoken == protocol::resp2 ? "2" : "3");
    // The kind of checksum must not change, because logs contain these checksums.
    const std::uint64_t key_call = journal::checksum(all, journal::checksum_kind::fnv1a);
    r.key = key;  // set before begin(), because nothing may fail after begin()
    const reply_cache::state known = parts_.replies.begin(key, key_call, r.answer, r.arrived);
    if (known == reply_cache::state::fresh) {
        r.logged.key = r.key;
        r.logged.key_call = key_call;
        return true;
    }
    r.key.clear();
    // WAIT needs a position. The position of the first call with this key is unknown, so the next position is used.
    if (parts_.log != nullptr) r.logged.awaited_position = parts_.log->next_position();
    if (known == reply_cache::state::answered) repeat_when_replicated(r);
    reply to{r.answer, r.what.spoken};
    if (known == reply_cache::state::in_progress)
        to.error(code_of(call_outcome::busy), "the call with this ID is still running; try again later");
    if (known == reply_cache::state::another_call)
        to.error(code_of(call_outcome::argument), "this ID belongs to another call");
    return false;
}

/// Defers the repeated answer in `r`, unless the server knows that enough followers have the call. The repeated answer
/// must promise as much as the first answer. The followers may have lacked the call when it was first answered, or this
/// server may have read the answer from its log.
void commands::repeat_when_replicated(request& r) const {
    if (parts_.log == nullptr || !parts_.log->followers().lacks_followers_for(r.logged.awaited_position)) return;
    const log_settings& how = parts_.log->settings();
    r.deferred.what = replication_command::kind::repeat;
    r.deferred.position = r.logged.awaited_position;
    r.deferred.min_followers = how.wait_followers;
    r.deferred.until = replication_command::clock::now() + how.wait_followers_timeout;
}

void commands::prepare(invocation what, words arguments, request& r) {
    r.what = std::move(what);
    r.name = r.what.entry->definition.name.c_str();
    r.priority = r.what.how.priority;
    r.due = r.what.due;
    r.set_words(arguments);
}

// EXEC submits all queued calls as one call. If a request since MULTI was refused, none of the calls runs.
bool commands::execute(session& who, words given, request& r) const {
    reply to{r.answer, who.spoken};
    const bool has_id = given.size() == 3 && equals_ignoring_case(given[1], word_id);
    if (given.size() > 1 && !has_id) throw bad_argument{"syntax error: EXEC [ID <key>]"};
    if (has_id) require_key(given[2]);
    if (!who.queued) {
        to.error("ERR", "EXEC without MULTI");
        return false;
    }
    const multi all = *std::exchange(who.queued, std::nullopt);
    if (all.is_invalid()) {
        to.error("EXECABORT", "Transaction discarded because of previous errors.");
        return false;
    }
    if (all.empty()) {
        to.list(0);
        return false;
    }
    prepare(all.as_one_call(*parts_.procedures.exec_entry(), who.spoken), all.arguments(), r);
    return !has_id || is_first_use(given[2], r);
}

/// Answers MULTI, DISCARD and requests that are invalid between MULTI and EXEC. Returns false for any other request.
bool commands::answer_multi(session& who, words given, reply& to) const {
    if (equals_ignoring_case(given[0], "MULTI")) {
        if (who.queued) to.error("ERR", "MULTI calls can not be nested");
        else if (parts_.procedures.exec_entry() == nullptr) to.error("ERR", "MULTI is not available on this server");
        else to.status("OK");
        if (!who.queued && parts_.procedures.exec_entry() != nullptr) who.queued.emplace(parts_.how.max_request);
        return true;
    }
    if (equals_ignoring_case(given[0], "DISCARD")) {
        if (!who.queued) to.error("ERR", "DISCARD without MULTI");
        else to.status("OK");
        who.queued.reset();
        return true;
    }
    if (equals_ignoring_case(given[0], "WATCH") || equals_ignoring_case(given[0], "UNWATCH")) {
        to.error("ERR", "WATCH is not supported: a transaction is validated against everything that it reads");
        if (who.queued) who.queued->mark_invalid();
        return true;
    }
    if (!who.queued || equals_ignoring_case(given[0], "QUIT")) return false;
    who.queued->mark_invalid();
    to.error("ERR", "only CALL is allowed between MULTI and EXEC");
    return true;
}

commands::command_result commands::process(session& who, words given, request& r) const {
    const bool skipped = std::exchange(who.skips_next_reply, false);
    const command_result then = answer_or_prepare(who, given, r);
    r.discards_answer = skipped || who.replies_off || who.skips_next_reply;
    return then;
}

/// The commands of followers need a credential of their own: see machine_secret.hpp.
bool commands::may_follow(const session& who, words given, reply& to) const {
    if (!equals_ignoring_case(given[0], "FOLLOW") || parts_.how.unprotected || who.has_follower_credential) return true;
    if (parts_.log == nullptr) return true;  // the command is refused later, because there is no log
    if (who.login != nullptr && who.login->configured.replicates) return true;
    to.error("NOPERM",
             "FOLLOW needs the credential of followers: give this server and those that follow it the same "
             "--replication-password-file, or --follow-user a user with replicates = true; servers of one user on one "
             "machine need neither");
    return false;
}

bool commands::check_rights(const session& who, words given, reply& to) {
    if (who.login == nullptr || who.login->configured.is_admin || !is_operation(given)) return true;
    if (who.login->configured.replicates && equals_ignoring_case(given[0], "FOLLOW")) return true;
    to.error("NOPERM", "this user has no permissions to run the '" + lower_case(given[0].substr(0, 64)) + "' command");
    return false;
}

void commands::answer_command(session& who, words given, reply& to) const {
    const auto* const known =
        std::ranges::find_if(list, [&](const command& c) { return equals_ignoring_case(given[0], c.name); });
    const bool public_one = equals_ignoring_case(given[0], "AUTH") || equals_ignoring_case(given[0], "HELLO") ||
                            equals_ignoring_case(given[0], "QUIT");
    if (!who.is_trusted && !public_one) {
        to.error("NOAUTH", "Authentication required.");
    } else if (known == std::end(list)) {
        to.error("ERR", "unknown command '" + std::string{given[0].substr(0, 64)} + "'");
    } else if (given.size() < known->min_words || given.size() > known->max_words) {
        to.error("ERR", "wrong number of arguments for '" + lower_case(known->name) + "' command");
    } else if (check_rights(who, given, to)) {
        known->run(*this, who, given, to);
    }
}

commands::command_result commands::answer_or_prepare(session& who, words given, request& r) const {
    reply to{r.answer, who.spoken};
    try {
        if (who.is_trusted) {
            const auto of_call = [&r](bool runs) {
                if (runs) return command_result::submit;
                return r.deferred.what == replication_command::kind::repeat ? command_result::defer
                                                                            : command_result::answer;
            };
            if (equals_ignoring_case(given[0], "CALL")) return of_call(prepare_call(who, given, r));
            if (equals_ignoring_case(given[0], "EXEC")) return of_call(execute(who, given, r));
            if (answer_multi(who, given, to)) return command_result::answer;
            if (is_login_of_follower(given)) {
                who.has_follower_credential = admit_follower(parts_.how, given, to);
                if (!who.has_follower_credential) ++who.failed_logins;
                return command_result::answer;
            }
            if (is_replication_command(given)) {
                const bool is_deferred =
                    check_rights(who, given, to) && may_follow(who, given, to) &&
                    prepare_replication_command({.log = parts_.log, .control = parts_.control}, who, given, r, to);
                return is_deferred ? command_result::defer : command_result::answer;
            }
        }
        if (needs_password_check(given, r)) return command_result::check_password;
        answer_command(who, given, to);
    } catch (const command_error& e) {
        if (who.queued) who.queued->mark_invalid();
        to.error(e.code, e.text);
    } catch (const unknown_procedure_error& e) {
        if (who.queued) who.queued->mark_invalid();
        to.error("NOPROC", "unknown procedure '" + std::string{e.name.substr(0, 64)} + "'");
    } catch (const bad_argument& e) {
        if (who.queued) who.queued->mark_invalid();
        r.answer.clear();
        reply{r.answer, who.spoken}.error(code_of(call_outcome::argument), e.what());
    }
    return command_result::answer;
}

}  // namespace tutti::server
