// Objects that a nested block makes and rolls back, and whose destructors use variables: containers, and types that run
// a block in the destructor.
//
// Catches a roll-back of a nested block that runs destructors before the block around it can be used again. Catches a
// conflict that leaves a destructor, and a roll-back that frees memory which the read log names.
#include <memory>
#include <string>

#include "anomalies/partial_roll_back.hpp"
#include "tutti/containers/bounded_queue.hpp"
#include "tutti/containers/broadcast.hpp"
#include "tutti/containers/hash_map.hpp"
#include "tutti/containers/ordered_map.hpp"
#include "tutti/containers/priority_queue.hpp"
#include "tutti/containers/queue.hpp"
#include "tutti/containers/vector.hpp"

namespace tutti::anomalies {
namespace {

struct taken_back {};

/// Subtracts one from a variable in its destructor, in one of the ways in which a destructor may run a block.
struct counting {
    enum class way { block, cancelled_block, failing_block, single_accesses };
    var<long>* count;
    way how;
    counting(var<long>& of, way w) : count{&of}, how{w} {}
    counting(const counting&) = delete;
    counting& operator=(const counting&) = delete;
    ~counting() {
        const auto take_one = [this](tx& t) { count->set(t, count->get(t) - 1); };
        switch (how) {
            case way::block: atomically(take_one); break;
            case way::cancelled_block:
                (void)try_atomically([&](tx& t) {
                    take_one(t);
                    cancel(t);
                });
                break;
            case way::failing_block:
                try {
                    atomically([&](tx& t) {
                        take_one(t);
                        throw taken_back{};
                    });
                } catch (const taken_back&) {}
                break;
            case way::single_accesses: count->store(count->load() - 1); break;
        }
    }
    [[nodiscard]] static bool takes(way w) { return w == way::block || w == way::single_accesses; }
    static constexpr way all[] = {way::block, way::cancelled_block, way::failing_block, way::single_accesses};
};

class nested_objects_test : public suite_of_flavours {
protected:
    /// Runs `body` as a nested block that is rolled back by a cancel, by an exception, or for an alternative.
    template <class F>
    static void take_back(tx& t, unsigned how, var<int>& read, F body) {
        switch (how) {
            case 0:
                EXPECT_FALSE(try_atomically([&](tx& c) {
                    body(c);
                    cancel(c);
                }));
                break;
            case 1:
                EXPECT_THROW(atomically([&](tx& c) {
                                 body(c);
                                 throw taken_back{};
                             }),
                             taken_back);
                break;
            default:
                or_else(
                    t,
                    [&](tx& c) {
                        (void)read.get(c);
                        body(c);
                        retry(c);
                    },
                    [](tx&) {});
        }
    }
    /// Returns the number of ways in which `body` can be rolled back. An irrevocable block has fewer ways, because it
    /// cannot retry.
    static unsigned ways() { return GetParam().mode == mode::irrevocable ? 2 : 3; }
    /// Returns a flavour for a single thread, so that every block commits immediately.
    static flavour once() { return GetParam().of(0).unwinding(); }
};

TEST_P(nested_objects_test, run_blocks_in_their_destructors) {
    for (const auto way : counting::all) {
        for (unsigned how = 0; how < ways(); ++how) {
            for (const bool reads : {false, true}) {
                for (const bool parent_writes : {false, true}) {
                    var<long> count{10};
                    var<int> other{0};
                    run(once(), [&](tx& t) {
                        if (parent_writes) count.set(t, 10);
                        take_back(t, how, other, [&](tx& c) {
                            (void)create<counting>(c, count, way);
                            if (reads) (void)other.get(c);
                        });
                        other.set(t, 1);
                    });
                    EXPECT_EQ(count.load(), counting::takes(way) ? 9 : 10) << how << reads << parent_writes;
                    EXPECT_EQ(other.load(), 1);
                }
            }
        }
    }
}

TEST_P(nested_objects_test, may_be_containers) {
    for (unsigned how = 0; how < ways(); ++how) {
        for (const bool filled : {false, true}) {
            var<int> other{0};
            const auto in_nested = [&](auto make) {
                run(once(), [&](tx& t) {
                    take_back(t, how, other, [&](tx& c) { make(c); });
                    other.set(t, other.get(t) + 1);
                });
            };
            in_nested([&](tx& c) {
                auto* const made = create<hash_map<long, std::string>>(c);
                if (filled) made->insert(c, 1, "a text that is too long to be kept in the string");
            });
            in_nested([&](tx& c) {
                auto* const made = create<ordered_map<std::string, long>>(c);
                if (filled) made->insert(c, "a text that is too long to be kept in the string", 1);
            });
            in_nested([&](tx& c) {
                auto* const made = create<tutti::vector<std::string>>(c);
                if (filled) made->push_back(c, "one");
            });
            in_nested([&](tx& c) {
                auto* const made = create<tutti::queue<long>>(c);
                if (filled) made->push(c, 1);
            });
            in_nested([&](tx& c) {
                auto* const made = create<bounded_queue<long>>(c, 4u);
                if (filled) made->push(c, 1);
            });
            in_nested([&](tx& c) {
                auto* const made = create<tutti::priority_queue<long>>(c);
                if (filled) made->push(c, 1);
            });
            in_nested([&](tx& c) {
                auto* const made = create<broadcast<long>>(c);
                if (filled) made->send(c, 1);
            });
            // The engine does not know the memory of these variables, which `new` and make_shared allocate.
            in_nested([&](tx& c) {
                auto* const made = create<std::unique_ptr<tutti::queue<long>>>(c, new tutti::queue<long>);
                if (filled) (*made)->push(c, 1);
            });
            in_nested([&](tx& c) {
                auto* const made = create<var<std::shared_ptr<var<long>>>>(c);
                made->set(c, std::make_shared<var<long>>(1));
                if (filled) made->get(c)->set(c, made->get(c)->get(c) + 1);
            });
            EXPECT_EQ(other.load(), 9);
        }
    }
}

// The destructor's effects in the parent are rolled back with the parent. A strict attempt destroys objects when it has
// ended.
TEST_P(nested_objects_test, are_destroyed_and_restored_with_the_parent) {
    var<long> count{10};
    const mode m = once().mode;
    const bool at_once = m == mode::optimistic || one_at_a_time();
    EXPECT_FALSE(try_atomically({.mode = m}, [&](tx& t) {
        EXPECT_FALSE(try_atomically([&](tx& c) {
            (void)create<counting>(c, count, counting::way::block);
            cancel(c);
        }));
        EXPECT_EQ(count.get(t), at_once ? 9 : 10);
        cancel(t);
    }));
    EXPECT_EQ(count.load(), at_once ? 10 : 9);
}

TUTTI_IN_EVERY_FLAVOUR(nested_objects_test);

// A conflict, and not a cancel, rolls back the nested block alone, together with the container that it has made.
TEST_F(partial_roll_back_test, restores_containers) {
    var<tutti::queue<long>*> inbox{nullptr};
    atomically([&](tx& t) {
        ++before;
        own.set(t, 1);
        checkpoint(t, [&](tx& c) {
            ++after;
            auto* const fresh = create<tutti::queue<long>>(c);
            fresh->push(c, after);
            inbox.set(c, fresh);
            (void)create<broadcast<int>>(c);
            (void)late.get(c);
            if (after == 1) overtake(late);
            (void)notice(c);
        });
    });
    EXPECT_EQ(before, 1);
    EXPECT_EQ(after, 2);
    EXPECT_EQ(inbox.load()->try_pop(), 2);
    delete inbox.load();
}

// The destructor reads a variable that another transaction changes meanwhile. The conflict cannot leave the destructor.
// The attempt is therefore doomed, and runs again when the destructor has returned.
TEST_F(partial_roll_back_test, lets_no_conflict_leave_a_destructor) {
    struct noticing {
        partial_roll_back_test_lets_no_conflict_leave_a_destructor_Test* test;
        ~noticing() {
            if (test->before == 1) test->overtake(test->early);
            atomically([this](tx& t) {
                (void)test->notice(t);
                test->own.set(t, test->own.get(t) + 1);
            });
        }
    };
    atomically([&](tx& t) {
        ++before;
        (void)early.get(t);
        EXPECT_FALSE(try_atomically([&](tx& c) {
            (void)create<noticing>(c, this);
            cancel(c);
        }));
        own.set(t, own.get(t) + 10);
    });
    EXPECT_EQ(before, 2);
    EXPECT_EQ(own.load(), 11);
}

}  // namespace
}  // namespace tutti::anomalies
