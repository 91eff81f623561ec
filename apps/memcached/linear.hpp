// Checks that the history of one key is linearizable. Commands overlap. The history is correct if each command has an
// instant between its call and its reply with this property: a single client that sends the commands in the order of
// their instants gets the same replies.
//
// The search is that of Wing and Gong ("Testing and Verifying Concurrent Objects", 1993), with Lowe's cache of tried
// states ("Testing for Linearizability", 2017). The search takes any remaining command that was called before the first
// remaining reply, and caches each pair of taken commands and reached value. Exponential in the worst case; histories
// of a few dozen commands of four clients take microseconds.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace mc::linear {

enum class kind { get, gets, set, add, replace, append, prepend, cas, incr, decr, touch, remove, flush };

struct command {
    kind what = kind::get;
    std::string argument;      // the value to store or to add
    std::uint64_t unique = 0;  // of `cas`; the number in the reply to `gets`
    bool expired = false;      // of `set` and `touch`: the given time is in the past
    std::string answer;        // the value or the line; empty: a get that found no value
    std::uint64_t called = 0, answered = 0;
    bool overlapped = false;  // of `flush`: another command ran at the same time
};

/// The content of a key. `unique` is 0 until a client has seen the number. A new number exceeds all numbers seen
/// before.
struct value {
    bool there = false;
    std::string text;
    std::uint64_t unique = 0, largest = 0;

    auto operator<=>(const value&) const = default;
};

namespace detail {

inline value stored(const value& before, std::string text) { return {true, std::move(text), 0, before.largest}; }
inline value absent(const value& before) { return {false, {}, 0, before.largest}; }

inline bool is_number(const std::string& text) {
    return !text.empty() && text.size() < 20 && text.find_first_not_of("0123456789") == std::string::npos;
}

inline std::optional<value> counted(const command& c, const value& before, bool pads) {
    if (!before.there) return c.answer == "NOT_FOUND" ? std::optional(before) : std::nullopt;
    const std::string digits = before.text.substr(0, before.text.find(' '));
    if (!is_number(digits)) return c.answer.starts_with("CLIENT_ERROR") ? std::optional(before) : std::nullopt;
    const std::uint64_t old = std::stoull(digits), by = std::stoull(c.argument);
    std::string now = std::to_string(c.what == kind::incr ? old + by : old > by ? old - by : 0);
    if (c.answer != now) return std::nullopt;
    if (pads) now.resize(std::max(now.size(), before.text.size()), ' ');
    return stored(before, now);
}

inline std::optional<value> seen(const command& c, const value& before) {
    if (!before.there) return c.answer.empty() ? std::optional(before) : std::nullopt;
    if (c.answer != before.text) return std::nullopt;
    if (c.what == kind::get) return before;
    value after = before;
    if (before.unique == 0 ? c.unique <= before.largest : c.unique != before.unique) return std::nullopt;
    after.unique = after.largest = c.unique;
    return after;
}

}  // namespace detail

/// Returns the key's content after `c`, or nothing if the reply is wrong for the content `before`. memcached leaves two
/// things open, and `other` selects the second possibility. First, a number that becomes shorter may be padded with
/// blanks, depending on other readers. Second, a value may survive a flush_all that arrives while a command stores it.
/// That command takes a lock, but flush_all only draws a number that older values lack.
inline std::optional<value> apply(const command& c, const value& before, bool other = false) {
    using detail::absent, detail::stored;
    const auto when = [&](bool right, value after) { return right ? std::optional(after) : std::nullopt; };
    switch (c.what) {
        case kind::get:
        case kind::gets: return detail::seen(c, before);
        case kind::set: return when(c.answer == "STORED", c.expired ? absent(before) : stored(before, c.argument));
        case kind::add:
            if (before.there) return when(c.answer == "NOT_STORED", before);
            return when(c.answer == "STORED", stored(before, c.argument));
        case kind::incr:
        case kind::decr: return detail::counted(c, before, !other);
        case kind::flush: return when(c.answer == "OK", other && c.overlapped ? before : absent(before));
        case kind::touch:
            if (!before.there) return when(c.answer == "NOT_FOUND", before);
            return when(c.answer == "TOUCHED", c.expired ? absent(before) : before);
        case kind::remove: return when(c.answer == (before.there ? "DELETED" : "NOT_FOUND"), absent(before));
        case kind::cas:
            if (!before.there) return when(c.answer == "NOT_FOUND", before);
            // A number that no client has seen is newer than this client's, unless only a `gets` that proves nothing
            // has seen it.
            if (before.unique != c.unique && !(before.unique == 0 && c.unique > before.largest && c.answer == "STORED"))
                return when(c.answer == "EXISTS", before);
            return when(c.answer == "STORED", stored(before, c.argument));
        case kind::replace:
        case kind::append:
        case kind::prepend: break;
    }
    if (!before.there) return when(c.answer == "NOT_STORED", before);
    const std::string text = c.what == kind::replace  ? c.argument
                             : c.what == kind::append ? before.text + c.argument
                                                      : c.argument + before.text;
    return when(c.answer == "STORED", stored(before, text));
}

/// `under_pressure`: the server may evict a value at any time for lack of memory. The server may also move a value to
/// another slab page, which changes the unique number. At most 64 commands.
inline bool is_linearizable(const std::vector<command>& history, bool under_pressure = false) {
    if (history.size() > 64) throw std::invalid_argument("a history has at most 64 commands");
    std::set<std::tuple<std::uint64_t, value>> tried;
    std::vector<std::tuple<std::uint64_t, value>> open{{0, value{}}};
    const std::uint64_t all = history.size() == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << history.size()) - 1;
    while (!open.empty()) {
        const auto [taken, now] = open.back();
        open.pop_back();
        if (taken == all) return true;
        std::uint64_t first_answer = ~std::uint64_t{0};
        for (std::uint64_t left = all & ~taken; left != 0; left &= left - 1)
            first_answer = std::min(first_answer, history[static_cast<unsigned>(std::countr_zero(left))].answered);
        const auto continue_with = [&](std::uint64_t done, const value& after) {
            if (tried.emplace(done, after).second) open.emplace_back(done, after);
        };
        if (under_pressure && now.there) {
            continue_with(taken, detail::absent(now));
            continue_with(taken, detail::stored(now, now.text));
        }
        for (std::uint64_t left = all & ~taken; left != 0; left &= left - 1) {
            const auto index = static_cast<unsigned>(std::countr_zero(left));
            if (history[index].called > first_answer) continue;
            for (const bool other : {false, true})
                if (const auto after = apply(history[index], now, other))
                    continue_with(taken | std::uint64_t{1} << index, *after);
        }
    }
    return false;
}

}  // namespace mc::linear
