// Compares blocks over an engine with the same transactions in its own client library: read two objects, write both.
//
//   tutti-bench-engines <etcd, postgres, tutti or tutti3> <threads> [rounds] [seconds]
//   tutti-bench-engines fail-over [leaders]
//
// Groups have no hand-written client. Blocks over a group are therefore compared with a hand-written client of etcd
// with as many members. Both sides alternate round by round on one server. The program prints the median of the pairs'
// ratios.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/engines/fail_over.hpp"
#include "cluster/engines/hand_written.hpp"
#include "cluster/engines/servers.hpp"
#include "support/random.hpp"

namespace {

using namespace tutti;
using namespace tutti::cluster::testing;
using clock_of = std::chrono::steady_clock;

constexpr std::uint64_t objects = 2000;

struct amount {
    std::int64_t value = 0;
};

using step = std::function<void(std::uint64_t, std::uint64_t)>;

/// Processor seconds of this process, and of the processes that it has started.
struct work {
    double ours = 0, theirs = 0;
};

work work_so_far() {
    struct process_times {
        int parent = 0;
        double seconds = 0;
    };
    std::map<int, process_times> all;
    for (const auto& e : std::filesystem::directory_iterator{"/proc"}) {
        std::ifstream file{e.path() / "stat"};
        std::string line;
        int id = 0;
        if (!std::getline(file, line) || std::sscanf(line.c_str(), "%d", &id) != 1) continue;
        process_times t;
        unsigned long user = 0, system = 0;
        // The fields follow the name, which may contain any characters.
        if (std::sscanf(line.c_str() + line.rfind(')') + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                        &t.parent, &user, &system) != 3)
            continue;
        t.seconds = static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
        all.emplace(id, t);
    }
    work sum;
    const int self = ::getpid();
    for (const auto& [id, t] : all) {
        if (id == self) sum.ours = t.seconds;
        for (int up = t.parent; all.contains(up); up = all.at(up).parent) {
            if (up == self) sum.theirs += t.seconds;
        }
    }
    return sum;
}

struct pace {
    double a_second = 0;
    double ours_us = 0, theirs_us = 0;  // processor time for each transaction
};

/// Measures transactions of `threads` threads, each of which makes its own step.
pace measure(unsigned threads, double seconds, const std::function<step()>& make) {
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> done{0};
    std::vector<std::thread> crew;
    const work before = work_so_far();
    const auto begin = clock_of::now();
    for (unsigned i = 0; i < threads; ++i) {
        crew.emplace_back([&, i] {
            support::random dice{i + 1};
            const step one = make();
            while (!stop.load()) {
                const std::uint64_t a = dice.below(objects);
                one(a, (a + 1 + dice.below(objects - 1)) % objects);
                done.fetch_add(1);
            }
        });
    }
    std::this_thread::sleep_for(std::chrono::duration<double>{seconds});
    stop = true;
    for (std::thread& t : crew) t.join();
    const double took = std::chrono::duration<double>{clock_of::now() - begin}.count();
    const work after = work_so_far();
    const auto count = static_cast<double>(done.load());
    return {count / took, 1e6 * (after.ours - before.ours) / count, 1e6 * (after.theirs - before.theirs) / count};
}

double median(std::vector<double> of) {
    std::ranges::sort(of);
    return of[of.size() / 2];
}

double median(const std::vector<pace>& of, double pace::* which) {
    std::vector<double> all;
    for (const pace& p : of) all.push_back(p.*which);
    return median(all);
}

void print_work(const char* who, const std::vector<pace>& of) {
    std::printf("  %-8s %6.0f us of the program's processors for each transaction, %6.0f us of the engine's\n", who,
                median(of, &pace::ours_us), median(of, &pace::theirs_us));
}

}  // namespace

int main(int argc, char** argv) {
    const std::string engine = argc > 1 ? argv[1] : "";
    const unsigned threads = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1;
    const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
    const double seconds = argc > 4 ? std::atof(argv[4]) : 1;
    const bool group = engine == "tutti" || engine == "tutti3";
    if (engine == "fail-over") {
        measure_fail_over(argc > 2 ? std::max(1, std::atoi(argv[2])) : 20);
        return 0;
    }
    if ((engine != "etcd" && engine != "postgres" && !group) || threads < 1 || rounds < 1) {
        std::fprintf(stderr,
                     "usage: tutti-bench-engines <etcd, postgres, tutti or tutti3> <threads> [rounds] [seconds]\n"
                     "       tutti-bench-engines fail-over [leaders]\n");
        return 2;
    }
    try {
        const auto server = make_server(engine);
        const std::string address = server->address();
        const auto beside = group ? make_server(engine == "tutti" ? "etcd" : "etcd3") : nullptr;
        const std::string hand = group ? "etcd" : engine, hand_address = group ? beside->address() : address;
        const auto shared = open_shared(hand, hand_address);
        fill_by_hand(hand, hand_address, objects);
        cluster::engine_options how;
        how.address = address;
        cluster::node batched{how};
        how.batch = false;
        cluster::node single{how};
        const auto at = [](cluster::node& n, std::uint64_t i) { return cluster::ref<amount>{n, {1, i}}; };
        for (std::uint64_t i = 0; i < objects; i += 50) {
            atomically([&](tx& t) {
                for (std::uint64_t k = i; k < std::min(i + 50, objects); ++k) at(single, k).publish(t, {0});
            });
        }
        const auto blocks = [&](cluster::node& n) {
            return measure(threads, seconds, [&] {
                return step{[&](std::uint64_t a, std::uint64_t b) {
                    atomically([&](tx& t) {
                        prefetch(t, at(n, a), at(n, b));
                        at(n, a).write(t).value += 1;
                        at(n, b).write(t).value += 1;
                    });
                }};
            });
        };
        std::vector<pace> by_hand, ours, together;
        std::vector<double> ratio, ratio_together;
        for (int i = 0; i < rounds; ++i) {
            by_hand.push_back(measure(threads, seconds, [&] {
                std::shared_ptr<hand_written> mine = make_hand_written(hand, hand_address, shared);
                return step{[mine](std::uint64_t a, std::uint64_t b) {
                    while (!mine->add_one(a, b)) {}
                }};
            }));
            ours.push_back(blocks(single));
            together.push_back(blocks(batched));
            ratio.push_back(ours.back().a_second / by_hand.back().a_second);
            ratio_together.push_back(together.back().a_second / by_hand.back().a_second);
        }
        std::printf(
            "%s, %u threads, %d rounds of %.1f s: by hand %.0f/s, blocks %.0f/s (%.2f), batched %.0f/s (%.2f)\n",
            engine.c_str(), threads, rounds, seconds, median(by_hand, &pace::a_second), median(ours, &pace::a_second),
            median(ratio), median(together, &pace::a_second), median(ratio_together));
        print_work("by hand", by_hand);
        print_work("blocks", ours);
        print_work("batched", together);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "tutti-bench-engines: %s\n", e.what());
        return 1;
    }
}
