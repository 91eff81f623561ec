// tutti-stress: the command line, and the final checks. README.md describes the program.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include "server/stress/limits.hpp"
#include "server/stress/server_process.hpp"
#include "server/stress/session.hpp"

namespace tutti::stress {
namespace {

struct arguments {
    std::string tutti, procedures, executor = "preemptive";
    std::size_t requests = 0;
    double minutes = 1;
    std::size_t clients = 8;
    std::uint64_t seed = 0;
};

std::uint64_t seed_of_run = 0;

/// the shortest run, in minutes, in which memory is checked
constexpr double soak = 1;

/// Records the server's memory in the second and in the last quarter of the time.
class memory_watch {
public:
    void add_sample(double share_of_time, std::size_t kilobytes) {
        if (share_of_time >= 0.25 && share_of_time < 0.5) early_.push_back(kilobytes);
        if (share_of_time >= 0.75) late_.push_back(kilobytes);
    }
    /// Checks that memory does not grow. Allocators keep the memory of the worst moment, which may come late.
    void demand_no_growth() {
        if (early_.empty() || late_.empty()) return;
        const std::size_t before = middle(early_), after = middle(late_);
        std::printf("memory: %zu kB in the second quarter, %zu kB in the last\n", before, after);
        if (after > before + before / 8 + 16 * 1024)
            violated("memory has grown from " + std::to_string(before) + " to " + std::to_string(after) + " kB");
    }

private:
    static std::size_t middle(std::vector<std::size_t>& of) {
        std::ranges::nth_element(of, of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2));
        return of[of.size() / 2];
    }
    std::vector<std::size_t> early_, late_;
};

std::size_t number_of(const std::string& info, const std::string& key) {
    const std::size_t at = info.find(key);
    if (at == std::string::npos) violated("INFO lacks " + key);
    return std::stoul(info.substr(at + key.size()));
}

/// Waits until the number of ended calls equals the number of transactions that have signed. Calls of disconnected
/// clients may still run at first.
void compare_counts(server::client& ask) {
    for (int tries = 0;; ++tries) {
        const auto all = static_cast<std::size_t>(std::stoul(ask({"CALL", "all"})));
        const std::size_t ended = number_of(ask({"INFO"}), "procedure_sign:OK=");
        if (all == ended) return;
        if (tries == 3000)
            violated("the server has answered " + std::to_string(ended) + " calls, and " + std::to_string(all) +
                     " were done");
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
}

void run_clients(const arguments& given) {
    std::vector<std::string> options{
        "--executor",         given.executor, "--workers",      "2",    "--io-threads",        "2",
        "--max-queued-calls", "256",          "--max-pipeline", "200",  "--max-output-buffer", "4096",
        "--write-timeout",    "500",          "--idle-timeout", "60000"};
    if (given.executor == "preemptive")
        options.insert(options.end(), {"--max-preemptions", "8", "--lazy-priority-boost"});
    server_process server{given.tutti, given.procedures, std::move(options)};
    account all;
    const auto start = std::chrono::steady_clock::now();
    const std::chrono::duration<double> time{given.minutes * 60};
    const auto continues = [&] {
        if (given.requests != 0) return all.answered < given.requests;
        return std::chrono::steady_clock::now() - start < time;
    };
    memory_watch memory;
    {
        std::vector<std::jthread> clients;
        for (std::size_t i = 0; i < given.clients; ++i) {
            clients.emplace_back([&, i] {
                stress_client one{server.port(), i, given.seed, all};
                while (continues()) one.attack();
            });
        }
        while (continues()) {
            std::this_thread::sleep_for(std::chrono::milliseconds{50});
            if (given.requests == 0 && given.minutes >= soak)
                memory.add_sample((std::chrono::steady_clock::now() - start) / time, server.resident());
        }
    }
    server::client ask{server.port()};
    compare_counts(ask);
    if (const std::string twice = ask({"CALL", "twice"}); twice != "0") violated(twice + " requests were done twice");
    const std::string info = ask({"INFO"});
    std::printf(
        "%llu requests confirmed in %llu sessions, %llu of them broken off; %llu were refused; %zu calls were done, "
        "%zu preemptions\n",
        static_cast<unsigned long long>(all.answered), static_cast<unsigned long long>(all.sessions),
        static_cast<unsigned long long>(all.killed), static_cast<unsigned long long>(all.refused),
        number_of(info, "procedure_sign:OK="), number_of(info, "preemptions:"));
    memory.demand_no_growth();
    if (server.end() != 0) violated("the server did not end well");
}

}  // namespace

void violated(const std::string& what) {
    std::fprintf(stderr, "tutti-stress: violated: %s (seed %llu)\n", what.c_str(),
                 static_cast<unsigned long long>(seed_of_run));
    std::_Exit(1);
}

}  // namespace tutti::stress

int main(int argc, char** argv) {
    using namespace tutti::stress;
    arguments given;
    given.seed = std::random_device{}();
    CLI::App app{"Clients that do anything to `tutti serve`; no request may be lost, done or answered twice."};
    app.add_option("--tutti", given.tutti, "the program `tutti`")->required();
    app.add_option("--procedures", given.procedures, "stress-procedures.so")->required();
    app.add_option("--executor", given.executor, "preemptive or threads")->capture_default_str();
    app.add_option("--requests", given.requests, "ends when so many were confirmed, instead of by time");
    app.add_option("--minutes", given.minutes, "how long")->check(CLI::PositiveNumber)->capture_default_str();
    app.add_option("--clients", given.clients, "at once")->check(CLI::Range(1ul, most_clients))->capture_default_str();
    app.add_option("--seed", given.seed, "repeats what the clients do, though not when");
    CLI11_PARSE(app, argc, argv);
    seed_of_run = given.seed;
    try {
        run_clients(given);
    } catch (const std::exception& failure) {
        violated(failure.what());
    }
    std::puts("nothing was violated");
    return 0;
}
