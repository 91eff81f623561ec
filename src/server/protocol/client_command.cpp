#include "server/protocol/client_command.hpp"

#include "server/calls/words.hpp"
#include "server/protocol/numbers.hpp"

namespace tutti::server {
namespace {

using words = std::span<const std::string_view>;

constexpr std::string_view no_word =
    "Client names and library names cannot contain spaces, newlines or special characters, nor more than 256 "
    "characters";

void set_replies(session& who, std::string_view wanted, reply& to) {
    if (equals_ignoring_case(wanted, "ON")) who.replies_off = false;
    else if (equals_ignoring_case(wanted, "OFF")) who.replies_off = true;
    else if (equals_ignoring_case(wanted, "SKIP")) who.skips_next_reply = true;
    else return to.error("ERR", "syntax error: CLIENT REPLY ON|OFF|SKIP");
    to.status("OK");
}

void set_info(client_directory& all, const session& who, words given, reply& to) {
    const bool is_name = equals_ignoring_case(given[2], "LIB-NAME");
    if (!is_name && !equals_ignoring_case(given[2], "LIB-VER"))
        return to.error("ERR", "Unrecognized option; try CLIENT SETINFO LIB-NAME or LIB-VER");
    const bool fits = is_name ? all.set_library(*who.entry, given[3]) : all.set_version(*who.entry, given[3]);
    if (!fits) return to.error("ERR", no_word);
    to.status("OK");
}

/// Implements CLIENT KILL. The old form names one address, which may be the calling client's own. The new form has
/// filters, and does not close the calling client.
void kill(client_directory& all, session& who, words given, reply& to) {
    client_directory::filter which;
    if (given.size() == 3) {
        which.address = given[2];
        if (all.kill(which) == 0) return to.error("ERR", "No such client");
        return to.status("OK");
    }
    which.spared = who.entry;
    for (std::size_t i = 2; i < given.size(); i += 2) {
        if (i + 1 == given.size()) return to.error("ERR", "syntax error: a filter of CLIENT KILL needs a value");
        const std::string_view value = given[i + 1];
        if (equals_ignoring_case(given[i], "ID")) which.id = number<std::uint64_t>("ID", value);
        else if (equals_ignoring_case(given[i], "ADDR")) which.address = value;
        else if (equals_ignoring_case(given[i], "SKIPME") && equals_ignoring_case(value, "YES"))
            which.spared = who.entry;
        else if (equals_ignoring_case(given[i], "SKIPME") && equals_ignoring_case(value, "NO")) which.spared = nullptr;
        else return to.error("ERR", "syntax error: CLIENT KILL <address>, or filters ID, ADDR and SKIPME with values");
    }
    to.integer(static_cast<std::int64_t>(all.kill(which)));
}

}  // namespace

void client_command(client_directory& all, session& who, words given, reply& to) {
    const std::size_t count = given.size();
    const auto is = [&](std::string_view name, std::size_t size) {
        return count == size && equals_ignoring_case(given[1], name);
    };
    const instant now = std::chrono::steady_clock::now();
    if (is("ID", 2)) return to.integer(static_cast<std::int64_t>(who.entry->id()));
    if (is("GETNAME", 2)) return to.text(all.name_of(*who.entry));
    if (is("LIST", 2)) return to.text(all.list(now));
    if (is("INFO", 2)) return to.text(all.line_of(*who.entry, now));
    if (is("REPLY", 3)) return set_replies(who, given[2], to);
    if (is("SETINFO", 4)) return set_info(all, who, given, to);
    if (count > 2 && equals_ignoring_case(given[1], "KILL")) return kill(all, who, given, to);
    if (is("SETNAME", 3)) {
        if (!all.set_name(*who.entry, given[2])) return to.error("ERR", no_word);
        return to.status("OK");
    }
    to.error("ERR",
             "unknown CLIENT subcommand or wrong number of arguments; try ID, GETNAME, SETNAME, SETINFO, LIST, INFO, "
             "KILL or REPLY");
}

}  // namespace tutti::server
