// Blocks whose objects are all in their own process: the copies of these objects, and their cost.
#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/nodes.hpp"
#include "support/effort.hpp"
#include "support/heap.hpp"
#include "support/watchdog.hpp"

namespace {

using tutti::cluster::node;
using tutti::cluster::ref;
using tutti::cluster::testing::account;
namespace support = tutti::support;

/// The block that wrote `forgotten` sees its value. The archive omits that field, so other blocks do not.
struct forgetful {
    int kept = 0;
    int forgotten = 0;
    std::string name;  // prevents a plain byte copy of the struct
    template <class Archive>
    void serialize(Archive& a) {
        a(kept, name);
    }
};

// The copies reuse the memory of earlier copies.
TEST(fast_path_test, returns_fresh_copies) {
    node here;
    const ref<forgetful> one{here, "one"};
    const ref<account> other{here, "other"};
    tutti::atomically([&](tutti::tx& t) {
        one.publish(t, {1, 1, ""});
        other.publish(t, {7});
    });
    for (int turn = 1; turn < 4; ++turn) {
        tutti::atomically([&](tutti::tx& t) {
            forgetful& mine = one.write(t);
            EXPECT_EQ(mine.kept, turn);
            EXPECT_EQ(mine.forgotten, 0);
            ++mine.kept;
            mine.forgotten = 5;
        });
        // A value of another type reuses the same memory.
        const long found = tutti::atomically([&](tutti::tx& t) { return other.read(t).balance; });
        EXPECT_EQ(found, 7);
    }
}

template <std::size_t Size>
struct filled {
    std::array<char, Size> bytes{};
    static filled with(char c) {
        filled f;
        f.bytes.fill(c);
        return f;
    }
    bool operator==(const filled&) const = default;
};

/// One reference writes the value. Other references read it; some of them have read it before.
template <std::size_t Size>
void write_and_read(node& here) {
    using value = filled<Size>;
    const ref<value> writer{here, "of size " + std::to_string(Size)};
    const ref<value> reader{here, writer.id()};
    for (int life = 0; life < 3; ++life) {
        tutti::atomically([&](tutti::tx& t) { writer.publish(t, value::with('a')); });
        for (char c = 'b'; c < 'f'; ++c) {
            tutti::atomically([&](tutti::tx& t) { writer.write(t) = value::with(c); });
            const ref<value> copy = c % 2 == 0 ? reader : ref<value>{here, writer.id()};
            for (const ref<value>* r : {&reader, &copy})
                EXPECT_EQ(tutti::atomically([&](tutti::tx& t) { return r->read(t); }), value::with(c)) << Size;
        }
        EXPECT_TRUE(tutti::atomically([&](tutti::tx& t) { return writer.erase(t); }));
        EXPECT_TRUE(tutti::atomically([&](tutti::tx& t) { return reader.find(t) == nullptr; }));
    }
}

// Catches a copy that handles only whole words, and a reference that uses the object's old place without a check.
TEST(fast_path_test, reads_back_values_of_every_size) {
    node here;
    write_and_read<1>(here);
    write_and_read<7>(here);
    write_and_read<8>(here);
    write_and_read<12>(here);
    write_and_read<80>(here);
    write_and_read<81>(here);
}

// Catches a value that is copied although another type was expected.
TEST(fast_path_test, checks_the_type_of_copied_objects) {
    node here;
    const ref<filled<8>> one{here, "one"};
    const ref<account> wrong{here, "one"};
    tutti::atomically([&](tutti::tx& t) { one.publish(t, filled<8>::with('a')); });
    const auto look = [&] { return tutti::atomically([&](tutti::tx& t) { return one.read(t); }); };
    for (int turn = 0; turn < 3; ++turn) {
        EXPECT_EQ(look(), filled<8>::with('a'));
        EXPECT_THROW(tutti::atomically([&](tutti::tx& t) { return wrong.read(t).balance; }),
                     tutti::cluster::type_mismatch);
        EXPECT_THROW(tutti::atomically([&](tutti::tx& t) { return one.read(t).bytes[0] + wrong.read(t).balance; }),
                     tutti::cluster::type_mismatch);
    }
}

TEST(fast_path_test, allocates_nothing_for_local_objects) {
    node here;
    const ref<account> from{here, "from"}, to{here, "to"};
    tutti::atomically([&](tutti::tx& t) {
        from.publish(t, {0});
        to.publish(t, {0});
    });
    const auto transfer = [&] {
        tutti::atomically([&](tutti::tx& t) {
            from.write(t).balance -= 1;
            to.write(t).balance += 1;
        });
    };
    const auto look = [&] {
        return tutti::atomically([&](tutti::tx& t) { return from.read(t).balance + to.read(t).balance; });
    };
    for (int turn = 0; turn < 4; ++turn) transfer();
    EXPECT_EQ(look(), 0);
    support::refuse_after = 1;
    for (int turn = 0; turn < 4; ++turn) transfer();
    const long sum = look();
    EXPECT_EQ(std::exchange(support::refuse_after, 0), 1u);
    EXPECT_EQ(sum, 0);
    EXPECT_EQ(tutti::atomically([&](tutti::tx& t) { return to.read(t).balance; }), 8);
}

// ---- attempts that register with the engine only when they do more than open fast-path objects

/// Two fast-path objects of this thread, and further steps that a block may take after it has opened one of them.
struct company {
    company() {
        tutti::atomically([&](tutti::tx& t) {
            one.publish(t, {0});
            other.publish(t, {0});
        });
        for (int turn = 0; turn < 2; ++turn) static_cast<void>(sum());
    }
    long sum() {
        return tutti::atomically([&](tutti::tx& t) { return one.read(t).balance + other.read(t).balance; });
    }

    node here;
    ref<account> one{here, "one"}, other{here, "other"}, missing{here, "missing"};
    tutti::var<long> variable{0};
    std::jthread beside;
};

struct turn_of_events {
    const char* what;
    void (*rest)(company&, tutti::tx&);
    unsigned commits = 1, rolled_back = 0;
    long left = 1;  // what remains of the amount that it added to `one`
};

void run_undo(company& c, tutti::tx& t) {
    t.on_abort([&c] { static_cast<void>(c.sum()); });
    throw std::runtime_error{"undone"};
}

void run_undo_over_two_nodes(company& c, tutti::tx& t) {
    t.on_abort([&c] {
        node there;
        const ref<account> another{there, "another"};
        tutti::atomically([&](tutti::tx& u) { another.publish(u, {0}); });
        static_cast<void>(c.sum());
    });
    throw std::runtime_error{"undone"};
}

const turn_of_events turns[]{
    {"nothing", [](company&, tutti::tx&) {}},
    {"reads_another", [](company& c, tutti::tx& t) { EXPECT_EQ(c.other.read(t).balance, 0); }},
    {"reads_it_again", [](company& c, tutti::tx& t) { EXPECT_EQ(c.one.read(t).balance, 1); }},
    {"reads_a_variable", [](company& c, tutti::tx& t) { EXPECT_EQ(c.variable.get(t), 0); }},
    {"writes_a_variable", [](company& c, tutti::tx& t) { c.variable.set(t, 1); }},
    {"looks_for_what_is_not_there", [](company& c, tutti::tx& t) { EXPECT_EQ(c.missing.find(t), nullptr); }},
    {"publishes", [](company& c, tutti::tx& t) { c.missing.publish(t, {0}); }},
    {"erases", [](company& c, tutti::tx& t) { EXPECT_TRUE(c.other.erase(t)); }},
    {"asks_for_several", [](company& c, tutti::tx& t) { prefetch(t, c.one, c.other, c.missing); }},
    {"nests",
     [](company& c, tutti::tx&) {
         static_cast<void>(tutti::try_atomically([&](tutti::tx& inner) {
             c.one.write(inner).balance = 7;
             tutti::cancel(inner);
         }));
     }},
    {"checks", [](company& c, tutti::tx& t) { tutti::checkpoint(t, [&](tutti::tx& r) { c.other.write(r); }); }},
    {"registers_handlers", [](company&, tutti::tx& t) { t.on_commit([] {}); }},
    {"becomes_irrevocable", [](company&, tutti::tx& t) { t.become_irrevocable(); }},
    {"restarts",
     [](company&, tutti::tx& t) {
         if (t.attempt() == 1) tutti::restart(t);
     },
     1, 1},
    {"waits",
     [](company& c, tutti::tx& t) {
         if (t.attempt() != 1) return;
         static_cast<void>(c.variable.get(t));
         c.beside = std::jthread{[&c] { c.variable.store(1); }};
         tutti::retry(t);
     },
     1, 1},
    {"cancels", [](company&, tutti::tx& t) { tutti::cancel(t); }, 0, 1, 0},
    {"throws", [](company&, tutti::tx&) { throw std::runtime_error{"undone"}; }, 0, 1, 0},
    {"runs_a_block_when_it_is_undone", run_undo, 1, 1, 0},
    {"runs_blocks_over_two_nodes_when_it_is_undone", run_undo_over_two_nodes, 1, 1, 0},
};

class fast_path_schedules_test : public ::testing::TestWithParam<turn_of_events> {};

// Catches an attempt that registers twice or not at all, and an attempt whose writes are lost on the way.
TEST_P(fast_path_schedules_test, behaves_as_an_ordinary_attempt) {
    company c;
    for (int turn = 0; turn < 2; ++turn) {  // the second turn finds the state that the first turn leaves
        tutti::atomically([&](tutti::tx& t) {
            c.one.write(t).balance = 0;
            if (c.missing.find(t) != nullptr) c.missing.erase(t);
            if (c.other.find(t) == nullptr) c.other.publish(t, {0});
            c.variable.set(t, 0);
        });
        static_cast<void>(c.sum());
        const auto before = c.here.status();
        try {
            static_cast<void>(tutti::try_atomically([&](tutti::tx& t) {
                c.one.write(t).balance += 1;
                GetParam().rest(c, t);
            }));
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "undone");
        }
        const auto after = c.here.status();
        const auto sum = [](const auto& all) { return std::accumulate(all.begin(), all.end(), std::uint64_t{0}); };
        EXPECT_EQ(after.commits - before.commits, GetParam().commits);
        EXPECT_EQ(sum(after.rolled_back) - sum(before.rolled_back), GetParam().rolled_back);
        EXPECT_EQ(after.attempts, after.commits + sum(after.rolled_back));
        EXPECT_EQ(tutti::atomically([&](tutti::tx& t) { return c.one.read(t).balance; }), GetParam().left);
    }
}

INSTANTIATE_TEST_SUITE_P(all, fast_path_schedules_test, ::testing::ValuesIn(turns),
                         [](const auto& p) { return std::string{p.param.what}; });

struct overtaking {
    const char* what;
    void (*rest)(company&, tutti::tx&);
    bool moves_variable = false;  // changes the variable as well as the object
    tutti::cluster::rollback_reason why = tutti::cluster::rollback_reason::validation;
};

const overtaking overtakings[]{
    {"reads_a_variable", [](company& c, tutti::tx& t) { static_cast<void>(c.variable.get(t)); }, true},
    {"checks", [](company&, tutti::tx& t) { tutti::checkpoint(t, [](tutti::tx&) {}); }},
    {"becomes_irrevocable", [](company&, tutti::tx& t) { t.become_irrevocable(); }},
    {"writes", [](company& c, tutti::tx& t) { c.one.write(t).balance += 1; }, false,
     tutti::cluster::rollback_reason::prepare_refused},
};

class fast_path_conflict_test : public ::testing::TestWithParam<overtaking> {};

// Catches an attempt that validates its objects before it registers, and is then rolled back needlessly.
TEST_P(fast_path_conflict_test, rolls_back_for_the_same_reason) {
    company c;
    const auto rolled_back = [&] { return c.here.status().rolled_back.at(static_cast<std::size_t>(GetParam().why)); };
    for (unsigned turn = 1; turn < 3; ++turn) {
        tutti::atomically([&](tutti::tx& t) {
            static_cast<void>(c.other.read(t));
            if (t.attempt() == 1) {
                std::jthread{[&] {
                    tutti::atomically([&](tutti::tx& u) {
                        c.other.write(u).balance += 1;
                        if (GetParam().moves_variable) c.variable.set(u, c.variable.get(u) + 1);
                    });
                }};
            }
            GetParam().rest(c, t);
        });
        EXPECT_EQ(rolled_back(), turn);
        for (int again = 0; again < 2; ++again) static_cast<void>(c.sum());
    }
}

INSTANTIATE_TEST_SUITE_P(all, fast_path_conflict_test, ::testing::ValuesIn(overtakings),
                         [](const auto& p) { return std::string{p.param.what}; });

// Catches a block that begins without applying its policy.
TEST(fast_path_test, reserves_objects_of_an_asserting_block) {
    company c;
    const auto reserved = [&] { return c.here.status().reserving_attempts; };
    EXPECT_EQ(reserved(), 0u);
    const auto add = [&](const tutti::options& how) {
        tutti::atomically(how, [&](tutti::tx& t) { c.one.write(t).balance += 1; });
    };
    add({.policy = tutti::policy::aggressive});
    EXPECT_EQ(reserved(), 1u);
    add({});
    EXPECT_EQ(c.sum(), 2);
    EXPECT_EQ(reserved(), 1u);
    const std::string usual{tutti::policy_in_force()};
    tutti::use_policy("aggressive");
    add({});
    tutti::use_policy(usual);
    EXPECT_EQ(reserved(), 2u);
    add({});
    EXPECT_EQ(c.sum(), 4);
    EXPECT_EQ(reserved(), 2u);
}

// Catches a read-only mode that is respected only if the whole block has it.
TEST(fast_path_test, refuses_writes_in_a_read_only_block) {
    company c;
    for (int turn = 0; turn < 2; ++turn) {
        EXPECT_THROW(tutti::atomically({.read_only = true},
                                       [&](tutti::tx& t) { c.one.write(t).balance += c.other.read(t).balance; }),
                     tutti::usage_error);
        EXPECT_THROW(tutti::atomically({.read_only = true},
                                       [&](tutti::tx& t) {
                                           static_cast<void>(c.other.read(t));
                                           c.one.write(t).balance += 1;
                                       }),
                     tutti::usage_error);
        EXPECT_THROW(tutti::atomically([&](tutti::tx& t) {
                         c.one.write(t).balance += 1;
                         tutti::atomically({.read_only = true, .nesting = tutti::nesting::closed},
                                           [&](tutti::tx& inner) { c.one.write(inner).balance += 1; });
                     }),
                     tutti::usage_error);
    }
    EXPECT_EQ(c.sum(), 0);
}

/// Adds to all objects and the variable, in a thread of its own.
void add_to_all(company& c) {
    std::jthread{[&c] {
        tutti::atomically([&](tutti::tx& t) {
            c.one.write(t).balance += 1;
            c.other.write(t).balance += 1;
            c.variable.set(t, c.variable.get(t) + 1);
        });
    }};
}

// Catches a read-only block that does not get a snapshot when its first object is a fast-path object.
TEST(fast_path_test, keeps_the_snapshot_of_a_reading_block) {
    company c;
    for (long turn = 0; turn < 3; ++turn) {
        int runs = 0;
        const long sum = tutti::atomically({.read_only = true}, [&](tutti::tx& t) {
            const long seen = c.one.read(t).balance;
            if (++runs == 1) add_to_all(c);
            return seen + c.other.read(t).balance;
        });
        EXPECT_EQ(sum, 2 * turn);
        EXPECT_EQ(runs, 1);
        static_cast<void>(c.sum());
    }
}

/// Returns true if the version of `one` has changed between a block's read and its commit.
bool changes_one(company& c, const std::function<void()>& beside) {
    unsigned attempts = 0;
    tutti::atomically([&](tutti::tx& t) {
        ++attempts;
        static_cast<void>(c.one.read(t));
        c.missing.find(t) == nullptr ? c.missing.publish(t, {0}) : void(c.missing.write(t).balance += 1);
        if (attempts == 1) std::jthread{beside};
    });
    return attempts != 1;
}

// Catches a place that counts as written because the previous attempt wrote there. Covers a fast-path attempt, an
// attempt that was on the fast path at first, and an attempt that never was.
TEST(fast_path_test, does_not_write_objects_in_reused_entries) {
    company c;
    const auto warm = [&] {  // the thread knows the objects' places, and both kinds of attempt have written there
        for (const bool fast_path : {false, true, false, true}) {
            static_cast<void>(c.sum());
            tutti::atomically([&](tutti::tx& t) {
                if (!fast_path) static_cast<void>(c.variable.get(t) + c.other.read(t).balance);
                c.one.write(t).balance += 1;
            });
        }
    };
    EXPECT_TRUE(changes_one(c, [&] { warm(); }));
    using body = void (*)(company&, tutti::tx&);
    const body bodies[]{
        [](company& d, tutti::tx& t) {
            static_cast<void>(d.one.read(t));
            d.other.write(t).balance += 1;
        },
        [](company& d, tutti::tx& t) {
            static_cast<void>(d.one.read(t));
            d.other.write(t).balance += 1;
            static_cast<void>(d.variable.get(t));
        },
        [](company& d, tutti::tx& t) {
            static_cast<void>(d.variable.get(t));
            d.other.write(t).balance += 1;
            static_cast<void>(d.one.read(t));
        },
    };
    for (const body b : bodies) {
        std::barrier<> together{2};
        std::thread beside{[&] {
            warm();
            together.arrive_and_wait();
            together.arrive_and_wait();
            tutti::atomically([&](tutti::tx& t) { b(c, t); });
            together.arrive_and_wait();
        }};
        together.arrive_and_wait();
        const bool changed = changes_one(c, [&] {
            together.arrive_and_wait();
            together.arrive_and_wait();
        });
        beside.join();
        EXPECT_FALSE(changed);
    }
}

// Catches a nested block whose fast-path objects are not undone with the block.
TEST(fast_path_test, undoes_objects_opened_by_a_nested_block) {
    company c;
    for (int turn = 0; turn < 2; ++turn) {
        tutti::atomically([&](tutti::tx& t) {
            static_cast<void>(tutti::try_atomically([&](tutti::tx& inner) {
                c.one.write(inner).balance = 7;
                tutti::cancel(inner);
            }));
            c.other.write(t).balance += 1;
        });
        EXPECT_EQ(c.sum(), turn + 1);
    }
}

// Catches a block that continues with fast-path objects although it has to start over.
TEST(fast_path_test, opens_nothing_after_a_swallowed_restart) {
    company c;
    bool went_on = false;
    tutti::atomically([&](tutti::tx& t) {
        static_cast<void>(c.one.read(t));
        if (t.attempt() != 1) return;
        try {
            tutti::restart(t);
        } catch (...) {}
        static_cast<void>(c.other.read(t));
        went_on = true;
    });
    EXPECT_FALSE(went_on);
}

// Catches a value of a later moment than the attempt's snapshot.
TEST(fast_path_test, reads_objects_of_one_moment) {
    company c;
    for (long turn = 0; turn < 3; ++turn) {
        tutti::atomically([&](tutti::tx& t) {
            const long seen = c.one.read(t).balance;
            if (t.attempt() == 1) add_to_all(c);
            EXPECT_EQ(c.other.read(t).balance, seen);
        });
        for (int again = 0; again < 2; ++again) static_cast<void>(c.sum());
    }
}

// Opens more objects than an attempt has bits for, and reads, writes and rereads each. Catches an object that is opened
// twice, confused with another, or lost when the places run out.
TEST(fast_path_test, opens_each_object_once) {
    node here;
    std::vector<ref<account>> all;
    for (std::uint64_t i = 0; i < 40; ++i) {
        all.emplace_back(here, tutti::cluster::object_id{0, i});
        tutti::atomically([&](tutti::tx& t) { all.back().publish(t, {0}); });
    }
    for (std::size_t turn = 0; turn < 60; ++turn) {
        const std::size_t count = turn % 20 + 1;
        tutti::atomically([&](tutti::tx& t) {
            for (std::size_t i = 0; i < count; ++i) {
                const ref<account>& r = all[(i * 7 + turn) % all.size()];
                const long before = r.read(t).balance;
                if (i % 2 == 0) r.write(t).balance = before + 1;
                else r.write(t).balance = before - 1;
                EXPECT_EQ(&r.read(t), &r.write(t));
                EXPECT_EQ(r.read(t).balance, before + (i % 2 == 0 ? 1 : -1));
            }
        });
    }
    long sum = 0;
    for (const auto& r : all) sum += tutti::atomically([&](tutti::tx& t) { return r.read(t).balance; });
    EXPECT_EQ(sum, 30);
}

// Catches a value in a place that held another type, and a finished attempt that uses places of other types.
TEST(fast_path_test, reuses_entries_for_other_types) {
    node here;
    const ref<account> one{here, "one"};
    const ref<filled<12>> other{here, "other"};
    tutti::atomically([&](tutti::tx& t) {
        one.publish(t, {1});
        other.publish(t, filled<12>::with('a'));
    });
    for (int turn = 0; turn < 6; ++turn) {
        tutti::atomically([&](tutti::tx& t) {
            if (turn % 2 == 0) {
                EXPECT_EQ(one.read(t).balance, 1);
                EXPECT_EQ(other.read(t), filled<12>::with('a'));
            } else {
                EXPECT_EQ(other.read(t), filled<12>::with('a'));
                EXPECT_EQ(one.read(t).balance, 1);
            }
        });
    }
}

// Catches a block that commits alone over the objects of a node that its attempt does not belong to.
TEST(fast_path_test, separates_objects_of_two_nodes) {
    node here, there;
    const ref<account> one{here, "one"}, other{there, "one"};
    tutti::atomically([&](tutti::tx& t) { one.publish(t, {1}); });
    tutti::atomically([&](tutti::tx& t) { other.publish(t, {10}); });
    for (long turn = 0; turn < 6; ++turn) {
        tutti::atomically([&](tutti::tx& t) { EXPECT_EQ(one.read(t).balance, 1 + turn); });
        tutti::atomically([&](tutti::tx& t) { EXPECT_EQ(other.read(t).balance, 10 - turn); });
        tutti::atomically([&](tutti::tx& t) {
            one.write(t).balance += 1;
            other.write(t).balance -= 1;
            EXPECT_EQ(one.read(t).balance + other.read(t).balance, 11);
        });
    }
}

// Catches an attempt that begins without validating the variables that it has read.
TEST(fast_path_test, reads_variables_and_objects_of_one_moment) {
    company c;
    for (long turn = 0; turn < 3; ++turn) {
        tutti::atomically([&](tutti::tx& t) {
            const long seen = c.variable.get(t);
            if (t.attempt() == 1) add_to_all(c);
            EXPECT_EQ(c.one.read(t).balance, seen);
        });
        static_cast<void>(c.sum());
    }
}

// Blocks over objects alone and blocks with a variable agree. Catches a block that commits alone although it has read a
// variable, or that drops its write of the variable.
TEST(fast_path_test, orders_blocks_with_and_without_variables) {
    const support::watchdog dog{"cluster_local"};
    company c;
    std::atomic<bool> over{false};
    std::atomic<unsigned> skewed{0};
    std::thread beside{[&] {
        while (!over) {
            // The variable is the sum of `one` and `other`.
            const bool is_so = tutti::atomically([&](tutti::tx& t) {
                const long seen = c.one.read(t).balance;
                return seen + c.other.read(t).balance == c.variable.get(t);
            });
            if (!is_so) ++skewed;
        }
    }};
    for (std::size_t turn = 0; turn != support::rounds(3'000); ++turn) {
        tutti::atomically([&](tutti::tx& t) {
            c.one.write(t).balance -= 1;
            c.other.write(t).balance += 1;
        });
        tutti::atomically([&](tutti::tx& t) {
            c.one.write(t).balance += 3;
            c.variable.set(t, c.variable.get(t) + 3);
        });
    }
    over = true;
    beside.join();
    EXPECT_EQ(skewed, 0u);
    EXPECT_EQ(c.sum(), tutti::atomically([&](tutti::tx& t) { return c.variable.get(t); }));
}

// The first execution finds out that the block's reads have to be logged.
TEST(fast_path_test, restarts_a_reading_block_once_to_log) {
    node here;
    const ref<account> one{here, "one"};
    tutti::atomically([&](tutti::tx& t) { one.publish(t, {3}); });
    int runs = 0;
    for (int turn = 0; turn < 4; ++turn) {
        const long found = tutti::atomically({.read_only = true}, [&](tutti::tx& t) {
            ++runs;
            return one.read(t).balance;
        });
        EXPECT_EQ(found, 3);
    }
    EXPECT_EQ(runs, 5);
}

/// A commit that writes this value calls `encoding` first. At that point the engine has drawn a version for the block's
/// variables, and the commit has not yet locked any object.
struct watched {
    int value = 0;
    std::string name;  // prevents a plain byte copy of the struct
    static inline thread_local std::function<void()> encoding;
    template <class Archive>
    void serialize(Archive& a) {
        if (encoding) std::exchange(encoding, nullptr)();
        a(value, name);
    }
};

struct yes final : tutti::participant {
    tutti::vote prepare() override { return tutti::vote::commit; }
    void commit() noexcept override {}
    void abort() noexcept override {}
};

class fast_path_vote_test : public ::testing::TestWithParam<bool> {};

// Catches a commit that publishes variables at the version drawn before the vote. A block that began after that draw
// finds the variables in its snapshot, and does not learn that its objects are older.
TEST_P(fast_path_vote_test, shows_variables_and_objects_together) {
    const support::watchdog dog{"cluster_local_vote"};
    node here;
    const ref<watched> object{here, "object"};
    tutti::var<int> variable{0};
    tutti::atomically([&](tutti::tx& t) { object.publish(t, {}); });
    yes beside;
    std::atomic<bool> has_read{false}, is_over{false};
    int seen_first = -1, seen_then = -1;
    std::thread reader;
    tutti::atomically([&](tutti::tx& t) {
        if (GetParam()) t.join(beside);
        variable.set(t, 1);
        object.write(t).value = 1;
        watched::encoding = [&] {
            reader = std::thread{[&] {
                tutti::atomically([&](tutti::tx& r) {
                    seen_first = object.read(r).value;
                    has_read = true;
                    while (!is_over) std::this_thread::yield();
                    seen_then = variable.get(r);
                    EXPECT_EQ(seen_first, seen_then);
                });
            }};
            while (!has_read) std::this_thread::yield();
        };
    });
    is_over = true;
    reader.join();
    EXPECT_EQ(seen_first, 1);
    EXPECT_EQ(seen_then, 1);
}

INSTANTIATE_TEST_SUITE_P(all, fast_path_vote_test, ::testing::Bool(),
                         [](const auto& p) { return std::string{p.param ? "beside_another" : "alone"}; });

}  // namespace
