// The checkpoint at which a block with several checkpoints continues, and the values of its variables there.
#include <vector>

#include "cluster/hyflow/account.hpp"
#include "cluster/hyflow/threads.hpp"

namespace hyflow_test {
namespace {

using tutti::cluster::placement;

class hyflow_checkpoints : public ::testing::Test {
protected:
    void SetUp() override {
        for (int i = 0; i < 4; ++i) open_account(name(i), 0);
    }
    static std::string name(int i) { return "account-" + std::to_string(i); }

    std::vector<std::unique_ptr<tutti::cluster::node>> nodes = tutti::cluster::testing::start_nodes(2, placement::home);
    thread_on here{*nodes[0]};
};

/// Runs a loop with a checkpoint at the end of each round, as HyflowCPP's benchmarks do. `i` lives outside of the
/// block.
std::vector<int> pay_all(int count, tutti::cluster::node& other, int last, const std::string& changes_then) {
    std::vector<int> rounds;
    bool met = false;
    int i = 0;
    HYFLOW_ATOMIC_START {
        HYFLOW_CHECKPOINT_INIT;
        for (i = 0; i < count; ++i) {
            rounds.push_back(i);
            BankAccount::deposit("account-" + std::to_string(i), 1, __context__);
            if (i == last && !std::exchange(met, true)) meanwhile(other, [&] { pay_in(changes_then, 10); });
            HYFLOW_STORE(&i, i);
            HYFLOW_CHECKPOINT_HERE;
        }
    }
    HYFLOW_ATOMIC_END;
    return rounds;
}

// Catches a roll-back to a checkpoint that is too late or too early, and a variable that is not restored.
TEST_F(hyflow_checkpoints, roll_back_to_the_first_changed_object) {
    const std::vector<std::vector<int>> right{{0, 1, 2, 3, 0, 1, 2, 3}, {0, 1, 2, 3, 1, 2, 3}, {0, 1, 2, 3, 2, 3}};
    for (int changed = 0; changed < 3; ++changed) {
        EXPECT_EQ(pay_all(4, *nodes[1], 3, name(changed)), right[static_cast<std::size_t>(changed)]);
    }
    for (int i = 0; i < 4; ++i) EXPECT_EQ(balance(name(i)), i < 3 ? 13 : 3);
}

// Catches a roll-back after which the next checkpoint forgets earlier writes. Catches a checkpoint whose saved values
// change with the block's variables.
TEST_F(hyflow_checkpoints, roll_back_repeatedly) {
    int first = 0, second = 0, third = 0;
    HYFLOW_ATOMIC_START {
        HYFLOW_CHECKPOINT_INIT;
        ++first;
        BankAccount::deposit(name(0), 1, __context__);
        BankAccount::deposit(name(3), 1, __context__);
        HYFLOW_CHECKPOINT_HERE;
        ++second;
        BankAccount::deposit(name(1), 1, __context__);
        BankAccount::deposit(name(0), 1, __context__);
        if (second == 1) meanwhile(*nodes[1], [&] { pay_in(name(1), 10); });
        HYFLOW_CHECKPOINT_HERE;
        ++third;
        BankAccount::deposit(name(2), 1, __context__);
        BankAccount::deposit(name(0), 1, __context__);
        if (third == 2) meanwhile(*nodes[1], [&] { pay_in(name(2), 10); });
    }
    HYFLOW_ATOMIC_END;
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 2);
    EXPECT_EQ(third, 3);
    EXPECT_EQ(balance(name(0)), 3);
    EXPECT_EQ(balance(name(1)), 11);
    EXPECT_EQ(balance(name(2)), 11);
    EXPECT_EQ(balance(name(3)), 1);
}

// Catches a record of an object that stays although the block was restarted before the object was open.
TEST_F(hyflow_checkpoints, roll_back_if_opening_finds_the_conflict) {
    int before = 0, after = 0;
    HYFLOW_ATOMIC_START {
        HYFLOW_CHECKPOINT_INIT;
        ++before;
        BankAccount::deposit(name(0), 1, __context__);
        HYFLOW_CHECKPOINT_HERE;
        ++after;
        HYFLOW_FETCH(name(1), true);
        if (after == 1) {
            meanwhile(*nodes[1], [&] {
                pay_in(name(1), 10);
                pay_in(name(2), 10);
            });
        }
        BankAccount::deposit(name(2), 1, __context__);  // the object is newer than the earlier reads
    }
    HYFLOW_ATOMIC_END;
    EXPECT_EQ(before, 1);
    EXPECT_EQ(after, 2);
    EXPECT_EQ(balance(name(0)), 1);
    EXPECT_EQ(balance(name(2)), 11);
}

// A checkpoint follows the last round, so only the commit runs again, with everything that was written.
TEST_F(hyflow_checkpoints, repeat_nothing_at_the_end_of_a_block) {
    int runs = 0;
    bool met = false;
    HYFLOW_ATOMIC_START {
        HYFLOW_CHECKPOINT_INIT;
        BankAccount::deposit(name(0), 1, __context__);
        ++runs;
        HYFLOW_CHECKPOINT_HERE;
        (void)HYFLOW_ON_READ(name(1));
        if (!std::exchange(met, true)) meanwhile(*nodes[1], [&] { pay_in(name(1), 10); });
    }
    HYFLOW_ATOMIC_END;
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(balance(name(0)), 1);
    EXPECT_EQ(balance(name(1)), 10);
}

// Catches a roll-back that restores only writes, and a roll-back after which the block publishes or deletes twice.
TEST_F(hyflow_checkpoints, keep_earlier_publications_and_deletions) {
    int before = 0, after = 0;
    HYFLOW_ATOMIC_START {
        HYFLOW_CHECKPOINT_INIT;
        ++before;
        {
            BankAccount* fresh = new BankAccount("fresh", 5);
            HYFLOW_PUBLISH_OBJECT(fresh);
            fresh->add(1);
        }
        HYFLOW_DELETE_OBJECT(HYFLOW_ON_READ(name(0)));
        HYFLOW_CHECKPOINT_HERE;
        BankAccount::deposit(name(1), 1, __context__);
        EXPECT_FALSE(HYFLOW_NFETCH(name(0), true, false));
        EXPECT_EQ(((BankAccount*)HYFLOW_ON_READ("fresh"))->checkBalance(), 6);
        if (++after == 1) meanwhile(*nodes[1], [&] { pay_in(name(1), 10); });
    }
    HYFLOW_ATOMIC_END;
    EXPECT_EQ(before, 1);
    EXPECT_EQ(after, 2);
    EXPECT_EQ(balance("fresh"), 6);
    EXPECT_EQ(balance(name(1)), 11);
    EXPECT_THROW(balance(name(0)), tutti::cluster::no_such_object);
}

// Catches a checkpoint that ignores objects of nested blocks. The block would go on with a stale object.
TEST_F(hyflow_checkpoints, cover_objects_of_nested_blocks) {
    int before = 0, after = 0;
    long seen = 0;
    HYFLOW_ATOMIC_START {
        HYFLOW_CHECKPOINT_INIT;
        ++before;
        pay_in(name(0), 1);
        seen = balance(name(0));
        HYFLOW_CHECKPOINT_HERE;
        BankAccount::deposit(name(1), seen, __context__);
        if (++after == 1) meanwhile(*nodes[1], [&] { pay_in(name(0), 10); });
        if (after == 2) meanwhile(*nodes[1], [&] { pay_in(name(1), 100); });
    }
    HYFLOW_ATOMIC_END;
    EXPECT_EQ(before, 2);
    EXPECT_EQ(after, 3);
    EXPECT_EQ(balance(name(0)), 11);
    EXPECT_EQ(balance(name(1)), 111);
}

void pay_in_both(const std::string& one, long to_one, const std::string& other, long to_other) {
    HYFLOW_ATOMIC_START {
        BankAccount::deposit(one, to_one, __context__);
        BankAccount::deposit(other, to_other, __context__);
    }
    HYFLOW_ATOMIC_END;
}

/// Reads `id` in a nested block. During the block's first run, another thread runs `changes`, so only the nested block
/// runs again. `marker` is one of the objects that `changes` writes. Returns the number of runs of the nested block.
template <class F>
int read_again(const std::string& id, const std::string& marker, tutti::cluster::node& other, long& seen, F changes) {
    int runs = 0;
    HYFLOW_ATOMIC_START {
        seen = ((BankAccount*)HYFLOW_ON_READ(id))->checkBalance();
        if (++runs == 1) meanwhile(other, changes);
        (void)HYFLOW_ON_READ(marker);
    }
    HYFLOW_ATOMIC_END;
    return runs;
}

// ABA: a nested block reads 0, is rolled back, runs again and reads 10. At the end of the attempt the value is 0 again.
// Catches a checkpoint that validates against the first run's read.
TEST_F(hyflow_checkpoints, ignore_reads_of_repeated_nested_blocks) {
    int before = 0, after = 0, reads = 0, first_reads = 0;
    long seen = 0;
    HYFLOW_ATOMIC_START {
        HYFLOW_CHECKPOINT_INIT;
        ++before;
        BankAccount::deposit(name(0), 1, __context__);
        reads = read_again(name(1), name(2), *nodes[1], seen, [&] {
            if (before == 1) pay_in_both(name(1), 10, name(2), 1);
        });
        if (before == 1) first_reads = reads;
        HYFLOW_STORE(&seen, seen);
        HYFLOW_CHECKPOINT_HERE;
        BankAccount::deposit(name(3), seen, __context__);
        if (++after == 1) meanwhile(*nodes[1], [&] { pay_in(name(1), -10); });
    }
    HYFLOW_ATOMIC_END;
    EXPECT_EQ(first_reads, 2);
    EXPECT_EQ(before, 2);
    EXPECT_EQ(after, 2);
    EXPECT_EQ(balance(name(3)), balance(name(1)));
}

// The reverse case: the value that the nested block's last run has read is still current. Catches a checkpoint that is
// dropped because of the first run's read.
TEST_F(hyflow_checkpoints, roll_back_after_a_repeated_nested_block) {
    int before = 0, after = 0, reads = 0;
    long seen = 0;
    HYFLOW_ATOMIC_START {
        HYFLOW_CHECKPOINT_INIT;
        ++before;
        reads = read_again(name(1), name(2), *nodes[1], seen, [&] { pay_in_both(name(1), 10, name(2), 1); });
        EXPECT_EQ(reads, 2);
        HYFLOW_STORE(&seen, seen);
        HYFLOW_CHECKPOINT_HERE;
        BankAccount::deposit(name(3), seen, __context__);
        if (++after == 1) meanwhile(*nodes[1], [&] { pay_in(name(3), 100); });
    }
    HYFLOW_ATOMIC_END;
    EXPECT_EQ(before, 1);
    EXPECT_EQ(after, 2);
    EXPECT_EQ(balance(name(3)), 110);
}

/// Pays in, and reads `id` after a checkpoint of its own. Only its first run is rolled back.
void pay_and_read_again(const std::string& paid, const std::string& id, const std::string& marker,
                        tutti::cluster::node& other, int& before, int& after) {
    HYFLOW_ATOMIC_START {
        HYFLOW_CHECKPOINT_INIT;
        ++before;
        BankAccount::deposit(paid, 1, __context__);
        HYFLOW_CHECKPOINT_HERE;
        (void)HYFLOW_ON_READ(id);
        if (++after == 1) meanwhile(other, [&] { pay_in_both(id, 10, marker, 1); });
        (void)HYFLOW_ON_READ(marker);
    }
    HYFLOW_ATOMIC_END;
}

// A nested block rolls back to a checkpoint of its own. Catches an outer block that forgets the objects before that
// checkpoint, read or written, together with those after it.
TEST_F(hyflow_checkpoints, keep_objects_of_a_resumed_nested_block) {
    int before = 0, nested_before = 0, nested_after = 0, after = 0;
    HYFLOW_ATOMIC_START {
        HYFLOW_CHECKPOINT_INIT;
        ++before;
        pay_and_read_again(name(0), name(1), name(2), *nodes[1], nested_before, nested_after);
        HYFLOW_CHECKPOINT_HERE;
        BankAccount::deposit(name(3), 1, __context__);
        ++after;
        if (after == 1) meanwhile(*nodes[1], [&] { pay_in(name(3), 100); });
        if (after == 2) meanwhile(*nodes[1], [&] { pay_in(name(0), 100); });
    }
    HYFLOW_ATOMIC_END;
    EXPECT_EQ(nested_before, 2);
    EXPECT_EQ(nested_after, 3);
    EXPECT_EQ(before, 2);
    EXPECT_EQ(after, 3);
    EXPECT_EQ(balance(name(0)), 101);
    EXPECT_EQ(balance(name(3)), 101);
}

void pay_in_and_fail(const std::string& id) {
    HYFLOW_ATOMIC_START {
        BankAccount::deposit(id, 1000, __context__);
        throw std::runtime_error{"no"};
    }
    HYFLOW_ATOMIC_END;
}

// Catches a block that repeats the writes of a nested block although they were rolled back.
TEST_F(hyflow_checkpoints, drop_objects_undone_by_a_nested_block) {
    int after = 0;
    HYFLOW_ATOMIC_START {
        HYFLOW_CHECKPOINT_INIT;
        BankAccount::deposit(name(0), 1, __context__);
        EXPECT_THROW(pay_in_and_fail(name(0)), std::runtime_error);
        HYFLOW_CHECKPOINT_HERE;
        BankAccount::deposit(name(1), 1, __context__);
        if (++after == 1) meanwhile(*nodes[1], [&] { pay_in(name(1), 10); });
    }
    HYFLOW_ATOMIC_END;
    EXPECT_EQ(after, 2);
    EXPECT_EQ(balance(name(0)), 1);
    EXPECT_EQ(balance(name(1)), 11);
}

TEST_F(hyflow_checkpoints, are_refused_where_rollback_is_impossible) {
    using tutti::usage_error;
    const auto without_init = [] {
        HYFLOW_ATOMIC_START { HYFLOW_CHECKPOINT_HERE; }
        HYFLOW_ATOMIC_END;
    };
    EXPECT_THROW(without_init(), usage_error);
    const auto late_init = [&] {
        HYFLOW_ATOMIC_START {
            (void)HYFLOW_ON_READ(name(0));
            HYFLOW_CHECKPOINT_INIT;
        }
        HYFLOW_ATOMIC_END;
    };
    EXPECT_THROW(late_init(), usage_error);
#if !defined(TUTTI_SANITIZED)  // AddressSanitizer moves locals, so nothing can tell which stack they belong to
    const auto store_of_its_own = [] {
        HYFLOW_ATOMIC_START {
            HYFLOW_CHECKPOINT_INIT;
            int own = 0;
            HYFLOW_STORE(&own, own);
        }
        HYFLOW_ATOMIC_END;
    };
    EXPECT_THROW(store_of_its_own(), usage_error);
#endif
}

}  // namespace
}  // namespace hyflow_test
