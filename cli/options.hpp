// Parsing with CLI11, and checks whose messages say which values are valid.
#pragma once

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <tutti/algorithm.hpp>
#include <tutti/policy.hpp>

#include "cli/program.hpp"

namespace cli {

/// Parses the command line. Returns the text to print if the user asked for help. An error message ends with `where`,
/// which tells the user where the options are listed.
/// @throws command_line_error
inline std::optional<help_text> parse(CLI::App& app, int argc, const char* const* argv, std::string_view where) {
    try {
        app.parse(argc, argv);
        return std::nullopt;
    } catch (const CLI::CallForHelp&) {
        return help_text{app.help()};
    } catch (const CLI::CallForVersion&) {
        return help_text{app.version() + "\n"};
    } catch (const CLI::ParseError& e) {
        std::string line = e.what();
        std::ranges::replace(line, '\n', ' ');
        throw command_line_error{fmt::format("{} ({})", line, where)};
    }
}

/// Returns `from` as a number, or nothing if it is not completely a number.
template <class Number>
std::optional<Number> number_in(std::string_view from) {
    Number n{};
    const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), n);
    if (error != std::errc{} || end != from.data() + from.size()) return std::nullopt;
    return n;
}

/// Checks an option's text before it is converted. Rejects "nan", which is outside of every range.
template <class Number>
CLI::Validator within(Number low, Number high, std::string_view what) {
    const auto check = [=, what = std::string{what}](const std::string& given) {
        const std::optional<Number> n = number_in<Number>(given);
        if (n && *n >= low && *n <= high) return std::string{};
        return fmt::format("give {} from {} to {}, not '{}'", what, low, high, given);
    };
    return CLI::Validator{check, "", "within"};
}

inline CLI::Validator a_port() { return within<unsigned>(0, 65535, "a port"); }

inline CLI::Validator one_of(const std::vector<std::string>& names) {
    const auto check = [=](const std::string& given) {
        if (std::ranges::find(names, given) != names.end()) return std::string{};
        return fmt::format("give one of {}, not '{}'", fmt::join(names, ", "), given);
    };
    return CLI::Validator{check, "", "one of"};
}

/// Converts the name of an enumeration's value to its number. Accepts such a number, too, because `transform` calls
/// the validator a second time with its result.
template <class Enumeration>
CLI::Validator choice(const std::map<std::string, Enumeration>& of) {
    std::map<std::string, std::string> numbers;
    std::vector<std::string> names;
    for (const auto& [name, value] : of) {
        numbers.emplace(name, std::to_string(static_cast<std::underlying_type_t<Enumeration>>(value)));
        names.push_back(name);
    }
    const auto choose = [numbers, known = one_of(names)](std::string& given) {
        if (std::ranges::find(numbers, given, &std::pair<const std::string, std::string>::second) != numbers.end())
            return std::string{};
        std::string error = known(given);
        if (error.empty()) given = numbers.at(given);
        return error;
    };
    return CLI::Validator{choose, "", "one of"};
}

/// Returns the names of `described`, in its order.
template <class Descriptions>
std::vector<std::string> names_of(const Descriptions& described) {
    std::vector<std::string> names;
    names.reserve(std::size(described));
    for (const auto& d : described) names.emplace_back(d.name);
    return names;
}

/// Return the names of all algorithms or policies; the default is the first.
inline std::vector<std::string> algorithm_names() { return names_of(tutti::available_algorithms()); }
inline std::vector<std::string> policy_names() { return names_of(tutti::available_policies()); }

}  // namespace cli
