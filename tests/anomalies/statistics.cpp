// Counts that do not add up to the executed work.
//
// Catches counters that are lost when their thread ends, attempts counted under no cause or under two, and partial
// roll-backs counted as aborts or not at all. Catches counting that continues although it is off.
#include <numeric>
#include <sstream>

#include "anomalies/flavour.hpp"

namespace tutti::anomalies {
namespace {

class statistics_test : public suite {
protected:
    statistics_test() {
        enable_statistics(true);
        reset_statistics();
    }
    ~statistics_test() override { enable_statistics(false); }

    /// Returns the row of a named block, or zeros if the block does not exist.
    static site_statistics row(std::string_view name) {
        for (auto& s : tutti::statistics()) {
            if (s.name == name) return s;
        }
        return {};
    }
    static std::uint64_t count(const site_statistics& s, abort_cause why) {
        return s.aborts_by_cause[static_cast<std::size_t>(why)];
    }
    static void expect_sound(const site_statistics& s) {
        const auto sum = [](const auto& a) { return std::accumulate(a.begin(), a.end(), std::uint64_t{0}); };
        EXPECT_EQ(s.aborts, sum(s.aborts_by_cause)) << s.name;
        EXPECT_EQ(s.commits, sum(s.commits_by_restarts)) << s.name;
        EXPECT_EQ(count(s, abort_cause::none), 0u) << s.name;
        EXPECT_LE(sum(s.durations), s.commits) << s.name;
    }
};

TEST_F(statistics_test, add_up_under_contention) {
    const std::size_t each = rounds(750);
    var<long> counter{0};
    std::atomic<std::uint64_t> attempts{0}, restarts{0};
    run_threads(4, [&](unsigned) {
        for (std::size_t i = 0; i < each; ++i) {
            atomically({.name = "contended"}, [&](tx& t) {
                attempts.fetch_add(1, std::memory_order_relaxed);
                if (t.attempt() > 1) restarts.fetch_add(1, std::memory_order_relaxed);
                counter.set(t, counter.get(t) + 1);
            });
        }
    });
    const auto s = row("contended");
    expect_sound(s);
    EXPECT_EQ(s.commits, 4 * each);
    EXPECT_EQ(s.commits + s.aborts, attempts);
    EXPECT_EQ(s.aborts, restarts);
    EXPECT_NE(s.file.find("statistics.cpp"), std::string::npos);
    EXPECT_GT(s.line, 0u);
}

TEST_F(statistics_test, name_every_cause) {
    struct refusal {};
    struct veto final : participant {
        vote prepare() override { return vote::cancel; }
        void commit() noexcept override {}
        void abort() noexcept override {}
    } no;
    var<int> v{0};
    const auto leave = [&](auto body) {
        try {
            atomically({.name = "causes"}, body);
        } catch (...) {}
    };
    leave([](tx& t) { cancel(t); });
    leave([](tx&) { throw refusal{}; });
    leave([](tx&) { throw refusal{}; });
    leave([&](tx& t) { t.join(no); });
    leave([](tx& t) { retry(t); });  // nothing read: a usage error
    leave([](tx& t) {
        if (t.attempt() < 4) restart(t);
    });
    leave([&](tx& t) {
        if (v.get(t) == 0) retry_for(t, std::chrono::milliseconds{1});
    });
    const auto s = row("causes");
    expect_sound(s);
    EXPECT_EQ(s.commits, 2u);
    EXPECT_EQ(count(s, abort_cause::explicit_cancel), 1u);
    EXPECT_EQ(count(s, abort_cause::exception), 2u);
    EXPECT_EQ(count(s, abort_cause::participant_veto), 1u);
    EXPECT_EQ(count(s, abort_cause::usage), 1u);
    EXPECT_EQ(count(s, abort_cause::explicit_restart), 3u);
    EXPECT_EQ(count(s, abort_cause::explicit_retry), 1u);
    EXPECT_EQ(s.commits_by_restarts[2], 1u) << "three restarts";
    EXPECT_EQ(s.commits_by_restarts[1], 1u) << "one retry";
}

TEST_F(statistics_test, state_the_reason_of_irrevocability) {
    var<int> v{0};
    for (int i = 0; i < 3; ++i) {
        atomically({.name = "late"}, [&](tx& t) {
            v.set(t, v.get(t) + 1);
            t.become_irrevocable("writes a file");
        });
    }
    atomically({.name = "never"}, [&](tx& t) { v.set(t, 0); });
    EXPECT_EQ(row("late").irrevocable, 3u);
    EXPECT_EQ(row("late").irrevocable_reason, "writes a file");
    EXPECT_EQ(row("late").commits, 3u);
    // A block that is irrevocable because of its deadline does not switch again when its body asks.
    atomically(
        {.name = "both", .deadline = std::chrono::nanoseconds{1}, .when_missed = missed_deadline::run_irrevocable},
        [&](tx& t) {
            v.set(t, v.get(t) + 1);
            t.become_irrevocable("writes a file");
        });
    EXPECT_EQ(row("both").irrevocable, 1u);
    EXPECT_EQ(row("both").irrevocable_reason, "writes a file");
    EXPECT_EQ(row("never").irrevocable, 0u);
    EXPECT_EQ(row("never").irrevocable_reason, "");
}

// Excludes norec, which compares values and so does not know the writer. Also excludes algorithms that run one
// transaction at a time, which have no conflicts.
TEST_F(statistics_test, name_the_conflicting_site) {
    var<int> seen{0}, own{0};
    int runs = 0;
    atomically({.name = "overtaken"}, [&](tx& t) {
        (void)seen.get(t);
        if (concurrent() && ++runs <= 3) {
            std::jthread{[&] {
                atomically({.name = "overtaker"}, [&](tx& other) { seen.set(other, seen.get(other) + 1); });
            }}.join();
        }
        own.set(t, seen.get(t));
    });
    if (!concurrent() || commits_one_by_one()) return;
    const auto s = row("overtaken");
    expect_sound(s);
    ASSERT_EQ(s.conflicting_sites.size(), 1u);
    EXPECT_EQ(s.conflicting_sites[0].site, row("overtaker").id);
    EXPECT_EQ(s.conflicting_sites[0].cause, abort_cause::validation);
    EXPECT_EQ(s.conflicting_sites[0].aborts, 3u);
    EXPECT_TRUE(row("overtaker").conflicting_sites.empty());
    std::ostringstream table;
    print_statistics(table);
    EXPECT_NE(table.str().find("against"), std::string::npos);
    reset_statistics();
    EXPECT_TRUE(row("overtaken").conflicting_sites.empty());
}

// Three times to the checkpoint, then once more to it, and once to the beginning.
TEST_F(statistics_test, count_partial_roll_backs) {
    var<int> early{0}, late{0}, latest{0};
    const auto overtake = [&](var<int>& seen) {
        std::jthread{[&] {
            atomically({.name = "overtakes"}, [&](tx& t) {
                seen.set(t, seen.get(t) + 1);
                latest.set(t, latest.get(t) + 1);
            });
        }}.join();
    };
    int runs = 0;
    const auto once = [&](int conflicts, bool at_last_before) {
        runs = 0;
        atomically({.name = "rolled_back_in_part"}, [&](tx& t) {
            (void)early.get(t);
            checkpoint(t, [&](tx& c) {
                (void)late.get(c);
                if (concurrent() && ++runs <= conflicts) overtake(at_last_before && runs == conflicts ? early : late);
                (void)latest.get(c);
            });
        });
    };
    once(3, false);
    once(2, true);
    const auto s = row("rolled_back_in_part");
    expect_sound(s);
    EXPECT_EQ(s.commits, 2u);
    EXPECT_EQ(s.partial_rollbacks, concurrent() ? 4u : 0u);
    EXPECT_EQ(s.aborts, concurrent() ? 1u : 0u);
    EXPECT_EQ(row("overtakes").partial_rollbacks, 0u);
    enable_statistics(false);
    once(3, false);
    EXPECT_EQ(row("rolled_back_in_part").partial_rollbacks, concurrent() ? 4u : 0u);
    std::ostringstream table;
    print_statistics(table);
    EXPECT_NE(table.str().find("rolled_back_in_part"), std::string::npos);
    reset_statistics();
    EXPECT_EQ(row("rolled_back_in_part").partial_rollbacks, 0u);
}

TEST_F(statistics_test, sample_durations) {
    const std::size_t often = std::size_t{10} * statistics_sampling;
    var<int> v{0};
    for (std::size_t i = 0; i < often; ++i) atomically({.name = "timed"}, [&](tx& t) { v.set(t, v.get(t) + 1); });
    const auto s = row("timed");
    const auto samples = std::accumulate(s.durations.begin(), s.durations.end(), std::uint64_t{0});
    EXPECT_GE(samples, 1u);
    EXPECT_LE(samples, s.commits);
}

TEST_F(statistics_test, include_threads_that_have_ended) {
    var<int> v{0};
    for (int i = 0; i < 20; ++i) {
        std::jthread{[&] { atomically({.name = "short life"}, [&](tx& t) { v.set(t, v.get(t) + 1); }); }}.join();
    }
    EXPECT_EQ(row("short life").commits, 20u);
}

TEST_F(statistics_test, count_nothing_when_off) {
    var<int> v{0};
    const auto once = [&] { atomically({.name = "switched"}, [&](tx& t) { v.set(t, v.get(t) + 1); }); };
    once();
    enable_statistics(false);
    for (int i = 0; i < 10; ++i) once();
    EXPECT_EQ(row("switched").commits, 1u);
    enable_statistics(true);
    once();
    EXPECT_EQ(row("switched").commits, 2u);
    reset_statistics();
    EXPECT_EQ(row("switched").commits, 0u);
    once();
    EXPECT_EQ(row("switched").commits, 1u);
}

// Reading the statistics during counting neither disturbs nor tears them: they are monotonic, and correct at the end.
TEST_F(statistics_test, may_be_read_at_any_time) {
    const std::size_t each = rounds(1500);
    var<long> v{0};
    std::atomic<unsigned> running{3};
    violations backwards;
    run_threads(4, [&](unsigned me) {
        if (me < 3) {
            for (std::size_t i = 0; i < each; ++i) {
                atomically({.name = "watched"}, [&](tx& t) { v.set(t, v.get(t) + 1); });
            }
            --running;
        } else {
            std::uint64_t last = 0;
            while (running.load() != 0) {
                const std::uint64_t now = row("watched").commits;
                backwards.expect(now >= last);
                last = now;
            }
        }
    });
    EXPECT_EQ(backwards.count(), 0);
    expect_sound(row("watched"));
    EXPECT_EQ(row("watched").commits, 3 * each);
    std::ostringstream table;
    print_statistics(table);
    EXPECT_NE(table.str().find("watched"), std::string::npos);
}

}  // namespace
}  // namespace tutti::anomalies
