// tutti-tpcc-load: see generator.hpp. Prints a table, or JSON for programs.
#include "cli/options.hpp"
#include "tpcc/load/generator.hpp"

namespace {

using namespace tpcc;
using namespace tpcc::load;

struct program_options {
    load_settings how;
    bool json = false;
};

/// The priorities of procedures.cpp.
constexpr std::array<int, profile_count> priorities{3, 5, 4, 1, 2};

double share(std::uint64_t of, std::uint64_t in) {
    return in == 0 ? 0.0 : static_cast<double>(of) / static_cast<double>(in);
}
double microseconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }
double mean(const load_statistics& t) { return share(t.nanoseconds, t.answered) / 1000; }

void print_json(const load_result& r) {
    fmt::print("{{\"seconds\": {}, \"throughput\": {:.1f}, \"profiles\": [", r.seconds,
               static_cast<double>(r.answered_in_time) / r.seconds);
    for (std::size_t p = 0; p < profile_count; ++p) {
        const load_statistics& t = r.profiles[p];
        fmt::print(
            "{}{{\"name\": \"{}\", \"priority\": {}, \"sent\": {}, \"answered\": {}, \"refused\": {}, "
            "\"failed\": {}, \"executions\": {}, \"restarts\": {}, \"mean\": {:.2f}, \"turnarounds\": [",
            p == 0 ? "" : ", ", profile_names[p], priorities[p], t.sent, t.answered, t.refused, t.failed, t.executions,
            t.restarts, mean(t));
        bool first = true;
        t.turnaround.for_each([&](std::uint64_t nanoseconds, std::uint64_t count) {
            fmt::print("{}[{:.2f}, {}]", first ? "" : ", ", microseconds(nanoseconds), count);
            first = false;
        });
        fmt::print("]}}");
    }
    fmt::print("]}}\n");
}

void print_table(const load_result& r) {
    fmt::print("{:<14}{:>9}{:>10}{:>9}{:>9}{:>12}{:>12}{:>12}{:>12}{:>9}\n", "profile", "priority", "answered", "busy",
               "failed", "mean us", "p50 us", "p99 us", "p99.9 us", "aborts");
    for (std::size_t p = 0; p < profile_count; ++p) {
        const load_statistics& t = r.profiles[p];
        fmt::print("{:<14}{:>9}{:>10}{:>9}{:>9}{:>12.0f}{:>12.0f}{:>12.0f}{:>12.0f}{:>8.2f}%\n", profile_names[p],
                   priorities[p], t.answered, t.refused, t.failed, mean(t), microseconds(t.turnaround.percentile(0.5)),
                   microseconds(t.turnaround.percentile(0.99)), microseconds(t.turnaround.percentile(0.999)),
                   100 * share(t.restarts, t.restarts + t.executions));
    }
    fmt::print("{:.0f} calls a second were answered\n", static_cast<double>(r.answered_in_time) / r.seconds);
}

std::variant<program_options, cli::help_text> parse_command_line(int argc, const char* const* argv) {
    CLI::App app{"Drives `tutti serve tpcc-procedures.so` with the five profiles of TPC-C in equal shares",
                 "tutti-tpcc-load"};
    program_options options;
    load_settings& how = options.how;
    app.add_option("--host", how.server.host, "Host of the server")->capture_default_str();
    app.add_option("--port", how.server.port, "Port of the server")->capture_default_str();
    app.add_option("--rate", how.rate, "Calls per second, of all profiles together")
        ->check(CLI::Range(0.1, 1e7))
        ->capture_default_str();
    app.add_option("--closed", how.closed, "Number of calls that are always in progress, instead of a rate; 0: off")
        ->check(CLI::Range(0, 100'000))
        ->capture_default_str();
    app.add_option("--seconds", how.seconds, "Seconds to measure")
        ->check(CLI::Range(0.01, 86'400.0))
        ->capture_default_str();
    app.add_option("--warm-up", how.warm_up, "Seconds before the measurement")
        ->check(CLI::Range(0.0, 3600.0))
        ->capture_default_str();
    app.add_option("--connections", how.connections, "Connections for each profile")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--districts", how.districts, "Number of districts of each warehouse that calls use")
        ->check(CLI::Range(1, districts_per_warehouse))
        ->capture_default_str();
    app.add_option("--seed", how.seed, "Seed of inputs and arrivals")->capture_default_str();
    app.add_flag("--json", options.json, "Print JSON");
    if (const auto help = cli::parse(app, argc, argv, "tutti-tpcc-load --help lists the options")) return *help;
    return options;
}

int run(const program_options& options) {
    const load_result r = generate_load(options.how);
    options.json ? print_json(r) : print_table(r);
    if (r.first_failure.empty()) return cli::success;
    fmt::print(stderr, "tutti-tpcc-load: a call failed: {}\n", r.first_failure);
    return cli::failed;
}

}  // namespace

int main(int argc, char** argv) {
    return cli::run_program(
        "tutti-tpcc-load", "give less to --connections", [&] { return parse_command_line(argc, argv); },
        [](const program_options& options) { return run(options); });
}
