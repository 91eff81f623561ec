// Use after free: one transaction destroys an object while another one that found it earlier still reads it.
//
// Catches an engine that frees at commit, and one whose reclamation skips a mode (an unlogged reader, a visible one, a
// sleeping transaction). Catches an engine that never frees.
#include "anomalies/flavour.hpp"
#include "support/random.hpp"

namespace tutti::anomalies {
namespace {

constexpr std::uint64_t alive = 0x600d600d600d600d;

struct object {
    object() { state.store(alive); }
    ~object() {
        state.store(0);
        ++ended;
    }
    // Deliberately not transactional: the reader looks at the object directly, as a transaction that found it may.
    std::atomic<std::uint64_t> state{0};
    static inline std::atomic<long> ended{0};
};

class reclamation_test : public suite_of_flavours {};

/// Commits that retire objects, so that batches fill and are examined.
void churn(std::size_t rounds_of_it) {
    static var<object*> spare{nullptr};
    for (std::size_t i = 0; i < rounds_of_it; ++i) {
        atomically([&](tx& t) {
            destroy(t, spare.get(t));
            spare.set(t, create<object>(t));
        });
    }
}

// One reader keeps its transaction open. Another thread destroys the object that the reader has found, and then retires
// thousands of objects.
TEST_P(reclamation_test, waits_for_the_reader) {
    if (!concurrent()) GTEST_SKIP() << "needs two transactions at once";
    // A visible or irrevocable reader could deadlock with the writer.
    if (GetParam().mode != mode::optimistic) GTEST_SKIP() << "the writer may wait for such a reader";
    for (const bool read_only : {false, true}) {
        auto* const subject = new object;
        var<object*> place{subject};
        std::atomic<int> stage{0};
        violations dead;
        run_threads(2, [&](unsigned me) {
            if (me == 0) {
                run(GetParam(), {.read_only = read_only}, [&](tx& t) {
                    const object* const found = place.get(t);
                    if (found == nullptr) return;  // an attempt after the destruction
                    dead.expect(found->state.load() == alive);
                    stage = 1;
                    while (stage.load() != 2) std::this_thread::yield();
                    dead.expect(found->state.load() == alive);
                });
            } else {
                while (stage.load() != 1) std::this_thread::yield();
                atomically([&](tx& t) {
                    place.set(t, nullptr);
                    destroy(t, subject);
                });
                churn(rounds(800));
                stage = 2;
            }
        });
        EXPECT_EQ(dead.count(), 0);
    }
}

// The reference that `get` returns stays valid until the block ends, although other transactions replace the value.
TEST_P(reclamation_test, waits_for_readers_of_values_behind_nodes) {
    const std::size_t each = rounds(600);
    const auto text_of = [](std::size_t i) { return std::string(24 + i % 9, static_cast<char>('a' + i % 26)); };
    var<std::string> text{text_of(0)};
    std::atomic<bool> done{false};
    violations torn;
    run_threads(4, [&](unsigned me) {
        const flavour mine = GetParam().of(me).unwinding();
        if (me == 0) {
            for (std::size_t i = 0; i < each; ++i) {
                if (i % 2 == 0) text.store(text_of(i));
                else run(mine, [&](tx& t) { text.set(t, text_of(i)); });
            }
            done = true;
        } else {
            while (!done.load()) {
                run(mine, {.read_only = me == 1}, [&](tx& t) {
                    const std::string& found = text.get(t);
                    torn.expect(found.size() >= 24);
                    for (const char c : found) torn.expect(c == found[0]);
                });
            }
        }
    });
    EXPECT_EQ(torn.count(), 0);
}

// Each destroyed object ends exactly once, while readers of all kinds look at the objects.
TEST_P(reclamation_test, destroys_every_object_once) {
    const std::size_t each = rounds(600);
    std::array<var<object*>, 4> places{};
    std::atomic<bool> done{false};
    std::atomic<long> destroyed{0};
    violations dead;
    const long ended_before = object::ended;
    run_threads(5, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        support::random dice{me};
        if (me < 2) {
            for (std::size_t i = 0; i < each; ++i) {
                auto& place = places[dice.below(places.size())];
                const bool did = run(mine, [&](tx& t) {
                    object* const old = place.get(t);
                    place.set(t, old == nullptr ? create<object>(t) : nullptr);
                    destroy(t, old);
                    return old != nullptr;
                });
                if (did) ++destroyed;
            }
            done = true;
        } else {
            while (!done.load()) {
                run(mine, {.read_only = me % 2 == 0}, [&](tx& t) {
                    for (auto& place : places) {
                        if (const object* const found = place.get(t)) dead.expect(found->state.load() == alive);
                    }
                });
            }
        }
    });
    EXPECT_EQ(dead.count(), 0);
    for (auto& place : places) delete place.load();
    // A bound on the count, not on time: without other threads, retiring more objects has to reduce the backlog.
    const auto backlog = [&] { return destroyed - (object::ended - ended_before); };
    for (int i = 0; i < 200 && backlog() > 1024; ++i) churn(100);
    EXPECT_LE(backlog(), 1024 + 8);
}

TUTTI_IN_EVERY_FLAVOUR(reclamation_test);

}  // namespace
}  // namespace tutti::anomalies
