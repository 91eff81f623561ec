#include "swarm/options.hpp"

#include <algorithm>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/options.hpp"

namespace swarm {
namespace {

constexpr std::string_view every_mode = "all";

std::vector<std::string> mode_names() {
    std::vector<std::string> names;
    names.reserve(render_modes.size() + 1);
    for (const render_mode& m : render_modes) names.emplace_back(m.name);
    names.emplace_back(every_mode);
    return names;
}

void check_pictures(const program_options& options) {
    const char* const option = !options.png.empty() ? "--png" : !options.gif.empty() ? "--gif" : nullptr;
    if (option == nullptr) return;
    if (options.sweep || options.modes.size() != 1) {
        throw cli::command_line_error{fmt::format("{}: pictures show one run; give one --mode and no --sweep", option)};
    }
}

constexpr std::string_view description =
    "Simulates flocks of balls in space on Tutti's transactions: threads move the balls, each with its neighbours in\n"
    "one transaction, while a renderer takes a snapshot of all of them for every frame, within a deadline.\n"
    "Prints, for each mode of the snapshot's transaction, how often the deadline was kept and what that cost the rest.";

constexpr std::string_view footer =
    "Exit status: 0 all is well, 1 a snapshot was inconsistent or the run failed, 2 bad usage.\n"
    "Examples: tutti-swarm --sweep --threads 8 --seconds 10\n"
    "          tutti-swarm --mode visible --seconds 3 --gif swarm.gif";

}  // namespace

std::variant<program_options, cli::help_text> parse_command_line(int argc, const char* const* argv) {
    program_options options;
    options.run.threads = std::max(2u, std::thread::hardware_concurrency()) - 1;
    double seconds = options.run.time.count();
    double deadline = std::chrono::duration<double, std::milli>{options.run.wanted.deadline}.count();
    std::string mode{every_mode};

    CLI::App app{std::string{description}, "tutti-swarm"};
    app.footer(std::string{footer});
    app.get_formatter()->column_width(26);
    const auto number = [&](const char* name, auto& value, auto low, auto high, std::string_view what,
                            const char* help) {
        app.add_option(name, value, help)->check(cli::within(low, high, what))->capture_default_str();
    };
    number("--threads", options.run.threads, 1, 1024, "a whole number",
           "Threads of the physics; the default leaves one core to the renderer");
    number("--objects", options.run.objects, 2, 100'000, "a whole number", "Number of balls");
    number("--seconds", seconds, 0.01, 1e6, "a number of seconds", "Seconds of each run");
    number("--fps", options.run.fps, 1.0, 1000.0, "a number", "Frames per second to render");
    number("--deadline", deadline, 0.001, 1e6, "a number of milliseconds",
           "Deadline of a snapshot, in ms from its start");
    number("--qos", options.run.wanted.qos, 0.01, 1.0, "a share",
           "Share of the snapshots that should meet the deadline");
    number("--seed", options.run.seed, std::uint64_t{0}, ~std::uint64_t{0}, "a whole number",
           "Seed of the initial positions");
    const std::vector<std::string> modes = mode_names();
    app.add_option("--mode", mode, fmt::format("Mode of the snapshot's transaction: {}", fmt::join(modes, ", ")))
        ->check(cli::one_of(modes))
        ->type_name("NAME")
        ->capture_default_str();
    const std::vector<std::string> algorithms = cli::algorithm_names();
    app.add_option(
           "--algorithm", options.algorithm,
           fmt::format("Concurrency control: {}; without it {}", fmt::join(algorithms, ", "), algorithms.front()))
        ->check(cli::one_of(algorithms))
        ->envname("TUTTI_ALGORITHM")
        ->type_name("NAME");
    const std::vector<std::string> policies = cli::policy_names();
    app.add_option("--policy", options.policy,
                   fmt::format("Policy for conflicts: {}; without it {}", fmt::join(policies, ", "), policies.front()))
        ->check(cli::one_of(policies))
        ->envname("TUTTI_POLICY")
        ->type_name("NAME");
    app.add_flag("--sweep", options.sweep, "Run with 1, 2, 4 and so on, up to --threads");
    app.add_option("--png", options.png, "Write every frame to this directory as well")->type_name("DIR");
    app.add_option("--gif", options.gif, "Write an animation to this file as well")->type_name("FILE");
    app.add_option("--json", options.json, "Write the results to this file as well")->type_name("FILE");
    app.set_version_flag("--version", "tutti-swarm " SWARM_VERSION);

    if (const auto help = cli::parse(app, argc, argv, "tutti-swarm --help lists the options")) return *help;
    options.run.time = std::chrono::duration<double>{seconds};
    options.run.wanted.deadline =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double, std::milli>{deadline});
    for (const render_mode& m : render_modes) {
        if (mode == every_mode || mode == m.name) options.modes.push_back(&m);
    }
    options.run.record = !options.png.empty() || !options.gif.empty();
    check_pictures(options);
    return options;
}

}  // namespace swarm
