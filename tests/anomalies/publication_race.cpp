// Publication race: a thread fills memory directly, and a transaction then publishes it. A transaction that sees the
// publication does not see the data.
//
// Catches a commit without release order and a read without acquire order: on x86, compiler reordering; under
// ThreadSanitizer, any missing edge. Catches an engine that reads plain memory before the flag that guards it.
#include "anomalies/flavour.hpp"

namespace tutti::anomalies {
namespace {

struct letter {
    std::uint64_t number;
    std::array<std::uint32_t, 6> lines;
};

class publication_race_test : public suite_of_flavours {
protected:
    static letter* fill(std::uint64_t number) {
        auto* const l = new letter;
        l->number = number;
        for (auto& line : l->lines) line = static_cast<std::uint32_t>(number);
        return l;
    }
};

// The reader takes the letter out and owns it: the hand-over works in both directions.
TEST_P(publication_race_test, does_not_occur_through_a_variable) {
    const std::size_t each = rounds(380);
    var<letter*> box{nullptr};
    violations torn;
    run_threads(2, [&](unsigned me) {
        const flavour mine = GetParam().of(me + 1);
        for (std::uint64_t i = 0; i < each; ++i) {
            if (me == 0) {
                letter* const l = fill(i);
                while (!run(mine, [&](tx& t) { return box.get(t) == nullptr && (box.set(t, l), true); })) {
                    std::this_thread::yield();
                }
            } else {
                letter* l = nullptr;
                while (l == nullptr) {
                    l = run(mine, [&](tx& t) {
                        letter* const found = box.get(t);
                        if (found != nullptr) box.set(t, nullptr);
                        return found;
                    });
                    if (l == nullptr) std::this_thread::yield();
                }
                torn.expect(l->number == i);
                for (auto line : l->lines) torn.expect(line == static_cast<std::uint32_t>(i));
                delete l;
            }
        }
    });
    EXPECT_EQ(torn.count(), 0);
}

// Readers read the published letter transactionally; `load` and `store` outside transactions publish as well.
TEST_P(publication_race_test, does_not_occur_for_many_readers) {
    const std::size_t letters = rounds(200);
    std::vector<std::unique_ptr<letter>> kept;
    kept.reserve(letters);
    var<letter*> newest{nullptr};
    letter* same = nullptr;
    std::atomic<bool> done{false};
    violations torn;
    run_threads(4, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        const options waived{.privatization = privatization::waived};
        if (me == 0) {
            for (std::uint64_t i = 0; i < letters; ++i) {
                letter* const l = kept.emplace_back(fill(i)).get();
                if (i % 2 == 0) newest.store(l);
                else run(mine, waived, [&](tx& t) { newest.set(t, l); });
                run(mine, waived, [&](tx& t) { store(t, &same, l); });
            }
            done = true;
        } else {
            while (!done.load()) {
                run(mine, {.read_only = me == 1, .privatization = privatization::waived}, [&](tx& t) {
                    const letter* const l = me == 2 ? load(t, &same) : newest.get(t);
                    if (l == nullptr) return;
                    const std::uint64_t number = load(t, &l->number);
                    for (const auto& line : l->lines) torn.expect(load(t, &line) == static_cast<std::uint32_t>(number));
                });
                // The letter is never written after its publication, so a direct read is allowed as well.
                if (const letter* const l = newest.load())
                    torn.expect(l->lines[5] == static_cast<std::uint32_t>(l->number));
            }
        }
    });
    EXPECT_EQ(torn.count(), 0);
}

TUTTI_IN_EVERY_FLAVOUR(publication_race_test);

}  // namespace
}  // namespace tutti::anomalies
