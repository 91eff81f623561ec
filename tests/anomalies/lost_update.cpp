// Lost update: two transactions read the same value, both write, and one of the writes is lost.
//
// Catches an engine that does not validate its reads before it writes (remove the check from `prepare`, or skip the
// extension on a write). Catches an engine whose read log skips never-written variables (version 0). Catches an engine
// that writes back a whole word where a narrow store changed one byte of it.
#include "anomalies/flavour.hpp"

namespace tutti::anomalies {
namespace {

constexpr unsigned threads = 4;

class lost_update_test : public suite_of_flavours {};

TEST_P(lost_update_test, does_not_occur_on_one_variable) {
    const std::size_t each = rounds(800);
    var<long> counter{0};
    run_threads(threads, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        for (std::size_t i = 0; i < each; ++i) run(mine, [&](tx& t) { counter.set(t, counter.get(t) + 1); });
    });
    EXPECT_EQ(counter.load(), static_cast<long>(threads * each));
}

// A variable that was never written has the smallest version.
TEST_P(lost_update_test, does_not_occur_on_new_variables) {
    const std::size_t count = rounds(800);
    std::vector<var<long>> fresh(count);
    run_threads(threads, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        for (auto& v : fresh) run(mine, [&](tx& t) { v.set(t, v.get(t) + 1); });
    });
    for (auto& v : fresh) ASSERT_EQ(v.load(), threads);
}

// The read is far from the write, in a block of its own.
TEST_P(lost_update_test, does_not_occur_across_nested_blocks) {
    const std::size_t each = rounds(400);
    var<long> counter{0}, noise{0};
    run_threads(threads, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        for (std::size_t i = 0; i < each; ++i) {
            run(mine, [&](tx&) {
                const long seen = atomically([&](tx& t) { return counter.get(t); });
                atomically([&](tx& t) { noise.set(t, seen); });
                atomically([&](tx& t) { counter.set(t, seen + 1); });
            });
        }
    });
    EXPECT_EQ(counter.load(), static_cast<long>(threads * each));
}

TEST_P(lost_update_test, does_not_occur_behind_a_node) {
    const std::size_t each = rounds(80);
    var<std::string> text;
    run_threads(threads, [&](unsigned me) {
        // Strings have destructors, so these bodies unwind.
        const flavour mine = GetParam().of(me).unwinding();
        for (std::size_t i = 0; i < each; ++i) {
            run(mine, [&](tx& t) { text.set(t, text.get(t) + static_cast<char>('a' + me)); });
        }
    });
    const std::string all = text.load();
    for (unsigned me = 0; me < threads; ++me) {
        EXPECT_EQ(std::count(all.begin(), all.end(), static_cast<char>('a' + me)), static_cast<long>(each));
    }
}

// Every thread adds to every word of every width, all in neighbouring memory. A store of one byte must not write back
// old values of its seven neighbours.
struct alignas(8) neighbours {
    std::uint8_t byte[2] = {0, 0};
    std::uint16_t half = 0;
    std::uint32_t single = 0;
    std::uint64_t full = 0;
};

TEST_P(lost_update_test, does_not_occur_within_eight_bytes) {
    const std::size_t each = rounds(200);
    neighbours data;
    run_threads(threads, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        const options how{.privatization = privatization::waived};
        const auto add = [&](auto* word) {
            run(mine, how, [&](tx& t) {
                using value = std::remove_pointer_t<decltype(word)>;
                store(t, word, static_cast<value>(load(t, word) + 1));
            });
        };
        for (std::size_t i = 0; i < each; ++i) {
            add(&data.byte[me % 2]);
            add(&data.half);
            add(&data.single);
            add(&data.full);
        }
    });
    atomically([&](tx& t) {
        EXPECT_EQ(load(t, &data.byte[0]), static_cast<std::uint8_t>(each * threads / 2));
        EXPECT_EQ(load(t, &data.byte[1]), static_cast<std::uint8_t>(each * threads / 2));
        EXPECT_EQ(load(t, &data.half), static_cast<std::uint16_t>(each * threads));
        EXPECT_EQ(load(t, &data.single), each * threads);
        EXPECT_EQ(load(t, &data.full), each * threads);
    });
}

// Eight threads, each the only writer of its byte of one word. They conflict by words, not by values.
TEST_P(lost_update_test, does_not_occur_on_neighbour_bytes) {
    const std::size_t each = rounds(400);
    alignas(8) std::array<std::uint8_t, 8> bytes{};
    violations wrong;
    run_threads(8, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        std::uint8_t expected = 0;
        for (std::size_t i = 0; i < each; ++i) {
            const std::uint8_t found = run(mine, {.privatization = privatization::waived}, [&](tx& t) {
                const std::uint8_t now = load(t, &bytes[me]);
                store(t, &bytes[me], static_cast<std::uint8_t>(now + 1));
                return now;
            });
            wrong.expect(found == expected++);
        }
    });
    EXPECT_EQ(wrong.count(), 0);
}

TUTTI_IN_EVERY_FLAVOUR(lost_update_test);

}  // namespace
}  // namespace tutti::anomalies
