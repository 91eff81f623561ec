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

/// Takes --config and its value out of the words.
std::optional<std::string> take_file(std::vector<std::string>& words) {
    for (auto w = words.begin(); w != words.end(); ++w) {
        if (w->starts_with(std::string{option} + '=')) {
            std::string file = w->substr(option.size() + 1);
            words.erase(w);
            return file;
        }
        if (*w != option) continue;
        if (w + 1 == words.end()) throw cli::command_line_error{"--config: 1 required FILE missing"};
        std::string file = *(w + 1);
        words.erase(w, w + 2);
        return file;
    }
    return std::nullopt;
}

bool gives(const std::vector<std::string>& words, const std::string& name) {
    return std::ranges::any_of(words, [&](const std::string& w) { return w == name || w.starts_with(name + '='); });
}

std::string at(const std::string& file, const toml::node& n) {
    return fmt::format("--config: {}:{}: ", file, n.source().begin.line);
}

/// One value as a word of a command line.
std::string word_of(const std::string& file, std::string_view key, const toml::node& n) {
    if (const auto text = n.as_string()) return text->get();
    if (const auto number = n.as_integer()) return std::to_string(number->get());
    if (const auto number = n.as_floating_point()) return fmt::format("{}", number->get());
    if (const auto truth = n.as_boolean()) return truth->get() ? "true" : "false";
    throw cli::command_line_error{at(file, n) + std::string{key} + " is text, a number, or true or false"};
}

void add(std::vector<std::string>& to, const std::string& file, const toml::table& from) {
    for (const auto& [key, value] : from) {
        const std::string name{key.str()};
        if (name == "object") {
            to.push_back(word_of(file, name, value));
        } else if (name == "set") {
            const toml::table* const settings = value.as_table();
            if (settings == nullptr)
                throw cli::command_line_error{at(file, value) + "set is a table: [set], and a line for each setting"};
            for (const auto& [setting, v] : *settings) {
                to.push_back("--set");
                to.push_back(fmt::format("{}={}", setting.str(), word_of(file, setting.str(), v)));
            }
        } else if (const auto flag = value.as_boolean()) {
            if (flag->get()) to.push_back("--" + name);
        } else {
            to.push_back(fmt::format("--{}={}", name, word_of(file, name, value)));
        }
    }
}

}  // namespace

std::vector<std::string> with_configuration(std::vector<std::string> words) {
    const std::optional<std::string> file = take_file(words);
    if (!file) return words;
    toml::table read;
    try {
        read = toml::parse_file(*file);
    } catch (const toml::parse_error& e) {
        throw cli::command_line_error{
            fmt::format("--config: {}:{}: {}", *file, e.source().begin.line, e.description())};
    }
    std::vector<std::string> from_file;
    add(from_file, *file, read);
    // The command line has the last word. An object there is the first word that is no option.
    std::vector<std::string> all{words.begin(), words.begin() + std::min<std::ptrdiff_t>(2, std::ssize(words))};
    const bool has_object = words.size() > 2 && !words[2].starts_with('-');
    for (std::size_t i = 0; i < from_file.size(); ++i) {
        const std::string& w = from_file[i];
        if (w == "--set") {
            all.insert(all.end(), {w, from_file[++i]});
        } else if (!w.starts_with("--")) {
            if (!has_object) all.push_back(w);
        } else if (!gives(words, w.substr(0, w.find('=')))) {
            all.push_back(w);
        }
    }
    all.insert(all.end(), words.begin() + std::min<std::ptrdiff_t>(2, std::ssize(words)), words.end());
    return all;
}

}  // namespace tutti::tools
