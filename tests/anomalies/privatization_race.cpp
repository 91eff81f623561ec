// Privatization race: a transaction makes plain memory private, and its thread then uses that memory directly. A
// transaction that still runs with the old state sees the direct writes, or overwrites them.
//
// Catches an engine without the fence, or with one that waits before the commit instead of after it. Catches a fence
// that skips a mode, an algorithm, or a transaction that has begun but not read yet.
#include <barrier>

#include "anomalies/flavour.hpp"
#include "support/meeting_point.hpp"

namespace tutti::anomalies {
namespace {

/// Plain words that are equal in every state that a transaction may see.
struct box {
    std::uint64_t left = 0;
    std::uint64_t right = 0;
    std::uint32_t low = 0;
};

class privatization_race_test : public suite_of_flavours {
protected:
    /// Checks all words, and then adds one to every word.
    static void bump(tx& t, box* b, violations& torn) {
        const std::uint64_t left = load(t, &b->left);
        torn.expect(load(t, &b->right) == left);
        torn.expect(load(t, &b->low) == static_cast<std::uint32_t>(left));
        store(t, &b->left, left + 1);
        store(t, &b->low, static_cast<std::uint32_t>(left + 1));
        store(t, &b->right, left + 1);
    }
    /// Does the same as `bump` without a transaction, slowly enough for a zombie to interfere.
    static void bump_directly(box* b, violations& torn) {
        const std::uint64_t before = b->left;
        torn.expect(b->right == before && b->low == static_cast<std::uint32_t>(before));
        b->left = before + 1000;
        std::this_thread::yield();
        b->right = before + 1000;
        b->low = static_cast<std::uint32_t>(before + 1000);
        torn.expect(b->left == before + 1000);
    }
};

// The pointer is a word of plain memory, like its target. The other threads privatize nothing and have waived the wait:
// only the thread that takes the box has to wait.
TEST_P(privatization_race_test, does_not_occur_through_a_plain_pointer) {
    const std::size_t each = rounds(30);
    box content;
    box* place = &content;
    std::atomic<bool> done{false};
    std::atomic<std::uint64_t> bumps{0};
    violations torn;
    run_threads(4, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        if (me == 0) {
            for (std::size_t i = 0; i < each; ++i) {
                box* const taken = run(mine, [&](tx& t) {
                    box* const found = load(t, &place);
                    store(t, &place, nullptr);
                    return found;
                });
                bump_directly(taken, torn);
                run(mine, [&](tx& t) { store(t, &place, taken); });
            }
            done = true;
        } else {
            while (!done.load()) {
                const bool did = run(mine, {.privatization = privatization::waived}, [&](tx& t) {
                    box* const found = load(t, &place);
                    if (found == nullptr) return false;
                    bump(t, found, torn);
                    return true;
                });
                if (did) ++bumps;
            }
        }
    });
    EXPECT_EQ(torn.count(), 0);
    EXPECT_EQ(content.left, bumps + 1000 * each);
    EXPECT_EQ(content.right, content.left);
}

// The pointer is a variable, so the privatizing commit does not write plain memory at all.
TEST_P(privatization_race_test, does_not_occur_through_a_variable) {
    const std::size_t each = rounds(30);
    box content;
    var<box*> place{&content};
    std::atomic<bool> done{false};
    violations torn;
    run_threads(4, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        if (me == 0) {
            for (std::size_t i = 0; i < each; ++i) {
                run(mine, [&](tx& t) { place.set(t, nullptr); });
                bump_directly(&content, torn);
                run(mine, [&](tx& t) { place.set(t, &content); });
            }
            done = true;
        } else {
            while (!done.load()) {
                run(mine, {.privatization = privatization::waived}, [&](tx& t) {
                    if (box* const found = place.get(t)) bump(t, found, torn);
                });
            }
        }
    });
    EXPECT_EQ(torn.count(), 0);
    EXPECT_EQ(content.right, content.left);
}

// The hardest direct use: the whole list is cut off, and immediately overwritten and freed. A straggler would read
// freed memory.
TEST_P(privatization_race_test, does_not_occur_on_a_freed_list) {
    struct item {
        std::uint64_t value;
        item* next;
    };
    constexpr std::uint64_t poison = 0xdeaddeaddeaddead;
    const std::size_t each = rounds(30);
    item* head = nullptr;
    std::atomic<bool> done{false};
    violations seen;
    run_threads(4, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        if (me == 0) {
            for (std::size_t i = 0; i < each; ++i) {
                for (std::uint64_t k = 0; k < 4; ++k) {
                    auto* const fresh = new item{k, nullptr};
                    run(mine, [&](tx& t) {
                        fresh->next = load(t, &head);  // private until the publication
                        store(t, &head, fresh);
                    });
                }
                item* cut = run(mine, [&](tx& t) {
                    item* const all = load(t, &head);
                    store(t, &head, nullptr);
                    return all;
                });
                while (cut != nullptr) {
                    item* const next = cut->next;
                    cut->value = poison;
                    delete cut;
                    cut = next;
                }
            }
            done = true;
        } else {
            while (!done.load()) {
                run(mine, {.read_only = me == 1, .privatization = privatization::waived}, [&](tx& t) {
                    std::uint64_t last = 4;
                    for (item* i = load(t, &head); i != nullptr; i = load(t, &i->next)) {
                        const std::uint64_t value = load(t, &i->value);
                        seen.expect(value < last);  // 3, 2, 1, 0
                        last = value;
                    }
                });
            }
        }
    });
    EXPECT_EQ(seen.count(), 0);
}

/// A box that one transaction makes private and passes on through a variable, while a straggler still reads it. Each
/// part has a stripe of its own, because a conflict over another part would stop the straggler.
struct handing_over {
    alignas(64) box content;
    alignas(64) box* place = nullptr;
    alignas(64) var<box*> handed;
    alignas(64) std::atomic<bool> inside, used;
    violations torn;
    support::bounded_wait others;

    void again() {
        content = {};
        place = &content;
        handed.store(nullptr);
        inside = used = false;
    }
    void look_for(const std::atomic<bool>& flag) {
        others.wait_for([&] { return flag.load(); });
    }
    void straggle(const flavour& how, bool read_only) {
        run(how, {.read_only = read_only, .privatization = privatization::waived}, [&](tx& t) {
            box* const found = load(t, &place);
            if (found == nullptr) return;
            const std::uint64_t before = load(t, &found->left);
            inside.store(true);
            look_for(used);
            torn.expect(load(t, &found->left) == before);
        });
    }
    void privatize(const flavour& how) {
        look_for(inside);
        run(how, [&](tx& t) {
            handed.set(t, load(t, &place));
            store(t, &place, nullptr);
        });
    }
};

// One transaction makes the box private and passes it to another thread through a variable. That thread uses the box as
// soon as its own read-only transaction is over. Until then it has to wait for a straggler that still reads the box. In
// every other round the straggler has no read log, so it cannot validate before its end.
TEST_P(privatization_race_test, does_not_occur_after_a_hand_over) {
    const std::size_t times = rounds(8);
    handing_over all;
    std::barrier around{3};
    run_threads(3, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        for (std::size_t i = 0; i < times; ++i) {
            if (me == 0) all.again();
            around.arrive_and_wait();
            if (me == 0) {  // the straggler
                all.straggle(mine, i % 2 != 0);
            } else if (me == 1) {
                all.privatize(mine);
            } else {
                box* mine_now = nullptr;
                while (mine_now == nullptr) {
                    mine_now = run(mine, {.read_only = true}, [&](tx& t) { return all.handed.get(t); });
                }
                mine_now->left = 1000;
                all.used.store(true);
            }
            around.arrive_and_wait();
        }
    });
    EXPECT_EQ(all.torn.count(), 0);
}

// A block that makes nothing private overwrites the variable before the receiver's block ends.
TEST_P(privatization_race_test, does_not_occur_after_an_overwritten_hand_over) {
    const std::size_t times = rounds(8);
    handing_over all;
    box other;
    std::atomic<bool> told, overwritten;
    std::barrier around{4};
    run_threads(4, [&](unsigned me) {
        const flavour mine = GetParam().of(me);
        for (std::size_t i = 0; i < times; ++i) {
            if (me == 0) {
                all.again();
                told = overwritten = false;
            }
            around.arrive_and_wait();
            if (me == 0) {  // the straggler
                // The straggler has no log, so that it cannot show the privatizing commit that its reads are current.
                all.straggle(mine, true);
            } else if (me == 1) {
                all.privatize(mine);
            } else if (me == 2) {
                box* mine_now = nullptr;
                while (mine_now == nullptr) {
                    mine_now = run(mine, [&](tx& t) {
                        box* const found = all.handed.get(t);
                        if (found == nullptr) return found;
                        told.store(true);
                        all.look_for(overwritten);
                        return found;
                    });
                }
                mine_now->left = 1000;
                all.used.store(true);
            } else {
                all.look_for(told);
                run(mine, {.privatization = privatization::waived}, [&](tx& t) {
                    if (all.handed.get(t) != nullptr) all.handed.set(t, &other);
                });
                overwritten.store(true);
            }
            around.arrive_and_wait();
        }
    });
    EXPECT_EQ(all.torn.count(), 0);
}

TUTTI_IN_EVERY_FLAVOUR(privatization_race_test);

}  // namespace
}  // namespace tutti::anomalies
