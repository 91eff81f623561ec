// New eras of the version clock: how they start, the conditions that delay the start, and unchanged results for all
// threads.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "core/lifecycle/registry.hpp"
#include "core/ports/algorithm.hpp"
#include "core/privatization/quiescence.hpp"
#include "support/effort.hpp"
#include "support/random.hpp"
#include "support/version_clock.hpp"
#include "support/watchdog.hpp"
#include "tutti/tutti.hpp"

namespace tutti {
namespace {

using algorithms::version_clock;
using support::advance_clock_to;
using support::era_number;
using support::failed_advances;
using support::version_clock_time;

constexpr options reading{.read_only = true};
constexpr options visible{.mode = mode::visible};
constexpr options irrevocable{.mode = mode::irrevocable};

core::descriptor& mine() { return core::descriptor::of(detail::current_or_attach()); }

class new_era_test : public ::testing::Test {
protected:
    void SetUp() override {
        if (mine().algorithm->first_version_bit != memory::writer_bits)
            GTEST_SKIP() << "this algorithm has no version clock";
        version_clock::start_era();  // no transaction runs
    }
    static bool one_at_a_time() { return mine().algorithm->one_at_a_time; }

    /// Commits until the era has changed. Returns false if it has not changed after very many commits.
    static bool commit_into_the_next(var<long>& v) {
        const core::word before = era_number();
        for (int i = 0; i != 20'000'000 && era_number() == before; ++i) v.store(i);
        return era_number() != before;
    }
};

TEST_F(new_era_test, begins_only_when_the_clock_is_late) {
    var<long> v{0};
    const core::word before = era_number();
    for (int i = 0; i != 1000; ++i) v.store(i);
    EXPECT_EQ(era_number(), before);
    advance_clock_to(version_clock::late);
    ASSERT_TRUE(commit_into_the_next(v));
    EXPECT_LT(version_clock_time(), version_clock::first_time + 1000);
    EXPECT_EQ(failed_advances(), 0U);
    v.store(7);
    EXPECT_EQ(v.load(), 7);
}

// All ways of reading and writing handle versions that the new clock has not reached. An access never takes its time
// from such a version.
TEST_F(new_era_test, keeps_values_with_versions_of_the_old_era) {
    constexpr long count = 64;
    std::vector<var<long>> all(count);
    std::vector<long> plain(count);
    const auto written = [&] {
        advance_clock_to(version_clock::late - 1000);
        for (long i = 0; i != count; ++i) {
            atomically([&](tx& t) {
                all[static_cast<std::size_t>(i)].set(t, i);
                store(t, &plain[static_cast<std::size_t>(i)], i);
            });
        }
        advance_clock_to(version_clock::late);
        var<long> other{0};
        return commit_into_the_next(other);
    };
    const auto sum = [&](const options& how) {
        return atomically(how, [&](tx& t) {
            long s = 0;
            for (const var<long>& v : all) s += v.get(t);
            for (const long& p : plain) s += load(t, &p);
            return s;
        });
    };
    constexpr long right = count * (count - 1);
    for (const options& how : {options{}, reading, visible, irrevocable}) {
        ASSERT_TRUE(written());
        EXPECT_EQ(sum(how), right);
        EXPECT_EQ(sum(how), right);
    }
    ASSERT_TRUE(written());
    for (long i = 0; i != count; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].load(), i);
    ASSERT_TRUE(written());
    for (var<long>& v : all) v.store(1);
    for (const var<long>& v : all) EXPECT_EQ(v.load(), 1);
    ASSERT_TRUE(written());
    // A cancelled write leaves the value and a version.
    EXPECT_FALSE(try_atomically([&](tx& t) {
        for (var<long>& v : all) v.set(t, -1);
        cancel(t);
    }));
    EXPECT_EQ(sum({}), right);
    EXPECT_LT(version_clock_time(), version_clock::late);
}

// An outside load reads a version twice. A version that is drawn again in another era must not mislead the load.
TEST_F(new_era_test, renews_old_versions_before_loads_outside) {
    if (!mine().algorithm->in_place) GTEST_SKIP() << "values of running transactions are not in memory";
    var<long> v{0};
    v.store(5);
    const core::word first = version_clock_time();
    advance_clock_to(first + memory::max_time / 2 + 10);
    EXPECT_EQ(v.load(), 5);
    const auto& cell = reinterpret_cast<const detail::cell&>(v);
    EXPECT_GT(memory::time_of(cell.orec.load(std::memory_order_relaxed)), first + 5);
    EXPECT_EQ(v.load(), 5);
}

TEST_F(new_era_test, waits_for_transactions_a_bounded_time) {
    if (one_at_a_time()) GTEST_SKIP() << "no other transaction commits meanwhile";
    const support::watchdog dog{"a new era"};
    var<long> v{0};
    var<long> other{0};
    std::latch inside{1};
    std::atomic<bool> over{false};
    std::thread longest{[&] {
        atomically(irrevocable, [&](tx& t) {
            other.set(t, 1);
            inside.count_down();
            while (!over.load()) std::this_thread::yield();
        });
    }};
    inside.wait();
    advance_clock_to(version_clock::late);
    const core::word before = era_number();
    for (int i = 0; i != 10'000'000 && failed_advances() < 3; ++i) v.store(i);
    EXPECT_EQ(failed_advances(), 3U);
    EXPECT_EQ(era_number(), before);
    over = true;
    longest.join();
    ASSERT_TRUE(commit_into_the_next(v));
    EXPECT_EQ(failed_advances(), 0U);
}

TEST_F(new_era_test, does_not_begin_inside_a_transaction) {
    if (one_at_a_time()) GTEST_SKIP() << "open nested blocks are closed";
    var<long> v{0};
    var<long> around{0};
    advance_clock_to(version_clock::late);
    const core::word before = era_number();
    atomically([&](tx& t) {
        static_cast<void>(around.get(t));
        for (int i = 0; i != 300; ++i) open_nested(t, [&](tx& inner) { v.set(inner, v.get(inner) + 1); }, [](tx&) {});
    });
    EXPECT_EQ(v.load(), 300);
    EXPECT_EQ(era_number(), before);
    ASSERT_TRUE(commit_into_the_next(v));
}

TEST_F(new_era_test, wakes_transactions_in_retry) {
    const support::watchdog dog{"a new era"};
    var<long> wanted{0};
    var<long> v{0};
    wanted.store(1);
    std::thread waiting{[&] {
        atomically([&](tx& t) {
            if (wanted.get(t) != 2) retry(t);
        });
    }};
    while (!mine().algorithm->one_at_a_time &&
           (core::commit_flags.load(std::memory_order_relaxed) & core::flag_retry_waiters) == 0)
        std::this_thread::yield();
    for (int i = 0; i != 3; ++i) {
        advance_clock_to(version_clock::late);
        ASSERT_TRUE(commit_into_the_next(v));
    }
    wanted.store(2);
    waiting.join();
}

TEST_F(new_era_test, resets_quiescence_results) {
    if (one_at_a_time()) GTEST_SKIP() << "there is no quiescence to wait for";
    const support::watchdog dog{"a new era"};
    long plain = 0;
    var<long> v{0};
    const auto quiesce = [&] {
        for (int i = 0; i != 300; ++i) {
            atomically([&](tx& t) { store(t, &plain, load(t, &plain) + 1); });
            atomically(reading, [&](tx& t) { return load(t, &plain); });
        }
    };
    quiesce();
    EXPECT_GT(core::quiesced_up_to.load(std::memory_order_relaxed), 0U);
    advance_clock_to(version_clock::late);
    std::latch waiting{1};
    std::latch tried{1};
    std::thread waiter{[&] {
        core::begin_quiescence_wait(mine());
        waiting.count_down();
        tried.wait();
        core::end_quiescence_wait(mine());
    }};
    waiting.wait();
    const core::word before = era_number();
    for (int i = 0; i != 10'000'000 && failed_advances() < 2; ++i) v.store(i);
    EXPECT_EQ(era_number(), before);
    EXPECT_EQ(failed_advances(), 2U);
    tried.count_down();
    waiter.join();
    ASSERT_TRUE(commit_into_the_next(v));
    EXPECT_LT(memory::time_of(core::quiesced_up_to.load(std::memory_order_relaxed)), version_clock_time());
    EXPECT_LT(memory::time_of(mine().quiescing.received_up_to), version_clock_time());
    quiesce();
    EXPECT_EQ(mine().pending_quiescence_waits.load(std::memory_order_relaxed), 0U);
}

TEST_F(new_era_test, begins_in_the_child_of_a_fork) {
    var<long> v{0};
    v.store(3);
    advance_clock_to(version_clock::late);
    const pid_t child = ::fork();
    if (child == 0) {
        const bool right = v.load() == 3 && commit_into_the_next(v) && version_clock_time() < version_clock::late;
        ::_exit(right ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/// The activity of threads across several eras.
class commotion {
public:
    void run(core::word eras, support::watchdog& dog) {
        std::vector<std::thread> crew;
        for (unsigned me = 0; me != 4; ++me) crew.emplace_back([this, me] { live(me); });
        for (core::word turned = 0; turned != eras; ++turned) {
            const core::word before = era_number();
            while (era_number() == before) {
                advance_clock_to(version_clock::late);  // repeated, because the previous era may just be beginning
                std::this_thread::yield();
            }
            dog.progress();
        }
        over_ = true;
        for (std::thread& t : crew) t.join();
        EXPECT_EQ(wrong_.load(), 0U);
        EXPECT_EQ(sum({}), 0);
    }

private:
    static constexpr std::size_t accounts = 24;

    long sum(const options& how) {
        return atomically(how, [&](tx& t) {
            long s = 0;
            for (const var<long>& v : variables_) s += v.get(t);
            for (const long& p : plain_) s += load(t, &p);
            // The sum is 0 in rolled-back attempts too, because each attempt sees a single state.
            if (s != 0) ++wrong_;
            return s;
        });
    }
    void move(const options& how, std::size_t from, std::size_t to) {
        atomically(how, [&](tx& t) {
            variables_[from].set(t, variables_[from].get(t) - 1);
            if (to % 2 == 0) variables_[to].set(t, variables_[to].get(t) + 1);
            else store(t, &plain_[to], load(t, &plain_[to]) + 1);
        });
    }
    /// Makes the pair private, changes it directly, and publishes it again.
    void change_in_private() {
        auto* const own = atomically([&](tx& t) {
            auto* const there = shown_.get(t);
            if (there != nullptr) shown_.set(t, nullptr);
            return there;
        });
        if (own == nullptr) return;
        if ((*own)[0] != (*own)[1]) ++wrong_;
        ++(*own)[0];
        ++(*own)[1];
        atomically([&](tx& t) { shown_.set(t, own); });
    }
    void look_at_pair() {
        atomically(reading, [&](tx& t) {
            const auto* const there = shown_.get(t);
            if (there != nullptr && load(t, &(*there)[0]) != load(t, &(*there)[1])) ++wrong_;
        });
    }
    void live(unsigned me) {
        support::random random{me + 1};
        while (!over_.load(std::memory_order_relaxed)) {
            const auto from = static_cast<std::size_t>(random.below(accounts));
            const auto to = static_cast<std::size_t>(random.below(accounts));
            switch (random.below(12)) {
                case 0: sum({}); break;
                case 1: sum(reading); break;
                case 2: sum(visible); break;
                case 3: sum(irrevocable); break;
                case 4: move(irrevocable, from, to); break;
                case 5: move(visible, from, to); break;
                case 6: change_in_private(); break;
                case 7: look_at_pair(); break;
                case 8: static_cast<void>(variables_[from].load()); break;
                default: move({}, from, to);
            }
        }
    }

    std::array<var<long>, accounts> variables_{};
    std::array<long, accounts> plain_{};
    std::array<long, 2> pair_{};
    var<std::array<long, 2>*> shown_{&pair_};
    std::atomic<unsigned> wrong_{0};
    std::atomic<bool> over_{false};
};

TEST_F(new_era_test, begins_many_times) {
    support::watchdog dog{"one era after the other"};
    commotion{}.run(support::rounds(300), dog);
}

}  // namespace
}  // namespace tutti
