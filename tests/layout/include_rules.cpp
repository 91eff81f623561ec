#include "include_rules.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace tutti::layout {
namespace {

constexpr std::string_view c_standard_headers[] = {
    "assert.h",    "complex.h",     "ctype.h",   "errno.h",  "fenv.h",   "float.h",  "inttypes.h",
    "limits.h",    "locale.h",      "math.h",    "setjmp.h", "signal.h", "stdarg.h", "stdbool.h",
    "stddef.h",    "stdint.h",      "stdio.h",   "stdlib.h", "string.h", "tgmath.h", "stdalign.h",
    "stdatomic.h", "stdnoreturn.h", "threads.h", "time.h",   "uchar.h",  "wchar.h",  "wctype.h"};

// Folders of headers of the C library, of Linux or of the compiler.
constexpr std::string_view linux_folders[] = {"sys/",     "linux/", "asm/", "arpa/",      "net/",
                                              "netinet/", "bits/",  "ext/", "sanitizer/", "valgrind/"};

bool is_standard(std::string_view name) {
    const bool cxx = name.find_first_of("./") == std::string_view::npos;
    return cxx || std::ranges::find(c_standard_headers, name) != std::end(c_standard_headers);
}

bool is_linux(std::string_view name) {
    if (name.find('/') == std::string_view::npos) return name.ends_with(".h");
    return std::ranges::any_of(linux_folders, [&](std::string_view folder) { return name.starts_with(folder); });
}

struct include_line {
    std::string name;
    bool angled = false;
};

/// Returns the include on a line; an empty name means that the preprocessor computes it.
std::optional<include_line> parse_include(std::string_view line) {
    const auto skip_space = [&line] {
        while (!line.empty() && std::isspace(static_cast<unsigned char>(line.front()))) line.remove_prefix(1);
    };
    skip_space();
    if (!line.starts_with('#')) return std::nullopt;
    line.remove_prefix(1);
    skip_space();
    if (!line.starts_with("include")) return std::nullopt;
    line.remove_prefix(7);
    if (line.starts_with("_next")) line.remove_prefix(5);
    skip_space();
    if (line.empty()) return include_line{};
    const bool angled = line.front() == '<';
    if (!angled && line.front() != '"') return include_line{};
    line.remove_prefix(1);
    return include_line{std::string{line.substr(0, line.find(angled ? '>' : '"'))}, angled};
}

/// Returns the table's row for a file, by its longest folder.
const std::pair<const std::string, allowance>* row_of(const table& layers, std::string_view path) {
    const std::pair<const std::string, allowance>* best = nullptr;
    for (const auto& row : layers) {
        const bool inside = path.starts_with(row.first + "/");
        if (inside && (best == nullptr || row.first.size() > best->first.size())) best = &row;
    }
    return best;
}

/// Returns the highest folder in which a quoted name is searched: a layer's own folder, or one program of apps/.
std::string own_folder(const std::string& row, const std::string& path) {
    if (row != "apps") return row;
    return path.substr(0, path.find('/', row.size() + 1));
}

/// Returns true if a quoted name is a file within `top`. The name may be relative to the including file's folder or a
/// folder above it, or begin with the name of `top` itself ("tpcc/rows.hpp" for apps/tpcc).
bool is_own_file(const std::string& top, const std::string& path, const std::string& name, const exists& file_exists) {
    namespace fs = std::filesystem;
    for (fs::path folder = fs::path{path}.parent_path(); folder.generic_string().starts_with(top);
         folder = folder.parent_path()) {
        if (file_exists((folder / name).generic_string())) return true;
    }
    const std::string named = (fs::path{top}.parent_path() / name).generic_string();
    return named.starts_with(top + "/") && file_exists(named);
}

/// Returns the error of one include, if any.
std::optional<std::string> judge(const table& layers, const std::string& row, const allowance& allowed,
                                 const std::string& path, const include_line& include, const exists& file_exists) {
    const std::string& name = include.name;
    const auto may = [&allowed](const std::string& what) { return allowed.contains(what); };

    if (name.empty()) return "an include must be written out";
    if (name.find("..") != std::string::npos) return "includes are written from a fixed root, without ..";

    if (name.starts_with("tutti/")) {
        if (!file_exists("include/" + name)) return "there is no public header " + name;
        if (may("engine")) return std::nullopt;
        if (!may("public")) return row + " may not include public headers";
        if (name.starts_with("tutti/detail/")) return row + " may not include what is in tutti/detail/";
        return std::nullopt;
    }

    if (include.angled) {
        if (is_standard(name)) return may("std") ? std::nullopt : std::optional{row + " may not include " + name};
        if (may("packages")) return std::nullopt;
        if (is_linux(name)) {
            if (may("linux")) return std::nullopt;
            return row + " may include the standard library only, not <" + name + ">";
        }
        return row + " may not depend on a package, as <" + name + "> does";
    }

    const std::string in_src = "src/" + name;
    if (file_exists(in_src)) {
        const auto* const layer = row_of(layers, in_src);
        if (layer == nullptr) return "the include table has no line for the folder of " + name;
        if (layer->first == row || may(layer->first)) return std::nullopt;
        return row + " may not include " + layer->first;
    }
    const std::string own = own_folder(row, path);
    if (is_own_file(own, path, name, file_exists)) return std::nullopt;
    // Relative to the root, or to the folder that contains its own: "tpcc/rows.hpp" for a program beside apps/tpcc.
    const std::string beside = (std::filesystem::path{own}.parent_path() / name).generic_string();
    for (const std::string& file : {name, beside}) {
        if (!file_exists(file)) continue;
        const auto* const layer = row_of(layers, file);
        const std::string folder = layer != nullptr ? layer->first : file.substr(0, file.find('/'));
        if (may(folder) || own_folder(folder, file) == own) return std::nullopt;
        return row + " may not include " + folder;
    }
    return name + " is neither in src/ nor in this file's own folder";
}

std::runtime_error without_line(const std::string& folder, const std::string& word) {
    return std::runtime_error{folder + " names " + word + ", which has no line"};
}

}  // namespace

table parse_table(std::string_view text) {
    table layers;
    std::istringstream lines{std::string{text}};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words{line.substr(0, line.find('#'))};
        std::string folder;
        if (!(words >> folder)) continue;
        allowance& allowed = layers[folder];
        for (std::string word; words >> word;) allowed.insert(word);
    }
    // "and what those rows name": repeat until nothing is added.
    for (bool grown = true; grown;) {
        grown = false;
        for (auto& [folder, allowed] : layers) {
            const std::size_t before = allowed.size();
            for (const std::string& word : allowance{allowed}) {
                if (word.find('/') == std::string::npos) continue;
                const auto row = layers.find(word);
                if (row == layers.end()) throw without_line(folder, word);
                allowed.insert(row->second.begin(), row->second.end());
            }
            grown |= allowed.size() != before;
        }
    }
    return layers;
}

std::vector<violation> check_file(const table& layers, const std::string& path, std::string_view text,
                                  const exists& file_exists) {
    const auto* row = row_of(layers, path);
    if (row == nullptr) return {{1, "the include table has no line for this folder"}};
    std::vector<violation> found;
    std::istringstream lines{std::string{text}};
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number) {
        const auto include = parse_include(line);
        if (!include) continue;
        if (auto rule = judge(layers, row->first, row->second, path, *include, file_exists)) {
            found.push_back({number, *std::move(rule)});
        }
    }
    return found;
}

}  // namespace tutti::layout
