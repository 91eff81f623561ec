// Partial roll-back over objects: which blocks run again, and what each run sees. The tests provoke conflicts at a
// known point, as in tests/anomalies/partial_roll_back.hpp: another thread commits in the middle of a run.
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/ordering/fault_injection.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using cluster::fault;
using cluster::node;
using cluster::node_options;
using cluster::ref;

enum class kind : std::uint8_t { nested, checkpointed };

/// Runs `body` as a nested or checkpointed block inside that of t.
template <class F>
void run_inside(kind how, tx& t, F&& body) {
    if (how == kind::checkpointed) checkpoint(t, body);
    else atomically(body);
}

template <class F>
void elsewhere(F&& f) {
    std::jthread{std::forward<F>(f)}.join();
}

/// The objects, which one thread sees through the first node, and its opponent through the last one.
class setting {
public:
    explicit setting(unsigned nodes) {
        static std::atomic<unsigned> clusters{0};
        node_options how;
        const std::string prefix = "unix:" + ::testing::TempDir() + "tutti-partial-" + std::to_string(::getpid()) +
                                   "-" + std::to_string(clusters.fetch_add(1)) + "-";
        for (unsigned i = 0; nodes > 1 && i < nodes; ++i) how.addresses.push_back(prefix + std::to_string(i));
        how.failure_timeout = std::chrono::seconds{30};
        nodes_.resize(nodes);
        std::vector<std::jthread> starters;
        for (unsigned i = 0; i < nodes; ++i) {
            starters.emplace_back([this, how, i]() mutable {
                how.node_number = i;
                nodes_[i] = std::make_unique<node>(how);
            });
        }
        starters.clear();
        for (std::uint64_t i = 0; i < objects; ++i) atomically([&](tx& t) { mine(i).publish(t, 0); });
        rollbacks_before_ = nodes_.front()->statistics().partial_rollbacks;
        aborts_before_ = nodes_.front()->statistics().aborts;
    }

    static constexpr std::uint64_t objects = 40;
    [[nodiscard]] ref<long> mine(std::uint64_t i) const { return {*nodes_.front(), {1, i}}; }
    [[nodiscard]] ref<long> theirs(std::uint64_t i) const { return {*nodes_.back(), {1, i}}; }
    /// Adds one to each of these objects in one transaction of another thread.
    void overtake(const std::vector<std::uint64_t>& those) const {
        elsewhere([&] {
            atomically([&](tx& t) {
                for (const std::uint64_t i : those) theirs(i).write(t) += 1;
            });
        });
    }
    [[nodiscard]] long now(std::uint64_t i) const {
        return atomically([&](tx& t) { return mine(i).read(t); });
    }
    [[nodiscard]] std::uint64_t partial_rollbacks() const {
        return nodes_.front()->statistics().partial_rollbacks - rollbacks_before_;
    }
    [[nodiscard]] std::uint64_t aborts() const { return nodes_.front()->statistics().aborts - aborts_before_; }

private:
    std::vector<std::unique_ptr<node>> nodes_;
    std::uint64_t rollbacks_before_ = 0, aborts_before_ = 0;
};

// Names of the objects in the programs below.
constexpr std::uint64_t early = 0, late = 1, newest = 2, own = 3;

struct runs {
    int outer = 0, inner = 0;
    bool consistent = true;  // in every run, including those that were rolled back
    friend bool operator==(const runs&, const runs&) = default;
};

/// The outer block reads `early`. The inner block reads `late`, lets another thread commit `changed` and `newest` in
/// its first run, and then reads `newest`.
runs conflict_over(setting& s, kind how, std::uint64_t changed) {
    runs seen;
    const long ahead = s.now(newest) - s.now(changed);
    atomically([&](tx& t) {
        ++seen.outer;
        const long first = s.mine(early).read(t);
        s.mine(own).write(t) = first + 10;
        run_inside(how, t, [&](tx& c) {
            ++seen.inner;
            const long second = s.mine(late).read(c);
            if (seen.inner == 1) s.overtake({changed, newest});
            const long third = s.mine(newest).read(c);
            seen.consistent = seen.consistent && third - ahead == (changed == early ? first : second);
        });
    });
    return seen;
}

class cluster_partial_rollback : public ::testing::TestWithParam<unsigned> {
protected:
    support::watchdog guard_{"cluster_partial"};
    setting s{GetParam()};
};

TEST_P(cluster_partial_rollback, repeats_only_the_inner_block) {
    for (const kind how : {kind::nested, kind::checkpointed}) {
        EXPECT_EQ(conflict_over(s, how, late), (runs{1, 2, true}));
    }
    EXPECT_EQ(s.partial_rollbacks(), 2u);
    EXPECT_EQ(s.aborts(), 0u);
}

// Catches a stale read of the outer block that is not noticed.
TEST_P(cluster_partial_rollback, repeats_all_if_outer_reads_are_stale) {
    for (const kind how : {kind::nested, kind::checkpointed})
        EXPECT_EQ(conflict_over(s, how, early), (runs{2, 2, true}));
    EXPECT_EQ(s.partial_rollbacks(), 0u);
    EXPECT_EQ(s.aborts(), 2u);
}

// No object is opened after the change. A nested block does not validate at its end, so the conflict shows only after
// the nested block has ended.
TEST_P(cluster_partial_rollback, happens_at_the_end_of_a_checkpoint) {
    for (const kind how : {kind::nested, kind::checkpointed}) {
        runs seen;
        atomically([&](tx& t) {
            ++seen.outer;
            (void)s.mine(early).read(t);
            run_inside(how, t, [&](tx& c) {
                ++seen.inner;
                const long found = s.mine(late).read(c);
                if (seen.inner == 1) s.overtake({late});
                s.mine(own).write(c) = found;
            });
        });
        EXPECT_EQ(seen, (how == kind::checkpointed ? runs{1, 2} : runs{2, 2}));
        EXPECT_EQ(s.now(own), s.now(late));
    }
}

// Catches a copy of the outer block that keeps the writes of the inner block, and an object that only the inner block
// wrote.
TEST_P(cluster_partial_rollback, restores_values_of_the_outer_block) {
    int inner = 0;
    atomically([&](tx& t) {
        s.mine(own).write(t) = 5;
        (void)s.mine(early).read(t);
        checkpoint(t, [&](tx& c) {
            EXPECT_EQ(s.mine(own).read(c), 5);
            (void)s.mine(late).read(c);
            s.mine(own).write(c) += 1;
            if (++inner == 1) {
                s.mine(early).write(c) = 77;
                s.mine(late).write(c) = 77;
                EXPECT_TRUE(s.mine(own).erase(c));
                s.mine(own).publish(c, 9);
                s.overtake({late, newest});
            }
            (void)s.mine(newest).read(c);
        });
    });
    EXPECT_EQ(inner, 2);
    EXPECT_EQ(s.now(own), 6);
    EXPECT_EQ(s.now(early), 0);
    EXPECT_EQ(s.now(late), 1);
}

// Every level opens an object of its own. For each level in turn, the innermost block finds that level's object
// changed.
TEST_P(cluster_partial_rollback, targets_the_right_nested_block) {
    constexpr std::size_t levels = 5;
    for (std::size_t changed = 0; changed < levels; ++changed) {
        std::array<int, levels> count{};
        const auto descend = [&](auto& self, tx& t, std::size_t level) -> void {
            ++count[level];
            (void)s.mine(10 + level).read(t);
            if (level + 1 < levels) return checkpoint(t, [&](tx& c) { self(self, c, level + 1); });
            if (count[level] == 1) s.overtake({10 + changed, newest});
            (void)s.mine(newest).read(t);
        };
        atomically([&](tx& t) { descend(descend, t, 0); });
        for (std::size_t level = 0; level < levels; ++level) {
            EXPECT_EQ(count[level], level < changed ? 1 : 2) << "level " << level << ", changed " << changed;
        }
    }
}

// The reads of a nested block decide what its parent does next, even if the nested block has ended or was rolled back.
TEST_P(cluster_partial_rollback, does_not_target_an_ended_block) {
    for (const bool cancelled_first : {false, true}) {
        runs seen;
        atomically([&](tx&) {
            ++seen.outer;
            (void)try_atomically([&](tx& c) {
                (void)s.mine(late).read(c);
                if (cancelled_first) cancel(c);
            });
            atomically([&](tx& c) {
                ++seen.inner;
                (void)s.mine(early).read(c);
                if (seen.inner == 1) s.overtake({late, newest});
                (void)s.mine(newest).read(c);
            });
        });
        EXPECT_EQ(seen, (runs{2, 2})) << cancelled_first;
    }
}

// Opens more objects than a linear search covers, in several steps, some of them together.
TEST_P(cluster_partial_rollback, drops_only_later_objects) {
    runs seen;
    std::array<const long*, 12> before{};
    atomically([&](tx& t) {
        ++seen.outer;
        std::vector<ref<long>> some;
        for (std::uint64_t i = 10; i < 22; ++i) some.push_back(s.mine(i));
        prefetch(t, some);
        for (std::uint64_t i = 10; i < 16; ++i) before[i - 10] = s.mine(i).find(t);
        checkpoint(t, [&](tx& c) {
            ++seen.inner;
            std::vector<ref<long>> others{s.mine(early)};
            for (std::uint64_t i = 20; i < 32; ++i) others.push_back(s.mine(i));
            prefetch(c, others);
            const long found = s.mine(25).read(c);
            s.mine(16).write(c) = found;  // opened by the outer block, first used here
            s.mine(26).write(c) = found;
            if (seen.inner == 1) s.overtake({25, 31, newest});
            seen.consistent = seen.consistent && s.mine(newest).read(c) == found;
            for (std::uint64_t i = 10; i < 16; ++i) EXPECT_EQ(s.mine(i).find(c), before[i - 10]);
            EXPECT_EQ(s.mine(31).read(c), found);
        });
    });
    EXPECT_EQ(seen, (runs{1, 2, true}));
    EXPECT_EQ(s.now(16), 1);
    EXPECT_EQ(s.now(26), 1);
}

// The part that a partial roll-back keeps may be the cause of every conflict. After 64 partial roll-backs, the whole
// transaction therefore starts over.
TEST_P(cluster_partial_rollback, is_bounded) {
    runs seen;
    atomically([&](tx& t) {
        ++seen.outer;
        (void)s.mine(early).read(t);
        checkpoint(t, [&](tx& c) {
            ++seen.inner;
            (void)s.mine(late).read(c);
            if (seen.outer == 1) s.overtake({late, newest});
            (void)s.mine(newest).read(c);
        });
    });
    EXPECT_EQ(seen, (runs{2, 64 + 1 + 1}));
    EXPECT_EQ(s.partial_rollbacks(), 64u);
    EXPECT_EQ(s.aborts(), 1u);
}

// ---- with variables

/// Adds one to each of these variables and objects in one transaction of another thread.
void overtake(setting& s, const std::vector<var<long>*>& variables, const std::vector<std::uint64_t>& objects) {
    elsewhere([&] {
        atomically([&](tx& t) {
            for (var<long>* v : variables) v->set(t, v->get(t) + 1);
            for (const std::uint64_t i : objects) s.mine(i).write(t) += 1;
        });
    });
}

class cluster_partial_rollback_with_variables : public cluster_partial_rollback {
protected:
    var<long> first_{0}, second_{0};
};

// The variable is newer than the snapshot. The object that changed with it was opened inside, or outside, the inner
// block.
TEST_P(cluster_partial_rollback_with_variables, finds_a_stale_object_by_reading_a_variable) {
    for (const bool inside : {true, false}) {
        runs seen;
        const std::uint64_t changed = inside ? late : early;
        atomically([&](tx& t) {
            ++seen.outer;
            const long outer = s.mine(early).read(t);
            checkpoint(t, [&](tx& c) {
                ++seen.inner;
                const long inner = s.mine(late).read(c);
                if (seen.inner == 1) overtake(s, {&first_}, {changed});
                // After the first round, the variable is one larger than the object that the second round changes.
                seen.consistent = seen.consistent && first_.get(c) == (inside ? inner : outer + 1);
            });
        });
        EXPECT_EQ(seen, (inside ? runs{1, 2, true} : runs{2, 2, true}));
    }
}

TEST_P(cluster_partial_rollback_with_variables, finds_a_stale_variable_by_opening_an_object) {
    for (const bool inside : {true, false}) {
        runs seen;
        var<long>& changed = inside ? first_ : second_;
        const std::uint64_t with = inside ? newest : own;
        atomically([&](tx& t) {
            ++seen.outer;
            const long outer = second_.get(t);
            (void)s.mine(early).read(t);
            checkpoint(t, [&](tx& c) {
                ++seen.inner;
                const long inner = first_.get(c);
                if (seen.inner == 1) overtake(s, {&changed}, {with});
                seen.consistent = seen.consistent && s.mine(with).read(c) == (inside ? inner : outer);
            });
        });
        EXPECT_EQ(seen, (inside ? runs{1, 2, true} : runs{2, 2, true}));
    }
}

// A reader takes its time from its first object, and a partial roll-back may drop that object. In the first round the
// engine learns that this block mixes variables and objects, and restarts the block once to log variables.
TEST_P(cluster_partial_rollback_with_variables, restarts_the_time_of_a_snapshot_reader) {
    for (const bool learning : {true, false}) {
        runs seen;
        bool overtaken = learning;
        const long ahead = s.now(newest) - first_.load();
        atomically({.read_only = true}, [&](tx&) {
            ++seen.outer;
            atomically([&](tx& n) {
                const long v = first_.get(n);
                (void)s.mine(late).read(n);
                ++seen.inner;
                if (!std::exchange(overtaken, true)) overtake(s, {&first_, &second_}, {newest});
                (void)second_.get(n);
                seen.consistent = seen.consistent && s.mine(newest).read(n) - ahead == v;
            });
        });
        EXPECT_TRUE(seen.consistent);
        if (!learning) {
            EXPECT_EQ(seen, (runs{1, 2, true}));
        }
    }
}

// Catches a value that moves to another address when the inner block is rolled back.
TEST_P(cluster_partial_rollback, keeps_references_of_the_outer_block) {
    for (const bool erases : {false, true}) {
        int inner = 0;
        const long before = s.now(own);
        atomically([&](tx& t) {
            long& mine = s.mine(own).write(t);
            mine += 10;
            atomically([&](tx& c) {
                ++inner;
                (void)s.mine(late).read(c);
                s.mine(own).write(c) += 100;
                if (erases && inner == 1) {
                    EXPECT_TRUE(s.mine(own).erase(c));
                    s.mine(own).publish(c, 77);
                    EXPECT_TRUE(s.mine(own).erase(c));
                }
                if (inner == 1) s.overtake({late, newest});
                (void)s.mine(newest).read(c);
            });
            mine += 1000;
        });
        EXPECT_EQ(inner, 2);
        EXPECT_EQ(s.now(own), before + 1110);
    }
}

// A variable that the inner block has read is stale, so the engine rolls back to that block and extends the snapshot.
// Catches a stale object of the outer block that is not validated then.
TEST_P(cluster_partial_rollback_with_variables, finds_stale_outer_objects_after_the_engines_rollback) {
    runs seen;
    atomically([&](tx& t) {
        ++seen.outer;
        const long outer = s.mine(early).read(t);
        checkpoint(t, [&](tx& c) {
            ++seen.inner;
            const long inner = first_.get(c);
            seen.consistent = seen.consistent && inner == outer;
            if (seen.inner == 1) overtake(s, {&first_, &second_}, {early});
            (void)second_.get(c);
        });
    });
    EXPECT_EQ(seen, (runs{2, 2, true}));
}

// The engine also rolls back its own part.
TEST_P(cluster_partial_rollback_with_variables, rolls_back_variables_with_objects) {
    runs seen;
    atomically([&](tx& t) {
        ++seen.outer;
        first_.set(t, 5);
        checkpoint(t, [&](tx& c) {
            EXPECT_EQ(first_.get(c), 5);
            first_.set(c, first_.get(c) + 1);
            const long found = s.mine(late).read(c);
            if (++seen.inner == 1) s.overtake({late, newest});
            EXPECT_EQ(s.mine(newest).read(c), found);
        });
    });
    EXPECT_EQ(seen, (runs{1, 2, true}));
    EXPECT_EQ(first_.load(), 6);
}

const auto one_or_two = ::testing::Values(1u, 2u);
const auto number_of_nodes = [](const auto& p) {
    return std::to_string(p.param) + (p.param == 1 ? "_node" : "_nodes");
};
INSTANTIATE_TEST_SUITE_P(on, cluster_partial_rollback, one_or_two, number_of_nodes);
INSTANTIATE_TEST_SUITE_P(on, cluster_partial_rollback_with_variables, one_or_two, number_of_nodes);

// ---- broken variants

/// Runs one round of the tests above. Returns a description of the first failure, or an empty string.
std::string one_round(unsigned nodes) {
    setting s{nodes};
    if (conflict_over(s, kind::nested, late) != runs{1, 2, true}) return "an inner conflict";
    if (conflict_over(s, kind::nested, early) != runs{2, 2, true}) return "an outer conflict";
    runs seen;
    long copy = 0;
    atomically([&](tx& t) {
        ++seen.outer;
        s.mine(own).write(t) = 5;
        checkpoint(t, [&](tx& c) {
            ++seen.inner;
            copy = s.mine(own).read(c);
            s.mine(own).write(c) += 1;
            (void)s.mine(late).read(c);
            if (seen.inner == 1) s.overtake({late});
        });
    });
    if (seen != runs{1, 2, true}) return "a conflict at the end of a checkpoint";
    if (copy != 5 || s.now(own) != 6) return "the outer block's copy";
    return {};
}

class cluster_partial_rollback_with_faults : public ::testing::TestWithParam<fault> {};

TEST_P(cluster_partial_rollback_with_faults, is_caught) {
    support::watchdog guard{"cluster_partial_rollback_with_faults"};
    for (const unsigned nodes : {1u, 2u}) {
        ASSERT_EQ(one_round(nodes), "");
        cluster::injected_fault = GetParam();
        const std::string found = one_round(nodes);
        cluster::injected_fault = fault::none;
        EXPECT_NE(found, "");
        std::printf("%s\n", found.c_str());
    }
}

INSTANTIATE_TEST_SUITE_P(all, cluster_partial_rollback_with_faults,
                         ::testing::Values(fault::overlook_stale_read, fault::keep_dropped_entries,
                                           fault::keep_overwritten_copy, fault::skip_checkpoint_validation),
                         [](const auto& f) {
                             switch (f.param) {
                                 case fault::overlook_stale_read: return "overlook_stale_read";
                                 case fault::keep_dropped_entries: return "keep_dropped_entries";
                                 case fault::keep_overwritten_copy: return "keep_overwritten_copy";
                                 default: return "skip_checkpoint_validation";
                             }
                         });

}  // namespace
