// The tree keeps its layers. The first half tests the checker, and the second half applies it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "include_rules.hpp"

namespace {

namespace fs = std::filesystem;
using tutti::layout::check_file;
using tutti::layout::parse_table;

// ---- the checker ------------------------------------------------------------------------------------------------

constexpr const char* small_table = R"(
include/tutti  engine std      # comments and blank lines are skipped

src/low        engine std linux
src/middle     src/middle/upper
src/middle/lower  src/low
src/middle/upper  src/middle/lower
src/high       src/middle
shared         public std
apps           shared public std packages
)";

bool small_tree(const std::string& path) {
    static const std::vector<std::string> files = {"include/tutti/tutti.hpp", "include/tutti/detail/cell.hpp",
                                                   "src/low/a.hpp",           "src/middle/b.hpp",
                                                   "src/middle/lower/d.hpp",  "src/middle/upper/e.hpp",
                                                   "src/high/c.hpp",          "apps/one/own.hpp",
                                                   "apps/two/other.hpp",      "shared/common.hpp"};
    return std::ranges::find(files, path) != files.end();
}

/// Returns the rule that one include in `path` violates, or "".
std::string verdict(const std::string& path, const std::string& include) {
    const auto found = check_file(parse_table(small_table), path, "// a file\n#include " + include + "\n", small_tree);
    if (found.empty()) return "";
    EXPECT_EQ(found.front().line, 2U);
    return found.front().rule;
}

TEST(include_rules, a_layer_may_include_itself_and_all_below) {
    EXPECT_EQ(verdict("src/high/c.cpp", "\"high/c.hpp\""), "");
    EXPECT_EQ(verdict("src/high/c.cpp", "\"middle/b.hpp\""), "");
    EXPECT_EQ(verdict("src/high/c.cpp", "\"low/a.hpp\""), "");
    EXPECT_EQ(verdict("src/high/c.cpp", "\"tutti/detail/cell.hpp\""), "");
    EXPECT_EQ(verdict("src/high/c.cpp", "<sys/mman.h>"), "");
}

TEST(include_rules, a_layer_may_not_include_what_is_above) {
    EXPECT_EQ(verdict("src/low/a.hpp", "\"middle/b.hpp\""), "src/low may not include src/middle");
    EXPECT_EQ(verdict("src/middle/b.hpp", "  \"high/c.hpp\"  // why"), "src/middle may not include src/high");
}

TEST(include_rules, a_room_of_a_layer_may_not_include_a_room_above) {
    EXPECT_EQ(verdict("src/middle/upper/e.cpp", "\"middle/lower/d.hpp\""), "");
    EXPECT_EQ(verdict("src/middle/lower/d.cpp", "\"low/a.hpp\""), "");
    EXPECT_EQ(verdict("src/high/c.cpp", "\"middle/lower/d.hpp\""), "");
    EXPECT_EQ(verdict("src/middle/lower/d.cpp", "\"middle/upper/e.hpp\""),
              "src/middle/lower may not include src/middle/upper");
    EXPECT_EQ(verdict("src/middle/lower/d.cpp", "\"middle/b.hpp\""), "src/middle/lower may not include src/middle");
}

TEST(include_rules, the_engine_depends_on_no_package) {
    EXPECT_NE(verdict("src/high/c.cpp", "<fmt/core.h>"), "");
    EXPECT_EQ(verdict("apps/one/main.cpp", "<fmt/core.h>"), "");
}

TEST(include_rules, public_headers_keep_to_the_standard_library) {
    EXPECT_EQ(verdict("include/tutti/tx.hpp", "<atomic>"), "");
    EXPECT_EQ(verdict("include/tutti/tutti.h", "<stdint.h>"), "");
    EXPECT_EQ(verdict("include/tutti/tx.hpp", "\"tutti/tutti.hpp\""), "");
    EXPECT_NE(verdict("include/tutti/tx.hpp", "<unistd.h>"), "");
    EXPECT_NE(verdict("include/tutti/tx.hpp", "<sys/types.h>"), "");
    EXPECT_NE(verdict("include/tutti/tx.hpp", "\"low/a.hpp\""), "");
}

TEST(include_rules, programs_see_the_public_api_and_their_own_folder) {
    EXPECT_EQ(verdict("apps/one/main.cpp", "<tutti/tutti.hpp>"), "");
    EXPECT_EQ(verdict("apps/one/main.cpp", "\"own.hpp\""), "");
    EXPECT_EQ(verdict("apps/one/deep/part.cpp", "\"own.hpp\""), "");
    EXPECT_EQ(verdict("apps/one/deep/part.cpp", "\"one/own.hpp\""), "");
    EXPECT_NE(verdict("apps/one/main.cpp", "\"tutti/detail/cell.hpp\""), "");
    EXPECT_NE(verdict("apps/one/main.cpp", "\"low/a.hpp\""), "");
    EXPECT_NE(verdict("apps/one/main.cpp", "\"two/other.hpp\""), "");
    EXPECT_NE(verdict("apps/one/main.cpp", "\"../two/other.hpp\""), "");
}

TEST(include_rules, a_folder_beside_src_is_shared_with_those_who_name_it) {
    EXPECT_EQ(verdict("apps/one/main.cpp", "\"shared/common.hpp\""), "");
    EXPECT_EQ(verdict("shared/more.hpp", "\"shared/common.hpp\""), "");
    EXPECT_NE(verdict("src/high/c.cpp", "\"shared/common.hpp\""), "");
    EXPECT_NE(verdict("shared/common.hpp", "\"apps/one/own.hpp\""), "");
    EXPECT_NE(verdict("apps/one/main.cpp", "\"apps/two/other.hpp\""), "");
}

TEST(include_rules, an_include_is_found_however_it_is_spaced) {
    const auto found =
        check_file(parse_table(small_table), "src/low/a.hpp", "  #  include \"middle/b.hpp\"", small_tree);
    EXPECT_EQ(found.size(), 1U);
    EXPECT_FALSE(
        check_file(parse_table(small_table), "src/low/a.hpp", "#include_next \"middle/b.hpp\"", small_tree).empty());
    EXPECT_NE(verdict("src/low/a.hpp", "SOME_MACRO"), "");
    EXPECT_NE(verdict("src/low/a.hpp", "\"nowhere.hpp\""), "");
}

TEST(include_rules, a_table_that_names_an_unknown_folder_is_rejected) {
    EXPECT_THROW((void)parse_table("src/a src/b\n"), std::runtime_error);
}

// ---- the tree ---------------------------------------------------------------------------------------------------

const fs::path root{TUTTI_SOURCE_DIR};

std::string contents(const fs::path& path) {
    std::ifstream file{path};
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>{file}, {}};
}

std::vector<fs::path> source_files() {
    static const std::vector<std::string> endings = {".hpp", ".h", ".cpp", ".c", ".S"};
    std::vector<fs::path> found;
    for (const char* top : {"include", "src", "cli", "apps", "tools", "bench", "examples"}) {
        if (!fs::is_directory(root / top)) continue;
        for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
            if (std::ranges::find(endings, entry.path().extension().string()) != endings.end())
                found.push_back(entry.path());
        }
    }
    std::ranges::sort(found);
    return found;
}

TEST(tree, includes_follow_the_table) {
    const auto layers = parse_table(contents(root / "docs/layers.txt"));
    const auto in_tree = [](const std::string& path) { return fs::exists(root / path); };
    const auto files = source_files();
    EXPECT_FALSE(files.empty());
    for (const fs::path& file : files) {
        const std::string path = fs::relative(file, root).generic_string();
        for (const auto& [line, rule] : check_file(layers, path, contents(file), in_tree)) {
            ADD_FAILURE() << path << ":" << line << ": " << rule << " (docs/layers.txt)";
        }
    }
}

TEST(tree, the_table_and_the_architecture_page_name_the_same_layers) {
    const fs::path page = root / "docs/architecture.md";
    ASSERT_TRUE(fs::exists(page));
    const std::string text = contents(page);
    for (const auto& [folder, allowed] : parse_table(contents(root / "docs/layers.txt"))) {
        EXPECT_NE(text.find("`" + folder + "/`"), std::string::npos) << "docs/architecture.md lacks " << folder;
    }
}

/// Returns the folders of the page's table, each with a flag that it is planned, from rows such as "| `src/libc/`
/// *(planned)* | ...".
std::vector<std::pair<std::string, bool>> folders_of(const std::string& page) {
    std::vector<std::pair<std::string, bool>> found;
    std::istringstream lines{page};
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("| `")) continue;
        const std::string cell = line.substr(0, line.find(" | "));
        const bool planned = cell.find("*(planned)*") != std::string::npos;
        for (std::size_t from = cell.find('`'); from != std::string::npos;) {
            const std::size_t to = cell.find('`', from + 1);
            const std::string name = cell.substr(from + 1, to - from - 1);
            if (name.ends_with("/")) found.emplace_back(name, planned);
            from = cell.find('`', to + 1);
        }
    }
    return found;
}

TEST(tree, a_folder_of_the_architecture_page_exists_or_is_planned) {
    const fs::path page = root / "docs/architecture.md";
    ASSERT_TRUE(fs::exists(page));
    const auto folders = folders_of(contents(page));
    EXPECT_GT(folders.size(), 15U);
    for (const auto& [folder, planned] : folders) {
        EXPECT_EQ(fs::is_directory(root / folder), !planned)
            << "docs/architecture.md says of " << folder << " that it is " << (planned ? "planned" : "there");
    }
}

TEST(tree, every_layer_has_a_short_readme) {
    if (!fs::is_directory(root / "src")) GTEST_SKIP() << "no src";
    for (const auto& entry : fs::directory_iterator(root / "src")) {
        if (!entry.is_directory()) continue;
        const fs::path readme = entry.path() / "README.md";
        if (!fs::exists(readme)) {
            ADD_FAILURE() << readme << " is missing: what lives here, what must never, where to start reading";
            continue;
        }
        EXPECT_LE(std::ranges::count(contents(readme), '\n'), 30) << readme << " is longer than 30 lines";
    }
}

/// Returns the names in a text that look like files of the tree, with at least one folder:
/// "src/core/state/fault_injection.hpp", "memory/orec.hpp".
std::vector<std::string> files_named_in(const std::string& text) {
    const auto is_of_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    const auto is_of_path = [&](char c) { return is_of_name(c) || c == '/' || c == '.' || c == '-'; };
    std::vector<std::string> found;
    for (const std::string ending : {".hpp", ".cpp", ".md", ".def"}) {
        for (std::size_t at = text.find(ending); at != std::string::npos; at = text.find(ending, at + 1)) {
            const std::size_t end = at + ending.size();
            if (end < text.size() && is_of_name(text[end])) continue;
            std::size_t begin = at;
            while (begin > 0 && is_of_path(text[begin - 1])) --begin;
            const std::string name = text.substr(begin, end - begin);
            if (name.find('/') != std::string::npos) found.push_back(name);
        }
    }
    return found;
}

/// Returns true if the name is not the tree's: a header of a package, or a file that a program makes.
bool is_foreign(const std::string& name) {
    static const std::vector<std::string> tops = {
        "src/",      "include/",   "tests/",    "bench/",    "docs/",    "core/",    "memory/", "algorithms/",
        "policies/", "api/",       "base/",     "observe/",  "preempt/", "server/",  "itm/",    "tutti/",
        "tokens/",   "lifecycle/", "conflict/", "rollback/", "modes/",   "waiting/", "state/",  "interleaving/"};
    return std::ranges::none_of(tops, [&name](const std::string& top) { return name.starts_with(top); });
}

TEST(tree, a_file_that_a_comment_or_a_page_names_exists) {
    std::vector<fs::path> texts = source_files();
    for (const char* top : {"docs", "src", "tests"}) {
        for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
            const std::string ending = entry.path().extension().string();
            if (ending == ".md" || (ending == ".cpp" && top == std::string{"tests"})) texts.push_back(entry.path());
        }
    }
    for (const char* page : {"README.md", "CONTRIBUTING.md"}) texts.push_back(root / page);
    for (const fs::path& text : texts) {
        if (text.filename() == "layout_test.cpp" || text.filename() == "include_rules.hpp") continue;  // examples
        for (const std::string& name : files_named_in(contents(text))) {
            if (is_foreign(name)) continue;
            const bool there =
                std::ranges::any_of(std::vector<fs::path>{root, root / "src", root / "include", root / "src/core",
                                                          root / "tests", root / "bench", text.parent_path()},
                                    [&name](const fs::path& top) { return fs::exists(top / name); });
            EXPECT_TRUE(there) << fs::relative(text, root) << " names " << name << ", which is not there";
        }
    }
}

}  // namespace
