#include "torture/stress_threads.hpp"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "core/conflict/kill.hpp"
#include "support/heap.hpp"
#include "support/watchdog.hpp"
#include "torture/activity_record.hpp"

namespace tutti::torture {
namespace {

std::uint64_t seed_of_this_run = 0;

struct counters {
    std::atomic<std::uint64_t> steps{0}, staged{0}, cancels{0}, refusals{0}, lives{0}, exits{0}, kills{0};
};

/// The state that the threads share.
struct shared_state {
    explicit shared_state(const plan& p) : parameters{p} {}

    const plan& parameters;
    std::vector<std::unique_ptr<scenario>> scenarios = all_scenarios();
    counters count;
    std::atomic<bool> over{false};
};

/// Runs one step of one scenario, and catches its intended exceptions. One in four steps fails an allocation at some
/// point.
void one_step(shared_state& s, activity_record& mine, support::random& dice) {
    scenario& chosen = *s.scenarios[dice.below(s.scenarios.size())];
    mine.record(chosen.name());
    support::refuse_after = dice.one_in(4) ? 1 + dice.below(30) : 0;
    try {
        chosen.step(dice);
    } catch (const staged_failure&) {
        ++s.count.staged;
    } catch (const cancelled&) {
        ++s.count.cancels;
    } catch (const std::bad_alloc&) {
        ++s.count.refusals;
    }
    support::refuse_after = 0;
    ++s.count.steps;
}

/// Runs one life of a worker: some steps, and an end that may be within a transaction.
void run_one_life(shared_state& s, activity_record& mine, support::random& dice) {
    ++s.count.lives;
    const std::size_t steps = 1 + dice.below(3000);
    for (std::size_t i = 0; i < steps && !s.over.load(std::memory_order_relaxed); ++i) one_step(s, mine, dice);
    if (dice.one_in(8)) {
        ++s.count.exits;
        static var<long> never_written{0};
        atomically({.name = "thread exit"}, [](tx& t) {
            never_written.set(t, never_written.get(t) + 1);
            pthread_exit(nullptr);
        });
    }
}

/// Runs one life after another, each on a new thread.
void run_worker_lives(shared_state& s, unsigned index) {
    activity_record mine{"worker", index};
    support::random dice{s.parameters.seed * 1000 + index};
    while (!s.over.load()) {
        struct worker_life {
            shared_state& s;
            activity_record& mine;
            support::random& dice;
        } one{s, mine, dice};
        pthread_t id = {};
        const auto start = [](void* p) -> void* {
            auto& i = *static_cast<worker_life*>(p);
            run_one_life(i.s, i.mine, i.dice);
            return nullptr;
        };
        if (pthread_create(&id, nullptr, start, &one) != 0) violated("threads", "no thread could be started");
        pthread_join(id, nullptr);
    }
}

void run_dedicated_thread(shared_state& s, scenario& where, unsigned index) {
    activity_record mine{where.name(), index};
    support::random dice{s.parameters.seed * 1000 + 500 + index};
    while (!s.over.load()) {
        mine.record(where.name());
        where.run_dedicated(index, dice);
        ++s.count.steps;
    }
}

/// Kills transactions at random, at any point.
void kill_transactions(shared_state& s) {
    support::random dice{s.parameters.seed * 1000 + 999};
    while (!s.over.load()) {
        const std::uint32_t known = memory::status_record_count();
        for (int i = 0; i < 8 && known != 0; ++i) {
            memory::status_record& victim = memory::status_record_of(static_cast<std::uint32_t>(dice.below(known)));
            const auto seen = victim.state.load(std::memory_order_acquire);
            if (memory::is_running(seen) && core::kill(core::descriptor::of(victim), seen)) ++s.count.kills;
        }
        std::this_thread::sleep_for(std::chrono::microseconds{dice.below(2000)});
    }
}

void print_progress(const shared_state& s, std::chrono::duration<double> elapsed) {
    const counters& c = s.count;
    std::printf(
        "%7.1f s  %llu steps, %llu failures staged, %llu cancels, %llu times no memory, %llu lives, "
        "%llu ended in a transaction, %llu kills\n",
        elapsed.count(), static_cast<unsigned long long>(c.steps), static_cast<unsigned long long>(c.staged),
        static_cast<unsigned long long>(c.cancels), static_cast<unsigned long long>(c.refusals),
        static_cast<unsigned long long>(c.lives), static_cast<unsigned long long>(c.exits),
        static_cast<unsigned long long>(c.kills));
    std::fflush(stdout);
}

/// Prints progress, checks that all threads are alive, and returns when the time is up.
void supervise(const shared_state& s) {
    using clock = std::chrono::steady_clock;
    const auto start = clock::now();
    auto next_line = start + std::chrono::seconds{5};
    while (clock::now() - start < s.parameters.duration) {
        std::this_thread::sleep_for(std::chrono::milliseconds{100});
        if (clock::now() < next_line) continue;
        next_line += std::chrono::seconds{5};
        print_progress(s, clock::now() - start);
        if (const std::string stuck = activity_record::find_standstill(); !stuck.empty()) {
            std::fprintf(stderr, "%s", stuck.c_str());
            support::watchdog::dump_threads();
            violated("threads", "a thread makes no progress");
        }
    }
    print_progress(s, clock::now() - start);
}

/// Checks the invariants of the statistics.
void audit_statistics() {
    for (const auto& site : statistics()) {
        std::uint64_t by_cause = 0, by_restarts = 0;
        for (const auto n : site.aborts_by_cause) by_cause += n;
        for (const auto n : site.commits_by_restarts) by_restarts += n;
        if (by_cause != site.aborts || by_restarts != site.commits) {
            violated("statistics", "the counts of '" + site.name + "' do not add up");
        }
    }
}

}  // namespace

void violated(const char* scenario, const std::string& what) {
    static std::mutex first_only;
    first_only.lock();  // never released: one report is enough
    std::fflush(stdout);
    std::fprintf(stderr, "tutti-torture: VIOLATED: %s: %s\n    algorithm %s, seed %llu\n", scenario, what.c_str(),
                 std::string{algorithm()}.c_str(), static_cast<unsigned long long>(seed_of_this_run));
    std::fflush(stderr);
    std::_Exit(1);
}

void torture(const plan& p) {
    seed_of_this_run = p.seed;
    shared_state s{p};
    enable_statistics(true);
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < p.threads; ++i) threads.emplace_back([&s, i] { run_worker_lives(s, i); });
    unsigned index = 0;
    for (auto& chosen : s.scenarios) {
        for (unsigned i = 0; i < chosen->dedicated_threads(); ++i) {
            threads.emplace_back([&s, &chosen, n = index++] { run_dedicated_thread(s, *chosen, n); });
        }
    }
    threads.emplace_back([&s] { kill_transactions(s); });
    supervise(s);
    s.over = true;
    stopping.store(true);
    {
        const support::watchdog ending{"the end of the stress test", std::chrono::seconds{20}};
        threads.clear();
    }
    for (auto& chosen : s.scenarios) {
        if (const std::string reason = chosen->audit(); !reason.empty()) violated(chosen->name(), reason);
    }
    audit_statistics();
}

}  // namespace tutti::torture
