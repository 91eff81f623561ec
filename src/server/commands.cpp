#include "server/commands.hpp"

#include <algorithm>
#include <charconv>

namespace tutti::server {
namespace {

/// Commands are spelt in any case.
bool same_word(std::string_view given, std::string_view capitals) noexcept {
    return std::ranges::equal(given, capitals, [](char a, char b) { return (a >= 'a' && a <= 'z' ? a - 32 : a) == b; });
}

template <class N>
N number(std::string_view of, std::string_view given) {
    N value{};
    const auto [last, failed] = std::from_chars(given.data(), given.data() + given.size(), value);
    if (failed != std::errc{} || last != given.data() + given.size())
        throw bad_argument{std::string{of} + " needs a whole number, not '" + std::string{given.substr(0, 64)} + "'"};
    return value;
}

constexpr std::string_view wrong_password = "the password is not right";

}  // namespace

struct commands::command {
    std::string_view name;
    std::size_t least, most;  // words, the name included
    void (*run)(const commands& self, session& who, words given, reply& to);
};

const commands::command commands::list[10] = {
    {"PING", 1, 2,
     [](const commands&, session&, words given, reply& to) {
         if (given.size() == 1) to.status("PONG");
         else to.text(given[1]);
     }},
    {"ECHO", 2, 2, [](const commands&, session&, words given, reply& to) { to.text(given[1]); }},
    {"INFO", 1, 16, [](const commands& self, session&, words, reply& to) { to.text(self.info_()); }},
    {"AUTH", 2, 3, [](const commands& self, session& who, words given, reply& to) { self.auth(who, given, to); }},
    {"HELLO", 1, 8, [](const commands& self, session& who, words given, reply& to) { self.hello(who, given, to); }},
    {"QUIT", 1, 1,
     [](const commands&, session& who, words, reply& to) {
         who.quit = true;
         to.status("OK");
     }},
    {"COMMAND", 1, 1024,
     [](const commands&, session&, words given, reply& to) {
         const std::size_t all = std::size(list) + 1;  // CALL
         if (given.size() > 1 && same_word(given[1], "COUNT")) return to.integer(static_cast<std::int64_t>(all));
         if (given.size() > 1 && same_word(given[1], "DOCS")) return to.map(0);
         to.list(all);
         to.text("call");
         for (const command& c : list) to.text(c.name);
     }},
    {"CLIENT", 2, 16,
     [](const commands&, session& who, words given, reply& to) {
         if (same_word(given[1], "ID")) return to.integer(static_cast<std::int64_t>(who.id));
         if (same_word(given[1], "GETNAME")) return to.text(who.name);
         if (same_word(given[1], "SETNAME") && given.size() == 3) who.name = given[2];
         to.status("OK");
     }},
    {"TIMELINE", 2, 2,
     [](const commands& self, session&, words given, reply& to) {
         if (same_word(given[1], "STOP")) return to.text(self.shown_.stop());
         if (!same_word(given[1], "START")) return to.error("ERR", "TIMELINE is followed by START or STOP");
         self.shown_.start();
         to.status("OK");
     }},
    // redis-benchmark asks for `save` and `appendonly`. There is nothing to configure from outside.
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

bool commands::is_password(std::string_view given) const noexcept {
    // In a time that does not tell how much of it is right.
    std::size_t wrong = given.size() ^ password_.size();
    for (std::size_t i = 0; i < given.size(); ++i) {
        const char own = password_.empty() ? '\0' : password_[i % password_.size()];
        wrong |= static_cast<unsigned char>(given[i] ^ own);
    }
    return wrong == 0;
}

void commands::auth(session& who, words given, reply& to) const {
    if (password_.empty()) return to.error("ERR", "AUTH was sent, but the server has no password");
    const bool known = given.size() == 2 || given[1] == "default";
    if (!known || !is_password(given.back())) return to.error("WRONGPASS", wrong_password);
    who.trusted = true;
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
            if (password_.empty() || given[next + 1] != "default" || !is_password(given[next + 2]))
                return to.error("WRONGPASS", wrong_password);
            who.trusted = true;
            next += 3;
        } else if (same_word(given[next], "SETNAME") && given.size() - next > 1) {
            who.name = given[next + 1];
            next += 2;
        } else {
            return to.error("ERR", "HELLO is followed by a version, AUTH default <password>, SETNAME <name>");
        }
    }
    if (!who.trusted) return to.error("NOAUTH", "HELLO must be called with AUTH here");
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
    to.integer(static_cast<std::int64_t>(who.id));
}

bool commands::take_call(const session& who, words given, request& r) const {
    reply to{r.answer, who.spoken};
    if (given.size() < 2) {
        to.error("ERR", "CALL needs the name of a procedure");
        return false;
    }
    const entry* const which = procedures_.find(given[1]);
    if (which == nullptr) {
        to.error("NOPROC", "there is no procedure '" + std::string{given[1].substr(0, 64)} + "'");
        return false;
    }
    // From the end: what the procedure needs at least is never taken for an option.
    words arguments = given.subspan(2);
    std::optional<int> priority;
    std::optional<std::chrono::microseconds> deadline;
    while (arguments.size() >= which->what.least + 2) {
        const std::string_view key = arguments[arguments.size() - 2];
        if (same_word(key, "PRIORITY")) priority = number<int>(key, arguments.back());
        else if (same_word(key, "DEADLINE"))
            deadline = std::chrono::microseconds{number<std::int64_t>(key, arguments.back())};
        else break;
        arguments = arguments.first(arguments.size() - 2);
    }
    if (!takes(*which, arguments.size(), to)) return false;
    r.what = {.which = which, .how = {}, .spoken = who.spoken};
    plan(r.what, priority, deadline, r.arrived);
    r.name = which->what.name.c_str();
    r.priority = r.what.how.priority;
    r.due = r.what.due;
    r.keep(arguments);
    return true;
}

bool commands::take(session& who, words given, request& r) const {
    reply to{r.answer, who.spoken};
    try {
        if (same_word(given[0], "CALL") && who.trusted) return take_call(who, given, r);
        const auto* const known =
            std::ranges::find_if(list, [&](const command& c) { return same_word(given[0], c.name); });
        const bool public_one =
            same_word(given[0], "AUTH") || same_word(given[0], "HELLO") || same_word(given[0], "QUIT");
        if (!who.trusted && !public_one) {
            to.error("NOAUTH", "AUTH with the password first");
        } else if (known == std::end(list)) {
            to.error("ERR", "there is no command '" + std::string{given[0].substr(0, 64)} + "'");
        } else if (given.size() < known->least || given.size() > known->most) {
            to.error("ERR", std::string{known->name} + " was given a wrong number of arguments");
        } else {
            known->run(*this, who, given, to);
        }
    } catch (const bad_argument& e) {
        r.answer.clear();
        reply{r.answer, who.spoken}.error(code_of(ending::argument), e.what());
    }
    return false;
}

}  // namespace tutti::server
