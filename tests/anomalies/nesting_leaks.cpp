// Nesting leaks: an effect of a nested block outlives its roll-back, or the roll-back also undoes effects of the
// parent. Cancel, exception and restart must each leave the parent as it was.
//
// Catches a savepoint that does not restore earlier writes of the parent, and one that restores whole words over
// neighbours. Catches a savepoint that drops the child's read log, although its reads decided the parent's next steps.
// Catches a savepoint that skips memory that is written without a lock because the parent made it.
#include "anomalies/flavour.hpp"

namespace tutti::anomalies {
namespace {

struct refusal {};

class nesting_leaks_test : public suite_of_flavours {
protected:
    /// The ways out of a nested block, each of which rolls it back. After a restart the block runs again, and then
    /// leaves by cancel.
    enum class way { cancel, exception, restart };

    template <class F>
    void ruin(way out, F body) {
        unsigned runs = 0;
        const auto block = [&](tx& t) {
            ++runs;
            body(t);
            if (out == way::exception) throw refusal{};
            if (out == way::restart && runs == 1) tutti::restart(t);
            tutti::cancel(t);
        };
        if (out == way::exception) {
            EXPECT_THROW(atomically(block), refusal);
        } else {
            EXPECT_FALSE(try_atomically(block));
            EXPECT_EQ(runs, out == way::restart ? 2u : 1u);
        }
    }
    template <class F>
    void in_every_way(F body) {
        body(way::cancel);
        body(way::exception);
        if (GetParam().mode != mode::irrevocable) body(way::restart);  // a restart is a usage error there
    }
};

TEST_P(nesting_leaks_test, do_not_occur_for_writes) {
    in_every_way([&](way out) {
        var<long> before{1}, untouched{2}, inner_only{3};
        run(unwinding(), [&](tx& t) {
            before.set(t, 10);
            ruin(out, [&](tx& c) {
                EXPECT_EQ(before.get(c), 10);
                before.set(c, 11);
                inner_only.set(c, 33);
                before.set(c, 12);
                EXPECT_EQ(before.get(c), 12);
            });
            EXPECT_EQ(before.get(t), 10);
            EXPECT_EQ(inner_only.get(t), 3);
            inner_only.set(t, inner_only.get(t) + 1);
        });
        EXPECT_EQ(before.load(), 10);
        EXPECT_EQ(untouched.load(), 2);
        EXPECT_EQ(inner_only.load(), 4);
    });
}

// The orec of the rolled-back child must be free again: another transaction can write it, before and after the parent
// ends.
TEST_P(nesting_leaks_test, do_not_occur_for_ownership) {
    in_every_way([&](way out) {
        var<long> owned{0};
        run(unwinding(), [&](tx&) { ruin(out, [&](tx& c) { owned.set(c, 1); }); });
        run_threads(2, [&](unsigned) { atomically([&](tx& t) { owned.set(t, owned.get(t) + 1); }); });
        EXPECT_EQ(owned.load(), 2);
    });
}

TEST_P(nesting_leaks_test, do_not_occur_three_deep) {
    in_every_way([&](way out) {
        std::array<var<int>, 4> v{};
        const auto bump = [&](tx& t, std::size_t upto, int value) {
            for (std::size_t i = 0; i <= upto; ++i) v[i].set(t, value);
        };
        run(unwinding(), [&](tx& t) {
            bump(t, 3, 1);
            atomically([&](tx& a) {
                bump(a, 2, 2);
                ruin(out, [&](tx& b) {
                    bump(b, 1, 3);
                    ruin(out, [&](tx& c) { bump(c, 3, 4); });
                    EXPECT_EQ(v[0].get(b), 3);
                    EXPECT_EQ(v[2].get(b), 2);
                    EXPECT_EQ(v[3].get(b), 1);
                });
                EXPECT_EQ(v[0].get(a), 2);
                atomically([&](tx& b) { v[0].set(b, v[0].get(b) + 5); });
            });
        });
        EXPECT_EQ(v[0].load(), 7);
        EXPECT_EQ(v[1].load(), 2);
        EXPECT_EQ(v[2].load(), 2);
        EXPECT_EQ(v[3].load(), 1);
    });
}

// Widths of 1, 2, 4 and 8 bytes within one word, written by parent and child in every combination.
TEST_P(nesting_leaks_test, do_not_occur_for_plain_words) {
    union words {
        std::uint64_t full;
        std::uint32_t halves[2];
        std::uint16_t quarters[4];
        std::uint8_t bytes[8];
    };
    in_every_way([&](way out) {
        alignas(8) words w{.full = 0x8877665544332211};
        run(unwinding(), [&](tx& t) {
            store(t, &w.bytes[0], 0xa0);
            store(t, &w.quarters[2], 0xc4c4);
            ruin(out, [&](tx& c) {
                store(c, &w.bytes[1], 0xb1);
                store(c, &w.bytes[0], 0xb0);
                store(c, &w.halves[1], 0xd1d1d1d1);
                EXPECT_EQ(load(c, &w.full), 0xd1d1d1d14433b1b0);
                store(c, &w.full, 0);
                store(c, &w.bytes[7], 0xff);
                EXPECT_EQ(load(c, &w.halves[1]), 0xff000000);
            });
            EXPECT_EQ(load(t, &w.full), 0x8877c4c4443322a0);
            EXPECT_EQ(load(t, &w.bytes[1]), 0x22);
            EXPECT_EQ(load(t, &w.quarters[3]), 0x8877);
            store(t, &w.bytes[6], 0x07);
        });
        EXPECT_EQ(w.full, 0x8807c4c4443322a0);
    });
}

// Memory that the parent made is written without locks. The child's writes to it are still rolled back.
TEST_P(nesting_leaks_test, do_not_occur_for_the_parents_new_objects) {
    struct object {
        var<long> a{1};
        var<std::string> s{"one"};
        std::uint64_t plain = 1;
    };
    in_every_way([&](way out) {
        var<object*> made{nullptr};
        run(unwinding(), [&](tx& t) {
            auto* const o = create<object>(t);
            o->a.set(t, 2);
            store(t, &o->plain, 2);
            ruin(out, [&](tx& c) {
                o->a.set(c, 3);
                o->s.set(c, "three");
                store(c, &o->plain, 3);
            });
            EXPECT_EQ(o->a.get(t), 2);
            EXPECT_EQ(o->s.get(t), "one");
            EXPECT_EQ(load(t, &o->plain), 2u);
            made.set(t, o);
        });
        object* const o = made.load();
        EXPECT_EQ(o->a.load(), 2);
        EXPECT_EQ(o->s.load(), "one");
        EXPECT_EQ(o->plain, 2u);
        delete o;
    });
}

TEST_P(nesting_leaks_test, do_not_occur_behind_nodes) {
    in_every_way([&](way out) {
        var<std::string> text{"old"};
        run(unwinding(), [&](tx& t) {
            text.set(t, "parent");
            const std::string& kept = text.get(t);
            ruin(out, [&](tx& c) {
                text.set(c, "child");
                text.set(c, "child again");
                EXPECT_EQ(text.get(c), "child again");
            });
            EXPECT_EQ(kept, "parent");
            EXPECT_EQ(text.get(t), "parent");
        });
        EXPECT_EQ(text.load(), "parent");
    });
}

TEST_P(nesting_leaks_test, do_not_occur_for_objects) {
    struct counted {
        explicit counted(int* n) : alive{n} { ++*alive; }
        ~counted() { --*alive; }
        int* alive;
    };
    in_every_way([&](way out) {
        int alive = 0;
        counted kept{&alive};
        auto* const doomed = new counted{&alive};
        const flavour how = unwinding();
        run(how, [&](tx&) {
            ruin(out, [&](tx& c) {
                (void)create<counted>(c, &alive);
                destroy(c, doomed);
            });
            // A strict attempt destroys objects when it has ended.
            if (how.mode == mode::optimistic || one_at_a_time()) {
                EXPECT_EQ(alive, 2);
            }
        });
        EXPECT_EQ(alive, 2);
        delete doomed;
    });
}

TEST_P(nesting_leaks_test, do_not_occur_for_handlers) {
    in_every_way([&](way out) {
        std::string trace;
        run(unwinding(), [&](tx& t) {
            t.on_commit([&] { trace += 'C'; });
            ruin(out, [&](tx& c) {
                c.before_commit([&] { trace += '1'; });
                c.at_commit([&] { trace += '2'; });
                c.on_commit([&] { trace += '3'; });
                c.on_abort([&] { trace += 'a'; });
            });
            EXPECT_EQ(trace, out == way::restart ? "aa" : "a");
            atomically([&](tx& c) { c.on_commit([&] { trace += 'c'; }); });
        });
        EXPECT_EQ(trace, out == way::restart ? "aaCc" : "aCc");
    });
}

// A flat block is rolled back together with its parent.
TEST_P(nesting_leaks_test, do_not_occur_for_flat_blocks) {
    var<int> v{0};
    EXPECT_THROW(run(unwinding(),
                     [&](tx& t) {
                         v.set(t, 1);
                         atomically({.nesting = nesting::flat}, [&](tx& c) {
                             v.set(c, 2);
                             cancel(c);
                         });
                     }),
                 cancelled);
    EXPECT_EQ(v.load(), 0);
}

TUTTI_IN_EVERY_FLAVOUR(nesting_leaks_test);

// The reads of an aborted child still count, because the parent knows the child's outcome. Another thread changes the
// read variable. The parent must therefore run again, and come to the other result.
TEST(nesting_reads_test, validate_reads_of_an_aborted_child) {
    if (!concurrent()) GTEST_SKIP() << "needs two transactions at once";
    support::watchdog guard{"nesting_reads_test"};
    var<int> condition{0}, verdict{-1};
    unsigned attempts = 0;
    atomically([&](tx& t) {
        ++attempts;
        int seen = -1;
        (void)try_atomically([&](tx& c) {
            seen = condition.get(c);
            cancel(c);
        });
        if (attempts == 1) std::jthread{[&] { condition.store(1); }}.join();
        verdict.set(t, seen);
    });
    EXPECT_EQ(verdict.load(), 1);
    EXPECT_EQ(attempts, 2u);
}

// The child's write took the orec of a stripe, and under that orec the child read a word that it had not written. The
// orec is free again when the parent continues, but the read must still count.
TEST(nesting_reads_test, validate_reads_beside_undone_writes_of_a_child) {
    if (!concurrent()) GTEST_SKIP() << "needs two transactions at once";
    support::watchdog guard{"nesting_reads_test"};
    constexpr options impatient{.privatization = privatization::waived};  // the parent waits for the other thread
    alignas(32) std::uint64_t words[4] = {};
    var<int> changed{0};
    unsigned attempts = 0;
    atomically(impatient, [&](tx& t) {
        ++attempts;
        std::uint64_t seen = 0;
        (void)try_atomically([&](tx& c) {
            store(c, &words[0], 1u);
            seen = load(c, &words[1]);
            cancel(c);
        });
        if (attempts == 1) {
            std::jthread{[&] {
                atomically(impatient, [&](tx& other) {
                    store(other, &words[1], 1u);
                    changed.set(other, 1);
                });
            }}.join();
        }
        EXPECT_EQ(changed.get(t), static_cast<int>(seen));
    });
    EXPECT_EQ(attempts, 2u);
}

}  // namespace
}  // namespace tutti::anomalies
