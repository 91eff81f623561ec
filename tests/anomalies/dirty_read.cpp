// Dirty read: a reader sees a value that no transaction has committed.
//
// Catches an undo log whose rolled-back write is released under its old version: a reader that loads the orec, the
// dirty value and the orec again is deceived. Catches a redo log that writes back before the decision, and a `load`
// outside transactions that ignores the orec.
#include <vector>

#include "anomalies/flavour.hpp"

namespace tutti::anomalies {
namespace {

constexpr long rolled_back = 1;  // odd values are written, but never committed
constexpr long overwritten = 3;

struct refusal {};

class dirty_read_test : public suite_of_flavours {
protected:
    /// Writes odd values, and takes each of them back in one of several ways.
    template <class Write>
    void write_and_take_back(const flavour& mine, std::size_t step, Write&& write) {
        const long even = static_cast<long>(2 * step);
        switch (step % 4) {
            case 0:  // overwritten before the commit
                run(mine, [&](tx& t) {
                    write(t, overwritten);
                    write(t, even);
                });
                break;
            case 1:  // cancelled
                try {
                    run(mine, [&](tx& t) {
                        write(t, rolled_back);
                        cancel(t);
                    });
                } catch (const cancelled&) {}
                break;
            case 2:  // left by an exception
                try {
                    run(mine, [&](tx& t) {
                        write(t, rolled_back);
                        throw refusal{};
                    });
                } catch (const refusal&) {}
                break;
            default:  // taken back by a nested block, the rest committed
                run(mine, [&](tx& t) {
                    write(t, even);
                    (void)try_atomically([&](tx& inner) {
                        write(inner, rolled_back);
                        cancel(inner);
                    });
                });
        }
    }
};

class dirty_read_during_roll_back_test : public suite {};

TEST_P(dirty_read_test, does_not_occur_for_variables) {
    const std::size_t each = rounds(600);
    std::array<var<long>, 4> data{};
    std::atomic<unsigned> writers{2};
    violations dirty;
    run_threads(5, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        if (me < 2) {
            for (std::size_t i = 0; i < each; ++i) {
                write_and_take_back(mine, i, [&](tx& t, long value) {
                    for (auto& v : data) v.set(t, value);
                });
            }
            --writers;
        } else {
            while (writers.load() != 0) {
                if (me == 2) {
                    for (auto& v : data) dirty.expect(v.load() % 2 == 0);
                } else {
                    run(mine, {.read_only = me == 3}, [&](tx& t) {
                        for (auto& v : data) dirty.expect(v.get(t) % 2 == 0);
                    });
                }
            }
        }
    });
    EXPECT_EQ(dirty.count(), 0);
}

TEST_P(dirty_read_test, does_not_occur_for_plain_words) {
    const std::size_t each = rounds(400);
    std::array<std::uint32_t, 6> data{};
    std::atomic<unsigned> writers{2};
    violations dirty;
    run_threads(4, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        if (me < 2) {
            for (std::size_t i = 0; i < each; ++i) {
                write_and_take_back(mine, i, [&](tx& t, long value) {
                    for (auto& word : data) store(t, &word, static_cast<std::uint32_t>(value));
                });
            }
            --writers;
        } else {
            while (writers.load() != 0) {
                run(mine, {.read_only = me == 3, .privatization = privatization::waived}, [&](tx& t) {
                    for (auto& word : data) dirty.expect(load(t, &word) % 2 == 0);
                });
            }
        }
    });
    EXPECT_EQ(dirty.count(), 0);
}

// A node that a cancelled block made must never be visible, before or after the roll-back.
TEST_P(dirty_read_test, does_not_occur_for_values_behind_nodes) {
    const std::size_t each = rounds(160);
    const std::string clean(40, 'c');
    var<std::string> text{clean};
    std::atomic<unsigned> writers{1};
    violations dirty;
    run_threads(3, [&](unsigned me) {
        const flavour mine = GetParam().of(me).unwinding();
        if (me == 0) {
            for (std::size_t i = 0; i < each; ++i) {
                try {
                    run(mine, [&](tx& t) {
                        text.set(t, std::string(40, 'd'));
                        if (i % 2 == 0) cancel(t);
                        text.set(t, clean);
                    });
                } catch (const cancelled&) {}
            }
            --writers;
        } else {
            while (writers.load() != 0) {
                run(mine, {.read_only = me == 1}, [&](tx& t) { dirty.expect(text.get(t) == clean); });
                dirty.expect(text.load() == clean);
            }
        }
    });
    EXPECT_EQ(dirty.count(), 0);
}

// A roll-back of a large write set takes long, and restores the first writes last. A transaction that reads one of them
// meanwhile must find an orec that is still owned. The reader spins, because a sleeping reader is woken only after the
// roll-back.
TEST_F(dirty_read_during_roll_back_test, does_not_occur_during_a_long_roll_back) {
    const std::size_t each = rounds(20);
    std::vector<var<long>> data(20'000);
    std::atomic<bool> done{false};
    violations dirty;
    run_threads(2, [&](unsigned me) {
        if (me == 0) {
            for (std::size_t i = 0; i < each; ++i) {
                (void)try_atomically([&](tx& t) {
                    for (auto& v : data) v.set(t, rolled_back);
                    cancel(t);
                });
            }
            done = true;
        } else {
            while (!done.load()) {
                atomically({.read_only = true, .policy = policy::suicide},
                           [&](tx& t) { dirty.expect(data.front().get(t) == 0); });
            }
        }
    });
    EXPECT_EQ(dirty.count(), 0);
}

TUTTI_IN_EVERY_FLAVOUR(dirty_read_test);

}  // namespace
}  // namespace tutti::anomalies
