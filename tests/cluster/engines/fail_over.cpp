#include "cluster/engines/fail_over.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include <tutti/cluster/member.hpp>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/engines/servers.hpp"

namespace tutti::cluster::testing {
namespace {

using namespace std::chrono_literals;
using clock_of = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

/// Threads that commit all the time, each to an object of its own. Measures the longest time without a commit.
class load {
public:
    explicit load(const std::string& address) {
        engine_options how;
        how.address = address;
        how.request_timeout = 20s;
        for (std::uint64_t i = 0; i < 4; ++i) {
            threads_.emplace_back([this, how, i] {
                const node mine{how};
                const ref<std::uint64_t> count{mine, {1, i}};
                atomically([&](tx& t) { count.publish(t, 0); });
                while (!over_.load()) {
                    atomically([&](tx& t) { ++count.write(t); });
                    note();
                }
            });
        }
    }
    ~load() {
        over_ = true;
        for (std::thread& t : threads_) t.join();
    }
    void let_commit(std::uint64_t count) const {
        for (const std::uint64_t enough = commits_.load() + count; commits_.load() < enough;)
            std::this_thread::sleep_for(1ms);
    }
    void forget_pauses() {
        const std::lock_guard hold{guard_};
        longest_ = {};
    }
    /// Returns the longest time between two consecutive answers to any thread, and the time at which that pause ended.
    std::pair<seconds, clock_of::time_point> longest_pause() {
        const std::lock_guard hold{guard_};
        return {longest_, longest_ended_};
    }

private:
    void note() {
        const std::lock_guard hold{guard_};
        const auto now = clock_of::now();
        if (last_ != clock_of::time_point{} && now - last_ > longest_) {
            longest_ = now - last_;
            longest_ended_ = now;
        }
        last_ = now;
        commits_.fetch_add(1);
    }
    std::mutex guard_;
    clock_of::time_point last_{}, longest_ended_{};
    clock_of::duration longest_{};
    std::atomic<std::uint64_t> commits_{0};
    std::atomic<bool> over_{false};
    std::vector<std::thread> threads_;
};

/// Waits until another member leads.
void await_other(const group_server& g, std::size_t than) {
    while (true) {
        for (const member_status& m : query_group(g.places(), 200ms).members) {
            if (m.state == "leader" && m.address != g.places()[than]) return;
        }
    }
}

void print(const char* what, std::vector<double> all) {
    std::ranges::sort(all);
    std::printf("%-34s median %.3f s, most %.3f s\n", what, all[all.size() / 2], all.back());
}

}  // namespace

void measure_fail_over(int leaders) {
    group_server g{3};
    g.start();
    load all{g.address()};
    std::vector<double> pauses, elections, rest;
    for (int i = 0; i < leaders; ++i) {
        all.let_commit(200);
        const std::size_t leads = g.leader();
        all.forget_pauses();
        const auto killed = clock_of::now();
        g.at(leads).end();
        await_other(g, leads);
        const auto led = clock_of::now();
        all.let_commit(200);
        const auto [pause, ended] = all.longest_pause();
        pauses.push_back(pause.count());
        elections.push_back(seconds{led - killed}.count());
        rest.push_back(seconds{ended - led}.count());
        g.start();
    }
    std::printf("%d leaders killed, one after the other, of a group of three\n", leaders);
    print("nobody commits for", pauses);
    print("until another leads", elections);
    print("from then until somebody commits", rest);
}

}  // namespace tutti::cluster::testing
