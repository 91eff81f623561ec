// Sizes at which a feature might silently stop working: many threads that come and go, many sites, deep nesting, and
// read and write sets that outgrow their first arrays. `huge.cpp` has the largest sizes.
#include <latch>
#include <sstream>

#include "anomalies/flavour.hpp"

namespace tutti::anomalies {
namespace {

class limits_test : public suite {};

// Threads reuse descriptors. A thread that ends leaves no state behind that affects the next owner.
TEST_F(limits_test, include_many_short_lived_threads) {
    const std::size_t generations = rounds(60);
    constexpr unsigned at_once = 8;
    var<long> counter{0};
    std::atomic<bool> done{false};
    std::jthread resident{[&] {
        while (!done.load()) atomically([&](tx& t) { counter.set(t, counter.get(t)); });
    }};
    for (std::size_t i = 0; i < generations; ++i) {
        run_threads(at_once, [&](unsigned) {
            for (int k = 0; k < 5; ++k) atomically([&](tx& t) { counter.set(t, counter.get(t) + 1); });
        });
    }
    done = true;
    resident.join();
    EXPECT_EQ(counter.load(), static_cast<long>(generations * at_once * 5));
}

// Other threads reclaim the objects that a thread retired before it ended, except objects that a transaction may still
// see.
TEST_F(limits_test, include_threads_that_end_with_retired_memory) {
    static std::atomic<long> alive{0};
    struct object {
        object() { ++alive; }
        ~object() { --alive; }
    };
    // An engine without reclamation has six times the allowed number alive at the end.
    const std::size_t generations = std::max<std::size_t>(300, rounds(300));
    var<object*> place{nullptr};
    for (std::size_t i = 0; i < generations; ++i) {
        run_threads(2, [&](unsigned) {
            for (int k = 0; k < 10; ++k) {
                atomically([&](tx& t) {
                    destroy(t, place.get(t));
                    place.set(t, create<object>(t));
                });
            }
        });
    }
    EXPECT_LT(alive, 1024);
    delete place.load();
}

TEST_F(limits_test, include_many_threads_at_once) {
    const auto threads = static_cast<unsigned>(std::min<std::size_t>(rounds(100), 400));
    var<long> counter{0};
    std::latch all_alive{static_cast<std::ptrdiff_t>(threads)};
    run_threads(threads, [&](unsigned) {
        atomically([&](tx& t) { counter.set(t, counter.get(t) + 1); });
        all_alive.arrive_and_wait();
        atomically([&](tx& t) { counter.set(t, counter.get(t) + 1); });
    });
    EXPECT_EQ(counter.load(), 2l * threads);
}

TEST_F(limits_test, include_accesses_beyond_the_first_arrays) {
    const std::size_t count = rounds(20000);
    std::vector<var<std::size_t>> data(count);
    atomically([&](tx& t) {
        for (std::size_t i = 0; i < count; ++i) data[i].set(t, i);
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(data[i].get(t), i);
    });
    const auto sum = [&](tx& t) {
        std::size_t total = 0;
        for (auto& v : data) total += v.get(t);
        return total;
    };
    const std::size_t expected = count * (count - 1) / 2;
    EXPECT_EQ(atomically(sum), expected);
    EXPECT_EQ(atomically({.read_only = true}, sum), expected);
    EXPECT_EQ(atomically({.mode = mode::visible}, sum), expected);
    EXPECT_EQ(atomically({.mode = mode::irrevocable}, sum), expected);
    // Changes all values back by a roll-back.
    EXPECT_FALSE(try_atomically([&](tx& t) {
        for (auto& v : data) v.set(t, 0);
        cancel(t);
    }));
    EXPECT_EQ(atomically(sum), expected);
}

TEST_F(limits_test, include_plain_memory_beyond_the_first_arrays) {
    const std::size_t count = rounds(40000);
    std::vector<std::uint8_t> data(count, 1);
    atomically([&](tx& t) {
        for (std::size_t i = 0; i < count; ++i) store(t, &data[i], static_cast<std::uint8_t>(i));
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(load(t, &data[i]), static_cast<std::uint8_t>(i));
    });
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(data[i], static_cast<std::uint8_t>(i));
}

TEST_F(limits_test, include_deep_nesting) {
    const std::size_t depth = rounds(500);
    var<std::size_t> v{0};
    const auto descend = [&](const auto& self, tx& t, std::size_t left) -> void {
        v.set(t, v.get(t) + 1);
        if (left == 0) return;
        (void)try_atomically([&](tx& c) {
            self(self, c, left - 1);
            if (left % 2 == 0) cancel(c);
        });
    };
    atomically([&](tx& t) { descend(descend, t, depth); });
    // The outermost level with an even `left` cancels all levels below itself, so one or two levels remain.
    EXPECT_EQ(v.load(), depth % 2 == 0 ? 1u : 2u);
}

TEST_F(limits_test, include_many_handlers) {
    const std::size_t count = rounds(5000);
    std::size_t ran = 0;
    atomically([&](tx& t) {
        for (std::size_t i = 0; i < count; ++i) {
            t.before_commit([&] { ++ran; });
            t.at_commit([&] { ++ran; });
            t.on_commit([&] { ++ran; });
            t.on_abort([&] { ran = 0; });
        }
    });
    EXPECT_EQ(ran, 3 * count);
}

// Ten thousand named sites, each counted by itself.
TEST_F(limits_test, include_many_sites) {
    const std::size_t count = rounds(10000);
    static std::vector<std::string> names;  // names must live on
    names.reserve(count);
    for (std::size_t i = 0; i < count; ++i) names.push_back("site " + std::to_string(i));
    enable_statistics(true);
    reset_statistics();
    var<std::size_t> v{0};
    for (int round = 0; round < 2; ++round) {
        for (const auto& name : names) atomically({.name = name.c_str()}, [&](tx& t) { v.set(t, v.get(t) + 1); });
    }
    std::size_t named = 0;
    for (const auto& site : statistics()) {
        if (site.name.starts_with("site ")) {
            ++named;
            ASSERT_EQ(site.commits, 2u) << site.name;
        }
    }
    enable_statistics(false);
    EXPECT_EQ(named, count);
    std::ostringstream table;
    print_statistics(table);
    EXPECT_NE(table.str().find("site 7"), std::string::npos);
}

}  // namespace
}  // namespace tutti::anomalies
