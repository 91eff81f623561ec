// Runs one simulated cluster, and prints the results.
#include "cluster/command_line.hpp"

int main(int argc, char** argv) {
    using namespace bench::cluster;
    return cli::run_program(
        "tutti-bench-cluster", "use fewer --nodes, --threads or --objects", [&] { return parse(argc, argv); },
        [](const plan& p) {
            const figures f = run(p);
            fmt::print(
                "{{\"per_second\": {:.17g}, \"transactions\": {}, \"operations\": {}, \"aborts\": {:.17g}, "
                "\"partial_rollbacks\": {:.17g}, \"round_trips\": {:.17g}, \"messages\": {:.17g}, \"bytes\": {:.17g}, "
                "\"median\": {:.17g}, \"of_99\": {:.17g}, \"busy\": {:.17g}, \"busiest\": {:.17g}, ",
                f.per_second, f.transactions, f.operations, f.aborts, f.partial_rollbacks, f.round_trips, f.messages,
                f.bytes, f.median, f.of_99, f.busy, f.busiest);
            fmt::print(
                "\"anew\": {:.17g}, \"refused\": {:.17g}, \"undone\": {:.17g}, \"steps\": {:.17g}, \"commits\": "
                "{:.17g}, \"lost\": {:.17g}, \"pauses\": {:.17g}, \"locks\": {:.17g}, \"undoing\": {:.17g}, ",
                f.anew, f.refused, f.undone, f.spent.steps, f.spent.commits, f.spent.lost, f.spent.pauses,
                f.spent.locks, f.spent.undoing);
            fmt::print(
                "\"at_commit\": {:.17g}, \"running\": {:.17g}, \"inside\": {:.17g}, \"directory\": {:.17g}, \"clock\": "
                "{}, \"clock_apart\": {:.17g}, \"directory_entries\": {:.17g}, "
                "\"old_versions\": {:.17g}}}\n",
                f.at_commit, f.running, f.inside, f.directory, f.clock, f.clock_apart, f.directory_entries,
                f.old_versions);
            return cli::success;
        });
}
