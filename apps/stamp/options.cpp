#include "stamp/options.hpp"

#include <algorithm>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <tutti/tutti.hpp>

#include "cli/options.hpp"
#include "stamp/language.hpp"

namespace stamp {
namespace {

std::vector<build> builds() {
    std::vector<build> all = {build::library, build::sequential};
    if (has_language_build) all.push_back(build::language);
    return all;
}

std::vector<std::string> build_names() {
    std::vector<std::string> names;
    for (const build b : builds()) names.emplace_back(name_of(b));
    return names;
}

std::vector<std::string> program_names() {
    std::vector<std::string> names;
    for (const program* p : all_programs()) names.emplace_back(p->name);
    return names;
}

/// In the order of tutti::mode.
const std::vector<std::string> modes = {"optimistic", "visible", "irrevocable"};

std::string list_of_programs() {
    std::string text =
        fmt::format("{:<14} {:>10} {:>10}  {:<14} {}\n", "program", "size", "--quick", "of", "what it does");
    for (const program* p : all_programs()) {
        text += fmt::format("{:<14} {:>10} {:>10}  {:<14} {}\n", p->name, p->usual, p->quick, p->unit, p->what);
    }
    return text;
}

std::vector<const program*> programs_named(const std::vector<std::string>& names) {
    std::vector<const program*> programs;
    for (const std::string& name : names) {
        if (name == "all") {
            programs = all_programs();
            continue;
        }
        const program* const p = find_program(name);
        if (p == nullptr) {
            throw cli::command_line_error{fmt::format("there is no program '{}'; give list, all, or some of {}", name,
                                                      fmt::join(program_names(), ", "))};
        }
        programs.push_back(p);
    }
    return programs;
}

void check_consistency(const command& c) {
    if (c.which == build::sequential && c.threads != 1) {
        throw cli::command_line_error{
            fmt::format("--threads: the sequential build runs on one thread, not on {}", c.threads)};
    }
    if (c.which != build::library && (c.lengths || c.mode != tutti::mode::optimistic)) {
        throw cli::command_line_error{
            fmt::format("--mode, --lengths: they are for the library build, not for the {} one", name_of(c.which))};
    }
    if (c.which != build::library && !c.algorithm.empty()) {
        throw cli::command_line_error{fmt::format(
            "--algorithm: it is for the library build; the {} build takes no notice of it", name_of(c.which))};
    }
    for (const program* p : c.programs) {
        if (c.size && (*c.size < p->min_size || *c.size > p->max_size)) {
            throw cli::command_line_error{
                fmt::format("--size: {} takes from {} to {} {}", p->name, p->min_size, p->max_size, p->unit)};
        }
    }
}

constexpr std::string_view description =
    "Runs programs after the STAMP suite (Minh, Chung, Kozyrakis, Olukotun, IISWC 2008) on Tutti's transactions, or\n"
    "without any, and checks their results. The inputs are made from the seed.";

constexpr std::string_view footer =
    "Exit status: 0 all is well, 1 a result is wrong or a run failed, 2 bad usage.\n"
    "Example: tutti-stamp intruder kmeans-high --threads 2";

}  // namespace

std::string_view name_of(build b) {
    switch (b) {
        case build::sequential: return "sequential";
        case build::library: return "library";
        case build::language: return "language";
    }
    return {};
}

std::variant<command, cli::help_text> parse_command_line(int argc, const char* const* argv) {
    command c;
    std::vector<std::string> names;
    std::string which = "library";
    std::string mode = modes.front();
    std::size_t size = 0;

    CLI::App app{std::string{description}, "tutti-stamp"};
    app.footer(std::string{footer});
    app.get_formatter()->column_width(26);
    app.add_option("program", names, "What to run; list shows what there is, all runs all")->required();
    CLI::Option* const threads = app.add_option("--threads", c.threads, "Threads; the default is one for each core")
                                     ->check(cli::within<std::uint64_t>(1, 1024, "a whole number"))
                                     ->type_name("N");
    CLI::Option* const sized = app.add_option("--size", size, "How much to do, in the program's unit")
                                   ->check(cli::within<std::uint64_t>(1, 1'000'000'000, "a whole number"))
                                   ->type_name("N");
    app.add_flag("--quick", c.quick, "A size for tests")->excludes(sized);
    app.add_option("--seed", c.seed, "For the input")
        ->check(cli::within<std::uint64_t>(0, ~std::uint64_t{0}, "a whole number"))
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--build", which,
                   "library (Tutti's), sequential (no transactions) or, with GCC, language (libitm's)")
        ->check(cli::one_of(build_names()))
        ->type_name("NAME")
        ->capture_default_str();
    const std::vector<std::string> algorithms = cli::algorithm_names();
    app.add_option("--algorithm", c.algorithm,
                   fmt::format("Concurrency control: {}; without it TUTTI_ALGORITHM or {}", fmt::join(algorithms, ", "),
                               algorithms.front()))
        ->check(cli::one_of(algorithms))
        ->type_name("NAME");
    app.add_option("--mode", mode, fmt::format("How the blocks run: {}", fmt::join(modes, ", ")))
        ->check(cli::one_of(modes))
        ->type_name("NAME")
        ->capture_default_str();
    app.add_flag("--lengths", c.lengths, "Time blocks instead of counting aborts, and report how long they take")
        ->needs(app.add_flag("--json", c.json, "Print JSON instead of a table"));
    app.set_version_flag("--version", "tutti-stamp " STAMP_VERSION);

    if (const auto help =
            cli::parse(app, argc, argv, "tutti-stamp --help lists the options, tutti-stamp list the programs"))
        return *help;
    if (names == std::vector<std::string>{"list"}) return cli::help_text{list_of_programs()};

    c.programs = programs_named(names);
    for (const build b : builds()) {
        if (name_of(b) == which) c.which = b;
    }
    c.mode = static_cast<tutti::mode>(std::ranges::find(modes, mode) - modes.begin());
    if (threads->count() == 0) {
        c.threads = c.which == build::sequential ? 1 : std::max(1u, std::thread::hardware_concurrency());
    }
    if (sized->count() != 0) c.size = size;
    check_consistency(c);
    return c;
}

}  // namespace stamp
