#include "preempt/command_line.hpp"

#include "cli/options.hpp"

namespace tutti_bench {

std::variant<preempt_options, cli::help_text> parse_command_line(int argc, const char* const* argv) {
    int milliseconds = static_cast<int>(preempt_options{}.time.count());
    CLI::App app{"Measures how soon urgent work starts and ends while every worker is busy with transactions of 5 ms.",
                 "tutti-bench-preempt"};
    app.add_option("milliseconds", milliseconds, "Milliseconds of each measurement; there are two for each tick source")
        ->check(cli::within(50, 600'000, "milliseconds"))
        ->capture_default_str();
    if (const auto help = cli::parse(app, argc, argv, "tutti-bench-preempt --help says more")) return *help;
    return preempt_options{.time = std::chrono::milliseconds{milliseconds}};
}

}  // namespace tutti_bench
