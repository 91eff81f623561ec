// How --help prints: one line for each option, with its default at the end.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace cli {

/// Prints `--name TYPE   description (default: value)`. CLI11 itself would print more before the description: the
/// default, the checks, and the options that an option needs or excludes. That text would push most descriptions into a
/// second line. It is not needed, because the error message for an invalid option names its checks and needed options.
class help_format : public CLI::Formatter {
public:
    help_format() { column_width(37); }

    std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
        std::string name = CLI::Formatter::make_option_name(option, is_positional);
        if (const std::size_t at = name.find('{'); at != std::string::npos) name.resize(at);  // the value without =FILE
        return name;
    }

    std::string make_option_opts(const CLI::Option* option) const override {
        std::string type = option->get_type_size() == 0 ? std::string{} : option->get_type_name();
        for (const char* const check : {":POSITIVE", ":NONNEGATIVE", ":INT in ", ":UINT in ", ":FLOAT in ", ":{"}) {
            if (const std::size_t at = type.find(check); at != std::string::npos) type.resize(at);
        }
        if (!type.empty()) type.insert(0, 1, ' ');
        if (option->get_expected_max() == CLI::detail::expected_max_vector_size) type += " ...";
        return type;
    }

    std::string make_option_desc(const CLI::Option* option) const override {
        std::string text = option->get_description();
        if (option->get_type_size() != 0 && !option->get_default_str().empty())
            text += " (default: " + option->get_default_str() + ")";
        if (!option->get_envname().empty()) text += " (or $" + option->get_envname() + ")";
        if (option->get_required()) text += " (required)";
        return text;
    }
};

/// Puts the options that have no group yet under the heading `name`.
inline void assign_group(CLI::App& of, const std::string& name) {
    for (CLI::Option* const option : of.get_options()) {
        const bool is_help = option == of.get_help_ptr();
        if (!is_help && !option->get_positional() && option->get_group() == "Options") option->group(name);
    }
}

}  // namespace cli
