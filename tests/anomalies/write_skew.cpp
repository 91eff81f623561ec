// Write skew: two transactions read the same data, write different data, and together break an invariant that each of
// them preserves. Snapshot isolation allows write skew; serializability does not.
//
// Catches an engine that validates only its writes. Catches an engine that lets a transaction commit at its snapshot
// without validation at commit time (skipped validation taken too far).
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>

#include "anomalies/flavour.hpp"
#include "support/meeting_point.hpp"
#include "support/random.hpp"

namespace tutti::anomalies {
namespace {

class write_skew_test : public suite_of_flavours {};

// At least one doctor is always on call.
TEST_P(write_skew_test, keeps_one_doctor_on_call) {
    constexpr unsigned doctors = 4;
    const std::size_t each = rounds(600);
    std::array<var<bool>, doctors> on_call{};
    for (auto& d : on_call) d.store(true);
    violations nobody;
    run_threads(doctors, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        for (std::size_t i = 0; i < each; ++i) {
            run(mine, [&](tx& t) {
                unsigned count = 0;
                for (auto& d : on_call) count += d.get(t) ? 1u : 0u;
                nobody.expect(count > 0);
                if (!on_call[me].get(t)) {
                    on_call[me].set(t, true);
                } else if (count > 1) {
                    on_call[me].set(t, false);
                }
            });
        }
    });
    EXPECT_EQ(nobody.count(), 0);
}

// The number of consecutive transactions between two meetings. A meeting costs a busy machine far more than a
// transaction.
constexpr std::size_t places = 100;

/// Keeps threads side by side between two meetings: the thread that is ahead waits for the others, but for less time
/// than a thread without a processor needs.
template <std::size_t Size>
class abreast {
public:
    void come_to(unsigned me, std::size_t place) {
        at_[me].store(place);
        const auto there = [&](const std::atomic<std::size_t>& other) { return other.load() >= place; };
        for (int turn = 0; turn < 1000 && !std::ranges::all_of(at_, there); ++turn) {}
    }

private:
    std::array<std::atomic<std::size_t>, Size> at_{};
};

// Each transaction copies the other's variable plus one. One of them comes first, so the result is (1, 2) or (2, 1),
// never (1, 1).
TEST_P(write_skew_test, does_not_occur_between_two_writers) {
    const std::size_t meetings = rounds(4);
    struct pair {
        var<long> x{0}, y{0};
    };
    std::array<pair, places> pairs{};
    violations skew;
    std::barrier meet{2};
    abreast<2> side_by_side;
    run_threads(2, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        std::size_t place = 0;
        for (std::size_t i = 0; i < meetings; ++i) {
            meet.arrive_and_wait();
            for (auto& [x, y] : pairs) {
                side_by_side.come_to(me, ++place);
                run(mine, [&](tx& t) {
                    if (me == 0) x.set(t, y.get(t) + 1);
                    else y.set(t, x.get(t) + 1);
                });
            }
            meet.arrive_and_wait();
            if (me != 0) continue;
            for (auto& [x, y] : pairs) {
                skew.expect(x.load() + y.load() == 3);
                x.store(0);
                y.store(0);
            }
        }
    });
    EXPECT_EQ(skew.count(), 0);
}

// Each transaction has read before either writes, so the second to commit has to notice the conflict.
TEST_P(write_skew_test, does_not_occur_after_both_have_read) {
    const std::size_t meetings = rounds(8);
    var<long> x{0}, y{0};
    violations skew;
    std::barrier around{2};
    support::meeting_point inside;
    run_threads(2, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        var<long>& own = me == 0 ? x : y;
        const var<long>& other = me == 0 ? y : x;
        for (std::size_t i = 0; i < meetings; ++i) {
            around.arrive_and_wait();
            run(mine, [&](tx& t) {
                const long seen = other.get(t);
                inside.meet(me);
                own.set(t, seen + 1);
            });
            around.arrive_and_wait();
            if (me != 0) continue;
            skew.expect(x.load() + y.load() == 3);
            x.store(0);
            y.store(0);
            inside.reset();
        }
    });
    EXPECT_EQ(skew.count(), 0);
}

// A ring of transactions: with n of them the cycle has n edges, and no pair conflicts in both directions.
TEST_P(write_skew_test, does_not_occur_in_a_ring) {
    constexpr unsigned size = 5;
    const std::size_t meetings = rounds(2);
    std::array<std::array<var<long>, size>, places> rings{};
    violations skew;
    std::barrier meet{size};
    abreast<size> side_by_side;
    run_threads(size, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        std::size_t place = 0;
        for (std::size_t i = 0; i < meetings; ++i) {
            meet.arrive_and_wait();
            for (auto& ring : rings) {
                side_by_side.come_to(me, ++place);
                run(mine, [&](tx& t) { ring[me].set(t, ring[(me + 1) % size].get(t) + 1); });
            }
            meet.arrive_and_wait();
            if (me != 0) continue;
            for (auto& ring : rings) {
                // All ones mean that each transaction read the state before any write.
                long sum = 0;
                for (auto& v : ring) sum += v.load();
                skew.expect(sum > size);
                for (auto& v : ring) v.store(0);
            }
        }
    });
    EXPECT_EQ(skew.count(), 0);
}

// Write skew over words of plain memory.
TEST_P(write_skew_test, does_not_occur_for_plain_words) {
    const std::size_t each = rounds(300);
    struct {
        std::uint32_t left = 1;
        std::uint32_t right = 1;
    } data;
    violations both_gone;
    run_threads(4, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        std::uint32_t* const own = me % 2 == 0 ? &data.left : &data.right;
        for (std::size_t i = 0; i < each; ++i) {
            run(mine, {.privatization = privatization::waived}, [&](tx& t) {
                const std::uint32_t sum = load(t, &data.left) + load(t, &data.right);
                both_gone.expect(sum == 1 || sum == 2);
                store(t, own, sum == 2 ? 0u : 1u);
            });
        }
    });
    EXPECT_EQ(both_gone.count(), 0);
}

TUTTI_IN_EVERY_FLAVOUR(write_skew_test);

}  // namespace
}  // namespace tutti::anomalies
