#include <CLI/CLI.hpp>
#include <cstdio>

#include "mix.hpp"

int main(int argc, char** argv) {
    tutti::bench::mix_settings how;
    CLI::App app{"Mixes short and long requests to a server that speaks RESP, and times them", "tutti-bench-mix"};
    app.add_option("--port", how.port, "port of the server on loopback")->required();
    app.add_option("--short", how.short_request, "short request, as words")->required();
    app.add_option("--long", how.long_request, "long request, as words")->required();
    app.add_option("--rate", how.rate, "requests per second")->check(CLI::PositiveNumber)->capture_default_str();
    app.add_option("--share", how.share, "share of long requests")->check(CLI::Range(0.0, 1.0))->capture_default_str();
    app.add_option("--seconds", how.seconds, "seconds to measure")->check(CLI::PositiveNumber)->capture_default_str();
    app.add_option("--warm-up", how.warm_up, "seconds before the measurement")->check(CLI::NonNegativeNumber);
    app.add_option("--connections", how.connections, "maximum number of connections")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--seed", how.seed, "seed of the arrivals")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        return tutti::bench::run_mix(how);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "tutti-bench-mix: %s\n", e.what());
        return 1;
    }
}
