// Operations on several containers in one transaction, and operations that must not conflict.
#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "anomalies/flavour.hpp"
#include "tutti/containers/bounded_queue.hpp"
#include "tutti/containers/broadcast.hpp"
#include "tutti/containers/hash_map.hpp"
#include "tutti/containers/ordered_map.hpp"
#include "tutti/containers/queue.hpp"
#include "tutti/containers/vector.hpp"

namespace tutti::containers {
namespace {

using anomalies::rounds;
using anomalies::run_threads;

class composition : public anomalies::suite {};

/// One container of each kind, with some content.
struct everything {
    everything() {
        atomically([this](tx& t) {
            hashed.insert(t, "one", "1");
            ordered.insert(t, "one", "1");
            line.push(t, "1");
            EXPECT_TRUE(short_line.try_push(t, "1"));
            array.push_back(t, "1");
        });
    }
    /// Makes a change in each container that must be rolled back.
    void change(tx& t) {
        for (const std::string key : {"one", "two", "three"}) {
            hashed.insert_or_assign(t, key, "other");
            ordered.insert_or_assign(t, key, "other");
        }
        hashed.erase(t, "one");
        ordered.erase(t, "one");
        EXPECT_EQ(line.pop(t), "1");
        line.push(t, "other");
        EXPECT_EQ(short_line.pop(t), "1");
        short_line.push(t, "other");
        array.set(t, 0, "other");
        array.push_back(t, "other");
    }
    void expect_unchanged(tx& t) const {
        EXPECT_EQ(hashed.find(t, "one"), "1");
        EXPECT_EQ(hashed.size(t), 1u);
        EXPECT_EQ(ordered.find(t, "one"), "1");
        EXPECT_EQ(ordered.size(t), 1u);
        EXPECT_EQ(line.front(t), "1");
        EXPECT_EQ(line.size(t), 1u);
        EXPECT_EQ(short_line.front(t), "1");
        EXPECT_EQ(short_line.size(t), 1u);
        EXPECT_EQ(array.get(t, 0), "1");
        EXPECT_EQ(array.size(t), 1u);
    }
    void expect_unchanged() const {
        atomically([this](tx& t) { expect_unchanged(t); });
    }

    hash_map<std::string, std::string> hashed;
    ordered_map<std::string, std::string> ordered;
    queue<std::string> line;
    bounded_queue<std::string> short_line{2};
    vector<std::string> array;
};

TEST_F(composition, rolls_back_all_containers_on_an_exception) {
    everything of;
    EXPECT_THROW(atomically([&](tx& t) {
                     of.change(t);
                     throw std::runtime_error{"in the middle"};
                 }),
                 std::runtime_error);
    of.expect_unchanged();
}

TEST_F(composition, rolls_back_a_nested_block_alone) {
    everything of;
    atomically([&](tx& t) {
        EXPECT_FALSE(try_atomically([&](tx& inner) {
            of.change(inner);
            cancel(inner);
        }));
        of.expect_unchanged(t);
        of.array.push_back(t, "2");
    });
    EXPECT_EQ(atomically([&](tx& t) { return of.array.size(t); }), 2u);
    EXPECT_EQ(atomically([&](tx& t) { return of.array.pop_back(t); }), "2");
    of.expect_unchanged();
}

TEST_F(composition, rolls_back_an_alternative_that_waits) {
    everything of;
    queue<int> empty;
    const int which = atomically([&](tx& t) {
        return or_else(
            t,
            [&](tx& u) {
                of.change(u);
                return empty.pop(u);
            },
            [&](tx& u) {
                of.expect_unchanged(u);
                return 2;
            });
    });
    EXPECT_EQ(which, 2);
    of.expect_unchanged();
}

TEST_F(composition, throws_for_missing_elements) {
    everything of;
    EXPECT_THROW(atomically([&](tx& t) { return of.hashed.at(t, "none"); }), std::out_of_range);
    EXPECT_THROW(atomically([&](tx& t) { return of.ordered.at(t, "none"); }), std::out_of_range);
    EXPECT_THROW(atomically([&](tx& t) { return std::string{of.array.at(t, 1)}; }), std::out_of_range);
}

// A consumer sleeps on two queues, and a push into either wakes it. The watchdog reports a lost wake-up.
TEST_F(composition, wakes_an_or_else_over_two_queues) {
    const auto each = static_cast<int>(rounds(2000));
    queue<int> left;
    bounded_queue<int> right{2};
    long sum = 0;
    run_threads(3, [&](unsigned me) {
        if (me == 0) {
            for (int i = 0; i < 2 * each; ++i) {
                sum += atomically([&](tx& t) {
                    return or_else(t, [&](tx& u) { return left.pop(u); }, [&](tx& u) { return right.pop(u); });
                });
            }
            return;
        }
        for (int i = 1; i <= each; ++i) {
            atomically([&](tx& t) {
                if (me == 1) left.push(t, i);
                else right.push(t, i);
            });
        }
    });
    EXPECT_EQ(sum, 2L * each * (each + 1) / 2);
}

// A bounded queue passes on more elements than its capacity, so both ends wait in turn.
TEST_F(composition, wakes_a_push_into_a_full_queue) {
    const auto each = static_cast<int>(rounds(3000));
    bounded_queue<int> first{1}, second{1};
    long sum = 0;
    run_threads(3, [&](unsigned me) {
        for (int i = 1; i <= each; ++i) {
            atomically([&](tx& t) {
                if (me == 0) first.push(t, i);
                if (me == 1) second.push(t, first.pop(t));
            });
            if (me == 2) sum += atomically([&](tx& t) { return second.pop(t); });
        }
    });
    EXPECT_EQ(sum, long{each} * (each + 1) / 2);
}

/// Checks that two operations do not conflict: a block does `first`, and before it commits, another thread does
/// `second` completely. Returns true if the block commits at its first attempt. If the block held data that the other
/// thread needs, neither would end.
template <class First, class Second>
bool pass_each_other(First first, Second second) {
    unsigned attempts = 0;
    atomically([&](tx& t) {
        attempts = t.attempt();
        first(t);
        if (attempts == 1) std::thread{[&] { atomically([&](tx& other) { second(other); }); }}.join();
    });
    return attempts == 1;
}

class independence : public anomalies::suite {
protected:
    void SetUp() override {
        if (!anomalies::concurrent()) GTEST_SKIP() << "one transaction at a time";
        atomically([this](tx& t) {
            for (int i = 0; i < 1000; ++i) {
                hashed.insert(t, i, i);
                ordered.insert(t, i, i);
            }
            for (int i = 0; i < 4; ++i) {
                line.push(t, i);
                short_line.push(t, i);
                array.push_back(t, i);
            }
        });
    }

    hash_map<int, int> hashed;
    ordered_map<int, int> ordered;
    queue<int> line;
    bounded_queue<int> short_line{8};
    vector<int> array;
};

TEST_F(independence, holds_for_the_ends_of_a_queue) {
    EXPECT_TRUE(pass_each_other([&](tx& t) { line.push(t, 9); }, [&](tx& t) { line.pop(t); }));
    EXPECT_TRUE(pass_each_other([&](tx& t) { line.pop(t); }, [&](tx& t) { line.push(t, 9); }));
    EXPECT_TRUE(pass_each_other([&](tx& t) { short_line.push(t, 9); }, [&](tx& t) { short_line.pop(t); }));
    EXPECT_TRUE(pass_each_other([&](tx& t) { short_line.pop(t); }, [&](tx& t) { short_line.push(t, 9); }));
}

TEST_F(independence, holds_for_different_keys_in_a_hash_map) {
    EXPECT_TRUE(pass_each_other([&](tx& t) { hashed.insert(t, 5001, 0); }, [&](tx& t) { hashed.insert(t, 7002, 0); }));
    EXPECT_TRUE(pass_each_other([&](tx& t) { hashed.erase(t, 17); }, [&](tx& t) { hashed.erase(t, 900); }));
    EXPECT_TRUE(pass_each_other([&](tx& t) { hashed.insert_or_assign(t, 100, hashed.at(t, 200)); },
                                [&](tx& t) {
                                    for (int i = 300; i < 600; ++i) hashed.insert_or_assign(t, i, 1);
                                }));
}

TEST_F(independence, holds_for_different_keys_in_an_ordered_map) {
    const auto assign = [&](int key) { return [this, key](tx& t) { ordered.insert_or_assign(t, key, 7); }; };
    EXPECT_TRUE(pass_each_other(assign(500), assign(501)));  // neighbours
    EXPECT_TRUE(pass_each_other([&](tx& t) { ordered.erase(t, 10); }, [&](tx& t) { ordered.erase(t, 990); }));
    EXPECT_TRUE(pass_each_other(
        [&](tx& t) {
            static_cast<void>(ordered.find(t, 100));
            ordered.erase(t, 110);
        },
        [&](tx& t) { ordered.insert(t, 5000, 0); }));
}

TEST_F(independence, holds_for_different_elements_of_a_vector) {
    EXPECT_TRUE(pass_each_other([&](tx& t) { array.set(t, 0, array.get(t, 1)); },
                                [&](tx& t) {
                                    array.set(t, 2, 7);
                                    for (int i = 0; i < 500; ++i) array.push_back(t, i);
                                }));
    EXPECT_TRUE(
        pass_each_other([&](tx& t) { array.push_back(t, 1); }, [&](tx& t) { array.set(t, 3, array.get(t, 2)); }));
}

// A listener that a block makes listens from the commit on. A listener whose block is rolled back never listens.
TEST_F(composition, adds_listeners_when_their_block_commits) {
    using channel = broadcast<int>;
    struct refusal {};
    static channel news;  // outlives the listener, which is destroyed when no transaction can access it any more
    var<channel::listener*> made{nullptr};
    const auto make = [&](tx& t) { made.set(t, create<channel::listener>(t, news)); };
    EXPECT_FALSE(try_atomically([&](tx& t) {
        make(t);
        cancel(t);
    }));
    EXPECT_THROW(atomically([&](tx& t) {
                     make(t);
                     throw refusal{};
                 }),
                 refusal);
    atomically([&](tx& t) {
        EXPECT_FALSE(try_atomically([&](tx& c) {
            make(c);
            cancel(c);
        }));
        EXPECT_EQ(made.get(t), nullptr);
    });
    atomically([&](tx& t) {
        make(t);
        if (t.attempt() == 1) restart(t);
    });
    atomically([&](tx& t) { news.send(t, 5); });
    channel::listener* const listening = made.load();
    EXPECT_EQ(listening->try_receive(), 5);
    EXPECT_EQ(listening->try_receive(), std::nullopt);
    atomically([&](tx& t) { destroy(t, listening); });
}

// A listener that is a local of a body ends before the block commits, or while the block is left.
TEST_F(composition, removes_listeners_that_are_locals) {
    using channel = broadcast<int>;
    struct refusal {};
    channel news;
    channel::listener listening{news};
    const auto block = [&](auto leave) {
        atomically([&](tx& t) {
            channel::listener here{news};
            news.send(t, 1);
            EXPECT_EQ(here.try_receive(t), 1);
            leave(t);
        });
    };
    block([](tx&) {});
    EXPECT_EQ(listening.try_receive(), 1);
    block([](tx& t) {
        if (t.attempt() == 1) restart(t);
    });
    EXPECT_EQ(listening.try_receive(), 1);
    EXPECT_THROW(block([](tx&) { throw refusal{}; }), refusal);
    EXPECT_THROW(block([](tx& t) { cancel(t); }), cancelled);
    EXPECT_EQ(listening.try_receive(), std::nullopt);
}

}  // namespace
}  // namespace tutti::containers
