#include "tpcc/options.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <tutti/tutti.hpp>

#include "cli/options.hpp"

namespace tpcc {
namespace {

profile_mix mix_from(const std::string& given) {
    const auto refuse = [&](std::string_view why) {
        throw cli::command_line_error{
            fmt::format("--mix: give {} whole percentages, separated by commas, for {}; '{}' {}", profile_count,
                        fmt::join(profile_names, ", "), given, why)};
    };
    profile_mix mix{};
    std::string_view rest = given;
    for (std::size_t p = 0; p < profile_count; ++p) {
        const std::size_t comma = rest.find(',');
        const bool last = p + 1 == profile_count;
        if ((comma == std::string_view::npos) != last) refuse(fmt::format("is not {} of them", profile_count));
        const std::optional<int> share = cli::number_in<int>(rest.substr(0, comma));
        if (!share || *share < 0 || *share > 100) refuse("holds something else");
        mix[p] = *share;
        if (!last) rest.remove_prefix(comma + 1);
    }
    const int sum = std::accumulate(mix.begin(), mix.end(), 0);
    if (sum != 100) refuse(fmt::format("adds up to {}, not to 100", sum));
    return mix;
}

/// Refuses a database larger than the memory, before the machine swaps or kills the program.
void check_memory(const program_options& options) {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) return;
    const auto machine = static_cast<double>(pages) * static_cast<double>(page);
    const auto needed = static_cast<double>(database::bytes_after_load(options.size, options.warehouses));
    if (needed < machine) return;
    constexpr double giga = 1e9;
    const double each = needed / options.warehouses;
    throw cli::command_line_error{fmt::format(
        "--warehouses: {} of them need {:.0f} GB, but this machine has {:.0f} GB; give at most {:.0f}",
        options.warehouses, std::ceil(needed / giga), machine / giga, std::max(1.0, std::floor(machine / each)))};
}

constexpr std::string_view description =
    "Runs TPC-C in memory on Tutti's transactions: loads the database, runs the five profiles on all threads for the\n"
    "given time, prints what they did, and checks the consistency conditions of the specification.\n"
    "The workers form a closed loop without keying and think times, so the figures are not tpmC.";

constexpr std::string_view footer =
    "The run adds some 1.1 kB of memory for every New-Order.\n"
    "Exit status: 0 all is well, 1 a consistency condition is violated or the run failed, 2 bad usage.\n"
    "Example: tutti-tpcc --warehouses 4 --threads 8 --seconds 10 --json result.json";

}  // namespace

std::variant<program_options, cli::help_text> parse_command_line(int argc, const char* const* argv) {
    program_options options;
    options.run.threads = std::max(1u, std::thread::hardware_concurrency());
    double seconds = options.run.time.count();
    std::string mix = fmt::format("{}", fmt::join(options.run.mix, ","));
    int shrink = 1;

    CLI::App app{std::string{description}, "tutti-tpcc"};
    app.footer(std::string{footer});
    app.get_formatter()->column_width(26);
    app.add_option("--warehouses", options.warehouses, "Warehouses, about 100 MB each")
        ->check(cli::within(1, 100'000, "a whole number"))
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--threads", options.run.threads, "Worker threads; the default is one for each core")
        ->check(cli::within(1, 4096, "a whole number"))
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--seconds", seconds, "Seconds to run the mix")
        ->check(cli::within(0.01, 1e6, "a number of seconds"))
        ->type_name("S")
        ->capture_default_str();
    app.add_option("--mix", mix,
                   "Percentages of New-Order, Payment, Order-Status, Delivery and Stock-Level;\n"
                   "each worker deals them from a shuffled deck of 100 cards")
        ->type_name("N,P,O,D,S")
        ->capture_default_str();
    const std::vector<std::string> names = cli::algorithm_names();
    app.add_option("--algorithm", options.algorithm,
                   fmt::format("Concurrency control: {}; without it {}", fmt::join(names, ", "), names.front()))
        ->check(cli::one_of(names))
        ->envname("TUTTI_ALGORITHM")
        ->type_name("NAME");
    app.add_option("--seed", options.run.seed, "Seed of all random numbers: the same seed loads the same rows")
        ->check(cli::within(std::uint64_t{0}, ~std::uint64_t{0}, "a whole number"))
        ->type_name("N")
        ->capture_default_str();
    app.add_flag("--statistics", options.statistics, "Print Tutti's own statistics by transaction as well");
    bool unchecked = false, checked = false;
    CLI::Option* const no_check = app.add_flag("--no-check", unchecked, "Skip the checks of consistency");
    app.add_flag("--check", checked, "Check consistency after the load and after the run; the default")
        ->excludes(no_check);
    app.add_option("--json", options.json, "Write the results to this file as well")->type_name("FILE");
    app.add_option("--shrink", shrink, "Divide items, customers and orders by this: quick to load, but not TPC-C")
        ->check(cli::within(1, 100, "a whole number"))
        ->type_name("N")
        ->capture_default_str();
    app.set_version_flag("--version", "tutti-tpcc " TPCC_VERSION);

    if (const auto help = cli::parse(app, argc, argv, "tutti-tpcc --help lists the options")) return *help;
    options.check = !unchecked;
    options.run.mix = mix_from(mix);
    options.run.time = std::chrono::duration<double>{seconds};
    options.size.items /= shrink;
    options.size.customers_per_district /= shrink;
    options.size.orders_per_district /= shrink;
    check_memory(options);
    return options;
}

}  // namespace tpcc
