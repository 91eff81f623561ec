// tutti-torture: the command line.
#include <spawn.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <random>

#include "torture/stress_threads.hpp"

namespace {

struct arguments {
    double minutes = 1;
    unsigned threads = 16;
    std::string algorithm = "wb-etl";
    std::uint64_t seed = 0;
};

/// A process has one algorithm, so `all` starts one process for each. Returns the worst status.
int run_each_algorithm(const arguments& given) {
    const auto known = tutti::available_algorithms();
    int worst = 0;
    for (const auto& a : known) {
        std::vector<std::string> words{"tutti-torture",
                                       "--minutes=" + std::to_string(given.minutes / static_cast<double>(known.size())),
                                       "--threads=" + std::to_string(given.threads),
                                       "--algorithm=" + std::string{a.name}, "--seed=" + std::to_string(given.seed)};
        std::vector<char*> argv;
        for (auto& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        pid_t child = 0;
        int status = 1;
        if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, argv.data(), environ) != 0 ||
            waitpid(child, &status, 0) != child || status != 0) {
            std::fprintf(stderr, "tutti-torture: %s failed\n", words[3].c_str());
            worst = 1;
        }
    }
    return worst;
}

}  // namespace

int main(int argc, char** argv) {
    arguments given;
    given.seed = std::random_device{}();
    CLI::App app{"Runs random transactions of all kinds on many threads and checks invariants all the time."};
    app.add_option("--minutes", given.minutes, "duration of the run, of all algorithms together")
        ->check(CLI::PositiveNumber);
    app.add_option("--threads", given.threads, "number of worker threads; more than there are processors")
        ->check(CLI::Range(1, 10000));
    app.add_option("--algorithm", given.algorithm, "name of an algorithm; all: each in turn");
    app.add_option("--seed", given.seed, "seed of the random steps; interleavings still differ");
    CLI11_PARSE(app, argc, argv);

    if (given.algorithm == "all") return run_each_algorithm(given);
    try {
        tutti::use_algorithm(given.algorithm);
        std::printf("tutti-torture: %s, %u threads, %.2f minutes, seed %llu\n", given.algorithm.c_str(), given.threads,
                    given.minutes, static_cast<unsigned long long>(given.seed));
        tutti::torture::torture({std::chrono::duration<double>{given.minutes * 60}, given.threads, given.seed});
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "tutti-torture: %s\n", failure.what());
        return 1;
    }
    std::puts("no invariant was violated");
    return 0;
}
