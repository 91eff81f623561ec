// tutti-crash: kills a server that logs its calls again and again, at any point of a commit, a start or a snapshot.
// After each start, compares the server's data with the answers that clients got.
//
//   always     every answered call is there
//   everysec   lost answers were given within one second before the kill
//   all modes  the data is a prefix of the commits: for each client, its calls up to one, each complete
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "server/client.hpp"
#include "support/child_process.hpp"

namespace tutti::crash {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using process = support::child_process;

struct arguments {
    std::string tutti, procedures, sync = "always", executor = "preemptive";
    std::size_t rounds = 0;
    double minutes = 1;
    std::uint64_t seed = 0;
};

constexpr std::size_t clients = 6;

struct answer {
    steady_clock::time_point asked, told;  ///< the answer was given between the two times
    std::uint64_t number;
};

/// The answers that one client got since the latest start.
struct told {
    std::uint64_t first = 0;  ///< the number that the server had at the start
    std::uint64_t sent = 0;   ///< the last call that was sent
    std::deque<answer> answers{};
};

class violated : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

bool listens(const std::string& path) {
    const int s = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    path.copy(where.sun_path, sizeof where.sun_path - 1);
    const bool there = ::connect(s, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0;
    ::close(s);
    return there;
}

class torture {
public:
    torture(const arguments& given, std::string folder)
        : given_{given}, folder_{std::move(folder)}, socket_{folder_ + "/socket"}, random_{given.seed} {}

    void run() {
        const auto start = steady_clock::now();
        const std::chrono::duration<double> time{given_.minutes * 60};
        for (std::size_t round = 0; given_.rounds != 0 ? round < given_.rounds : steady_clock::now() - start < time;
             ++round) {
            one_round();
        }
        one_start();  // the last start is checked as well
        std::printf("%zu kills, %zu of them in a start, %zu good ends; %llu calls were answered, %llu of them lost\n",
                    kills_, early_kills_, ends_, static_cast<unsigned long long>(answered_),
                    static_cast<unsigned long long>(lost_));
    }

private:
    std::vector<std::string> command() {
        // Small limits, so that many kinds of files exist.
        const std::string snapshot_after = random_() % 2 == 0 ? "20000" : "0";
        return {given_.tutti,   "serve",        given_.procedures,
                "--quiet",      "--no-tcp",     "--unix",
                socket_,        "--log",        folder_ + "/log",
                "--fsync",      given_.sync,    "--snapshot-after",
                snapshot_after, "--workers",    "2",
                "--executor",   given_.executor};
    }

    void await(process& server) {
        const auto until = steady_clock::now() + std::chrono::seconds{60};
        while (!listens(socket_)) {
            if (server.has_ended()) throw violated{"the server does not start any more"};
            if (steady_clock::now() > until) throw violated{"the server does not come to serve"};
            std::this_thread::sleep_for(milliseconds{1});
        }
    }

    /// Compares the server's data with the answers.
    void compare() {
        server::client ask{socket_};
        std::uint64_t sum = 0;
        const bool may_lose = !ended_well_ && given_.sync != "always";
        steady_clock::time_point first_lost = steady_clock::time_point::max(), last_lost{};
        for (std::size_t i = 0; i < clients; ++i) {
            const std::uint64_t has = std::stoull(ask({"CALL", "get", std::to_string(i)}));
            told& t = told_[i];
            std::uint64_t must = t.first;
            for (const answer& a : t.answers) {
                ++answered_;
                if (!may_lose) must = a.number;
                if (a.number <= has) continue;
                ++lost_;
                first_lost = std::min(first_lost, a.told);
                last_lost = std::max(last_lost, a.asked);
            }
            if (has < must)
                throw violated{"client " + std::to_string(i) + " was told that its call " + std::to_string(must) +
                               " was done, and the server has only " + std::to_string(has)};
            if (has > std::max(t.sent, t.first))
                throw violated{"client " + std::to_string(i) + " has sent " + std::to_string(t.sent) +
                               " calls, and the server has " + std::to_string(has)};
            t = {.first = has, .sent = has};
            sum += has;
        }
        if (given_.sync == "everysec" && last_lost > first_lost && last_lost - first_lost > std::chrono::seconds{1})
            throw violated{"answers of more than a second are lost"};
        const std::string sides = ask({"CALL", "sides"});
        if (sides != "(" + std::to_string(sum) + " " + std::to_string(sum) + ")")
            throw violated{"half a call: the cells add up to " + std::to_string(sum) + ", and the sums are " + sides};
    }

    void one_start() {
        process server{command()};
        await(server);
        compare();
        server.end(SIGKILL);
    }

    void call_until_it_ends(server::client& c, std::size_t who, told& t) {
        for (std::uint64_t number = t.first + 1;; ++number) {
            t.sent = number;
            const auto asked = steady_clock::now();
            const std::string said = c({"CALL", "next", std::to_string(who), std::to_string(number)});
            if (said != std::to_string(number)) {
                if (said != "closed" && said.find("-SHUTDOWN") != 0) odd_ = said;
                if (said != "closed") t.sent = number - 1;
                return;
            }
            t.answers.push_back({asked, steady_clock::now(), number});
        }
    }

    void one_round() {
        if (random_() % 5 == 0) {  // in the middle of a start
            process short_lived{command()};
            std::this_thread::sleep_for(std::chrono::microseconds{random_() % 15'000});
            short_lived.end(SIGKILL);
            ++early_kills_;
        }
        process server{command()};
        await(server);
        compare();
        std::vector<std::thread> callers;
        for (std::size_t i = 0; i < clients; ++i) {
            // Connects here, because the server may be killed before the thread has begun.
            callers.emplace_back(
                [this, i, c = std::make_unique<server::client>(socket_)] { call_until_it_ends(*c, i, told_[i]); });
        }
        const std::uint64_t longest = given_.sync == "always" ? 40'000 : random_() % 4 == 0 ? 1'500'000 : 100'000;
        std::this_thread::sleep_for(std::chrono::microseconds{random_() % longest});
        ended_well_ = random_() % 8 == 0;
        const int status = server.end(ended_well_ ? SIGTERM : SIGKILL);
        for (auto& c : callers) c.join();
        if (ended_well_ && status != 0) throw violated{"the server did not end well"};
        if (!odd_.empty()) throw violated{"a call was answered " + odd_};
        ended_well_ ? ++ends_ : ++kills_;
    }

    const arguments& given_;
    const std::string folder_, socket_;
    std::mt19937_64 random_;
    std::array<told, clients> told_{};
    std::string odd_;
    bool ended_well_ = false;
    std::size_t kills_ = 0, early_kills_ = 0, ends_ = 0;
    std::uint64_t answered_ = 0, lost_ = 0;
};

}  // namespace
}  // namespace tutti::crash

int main(int argc, char** argv) {
    using namespace tutti::crash;
    std::signal(SIGPIPE, SIG_IGN);  // a client that writes to a killed server gets an error instead
    arguments given;
    given.seed = std::random_device{}();
    CLI::App app{"Kills `tutti serve --log`; nothing that was answered may be lost, and no half call be there."};
    app.add_option("--tutti", given.tutti, "the program `tutti`")->required();
    app.add_option("--procedures", given.procedures, "crash-procedures.so")->required();
    app.add_option("--fsync", given.sync, "always, everysec or no")->capture_default_str();
    app.add_option("--executor", given.executor, "preemptive or threads")->capture_default_str();
    app.add_option("--rounds", given.rounds, "ends after so many, instead of by time");
    app.add_option("--minutes", given.minutes, "how long")->check(CLI::PositiveNumber)->capture_default_str();
    app.add_option("--seed", given.seed, "repeats what is chosen, though not when it comes");
    CLI11_PARSE(app, argc, argv);
    std::string folder = std::filesystem::temp_directory_path() / "tutti-crash-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) return 2;
    try {
        torture{given, folder}.run();
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "tutti-crash: violated: %s (seed %llu; the files are in %s)\n", failure.what(),
                     static_cast<unsigned long long>(given.seed), folder.c_str());
        return 1;
    }
    std::filesystem::remove_all(folder);
    std::puts("nothing was violated");
    return 0;
}
