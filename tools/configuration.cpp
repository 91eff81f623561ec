#include "configuration.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "cli/options.hpp"

namespace tutti::tools {
namespace {

constexpr std::string_view option = "--config";

/// Removes --config and its value from the words, and returns the value.
std::optional<std::string> take_configuration_file(std::vector<std::string>& words) {
    std::optional<std::string> file;
    for (auto w = words.begin(); w != words.end();) {
        const bool joined = w->starts_with(std::string{option} + '=');
        if (!joined && *w != option) {
            ++w;
            continue;
        }
        if (file) throw cli::command_line_error{"--config is given twice: write all options into one file"};
        if (!joined && w + 1 == words.end()) throw cli::command_line_error{"--config: 1 required FILE missing"};
        file = joined ? w->substr(option.size() + 1) : *(w + 1);
        w = words.erase(w, w + (joined ? 1 : 2));
    }
    return file;
}

bool has_option(const std::vector<std::string>& words, const std::string& name) {
    return std::ranges::any_of(words, [&](const std::string& w) { return w == name || w.starts_with(name + '='); });
}

std::string at(const std::string& file, const toml::node& n) {
    return fmt::format("--config: {}:{}: ", file, n.source().begin.line);
}

/// Returns a value of the file as a word of the command line.
std::string word_of(const std::string& file, std::string_view key, const toml::node& n) {
    if (const auto text = n.as_string()) return text->get();
    if (const auto number = n.as_integer()) {
        // A mode that is written as 0o660 stays octal, with a leading 0.
        const bool octal = (number->flags() & toml::value_flags::format_as_octal) != toml::value_flags::none;
        return octal ? fmt::format("0{:o}", number->get()) : std::to_string(number->get());
    }
    if (const auto number = n.as_floating_point()) return fmt::format("{}", number->get());
    if (const auto truth = n.as_boolean()) return truth->get() ? "true" : "false";
    throw cli::command_line_error{at(file, n) + std::string{key} + " is text, a number, or true or false"};
}

server::user user_of(const std::string& file, const std::string& name, const toml::node& given) {
    const toml::table* const from = given.as_table();
    if (from == nullptr) throw cli::command_line_error{at(file, given) + "a user is a table: [users." + name + "]"};
    server::user u{.name = name};
    const auto refuse = [&](const toml::node& n, std::string_view key, std::string_view what) {
        throw cli::command_line_error{fmt::format("{}{} of user {} is {}", at(file, n), key, name, what)};
    };
    const auto number = [&](std::string_view key, const toml::node& n, std::int64_t most) {
        const auto value = n.value_exact<std::int64_t>();
        if (!value || *value < 0 || *value > most) refuse(n, key, fmt::format("a number from 0 to {}", most));
        return *value;
    };
    for (const auto& [key, n] : *from) {
        const std::string_view k = key.str();
        if (k == "password") {
            if (!n.is_string()) refuse(n, k, "text, the hash that `mkpasswd -m yescrypt` makes");
            u.password = n.ref<std::string>();
        } else if (k == "calls") {
            const toml::array* const patterns = n.as_array();
            if (patterns == nullptr || !(patterns->empty() || patterns->is_homogeneous<std::string>()))
                refuse(n, k, "a list of texts, patterns of procedures");
            u.allowed_procedures.clear();
            for (const toml::node& p : *patterns) u.allowed_procedures.push_back(p.ref<std::string>());
        } else if (k == "priority") {
            u.max_priority = static_cast<int>(number(k, n, server::highest_priority));
        } else if (k == "rate") {
            u.rate = static_cast<unsigned>(number(k, n, 1'000'000'000));
        } else if (k == "admin") {
            if (!n.is_boolean()) refuse(n, k, "true or false");
            u.is_admin = n.ref<bool>();
        } else if (k == "replicates") {
            if (!n.is_boolean()) refuse(n, k, "true or false");
            u.replicates = n.ref<bool>();
        } else {
            refuse(n, k, "not a known setting; known are password, calls, priority, rate, admin and replicates");
        }
    }
    return u;
}

void add(merged_command_line& into, std::vector<std::string>& to, const std::string& file, const toml::table& from,
         const std::function<bool(const std::string&)>& takes_value) {
    for (const auto& [key, value] : from) {
        const std::string name{key.str()};
        if (name == "object") {
            const toml::array* const several = value.as_array();
            if (several == nullptr) into.objects.push_back(word_of(file, name, value));
            else
                for (const toml::node& one : *several) into.objects.push_back(word_of(file, name, one));
        } else if (name == "users") {
            const toml::table* const users = value.as_table();
            if (users == nullptr)
                throw cli::command_line_error{at(file, value) + "users are tables: [users.NAME] for each"};
            if (users->empty())
                throw cli::command_line_error{
                    at(file, value) +
                    "users is empty, so no client would need a password: add [users.NAME] for "
                    "each, or leave the table out"};
            for (const auto& [user, what] : *users) into.users.push_back(user_of(file, std::string{user.str()}, what));
        } else if (name == "set") {
            const toml::table* const settings = value.as_table();
            if (settings == nullptr)
                throw cli::command_line_error{at(file, value) + "set is a table: [set], and a line for each setting"};
            for (const auto& [setting, v] : *settings) {
                to.push_back("--set");
                to.push_back(fmt::format("{}={}", setting.str(), word_of(file, setting.str(), v)));
            }
        } else if ("--" + name == option) {
            throw cli::command_line_error{at(file, value) +
                                          "one file contains all options: write the options of the other file here"};
        } else if (const auto flag = value.as_boolean()) {
            // Without this check, an option that needs a value would use the next option as its value.
            if (takes_value("--" + name))
                throw cli::command_line_error{at(file, value) + name + " is text or a number"};
            if (flag->get()) to.push_back("--" + name);
        } else {
            to.push_back(fmt::format("--{}={}", name, word_of(file, name, value)));
        }
    }
}

}  // namespace

merged_command_line merge_configuration(std::vector<std::string> words,
                                        const std::function<bool(const std::string&)>& takes_value) {
    merged_command_line all;
    const std::optional<std::string> file = take_configuration_file(words);
    if (!file) {
        all.words = std::move(words);
        return all;
    }
    toml::table read;
    try {
        read = toml::parse_file(*file);
    } catch (const toml::parse_error& e) {
        throw cli::command_line_error{
            fmt::format("--config: {}:{}: {}", *file, e.source().begin.line, e.description())};
    }
    std::vector<std::string> from_file;
    add(all, from_file, *file, read, takes_value);
    // Options on the command line take precedence over the file.
    const auto behind_command = words.begin() + std::min<std::ptrdiff_t>(2, std::ssize(words));
    all.words.assign(words.begin(), behind_command);
    for (std::size_t i = 0; i < from_file.size(); ++i) {
        const std::string& w = from_file[i];
        if (w == "--set") {
            all.words.insert(all.words.end(), {w, from_file[++i]});
        } else if (!has_option(words, w.substr(0, w.find('=')))) {
            all.words.push_back(w);
        }
    }
    all.words.insert(all.words.end(), behind_command, words.end());
    all.file = *file;
    return all;
}

}  // namespace tutti::tools
