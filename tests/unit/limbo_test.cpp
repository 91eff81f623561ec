#include "memory/limbo.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace tutti::memory {
namespace {

// Status records are never destroyed, because the directory refers to them.
status_record& new_status_record() {
    static std::vector<std::unique_ptr<status_record>> all;
    all.push_back(std::make_unique<status_record>());
    register_status_record(*all.back());
    return *all.back();
}

int destroyed = 0;

class limbo_test : public ::testing::Test {
protected:
    limbo_test() { destroyed = 0; }
    void retire(int count) {
        limbo_.reserve(static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i) limbo_.retire({nullptr, [](void*) { ++destroyed; }});
    }
    status_record& self_ = new_status_record();
    status_record& reader_ = new_status_record();
    limbo limbo_;
};

TEST_F(limbo_test, destroys_at_once_without_running_transactions) {
    retire(3);
    limbo_.collect(self_);
    EXPECT_EQ(destroyed, 3);
}

// Catches a limbo that ignores running transactions, and one that only checks whether any transaction runs.
TEST_F(limbo_test, waits_for_running_transactions_but_not_successors) {
    reader_.state.store(make_state(1, status::active), std::memory_order_relaxed);
    retire(3);
    limbo_.collect(self_);
    EXPECT_EQ(destroyed, 0);
    reader_.state.store(make_state(1, status::preparing), std::memory_order_relaxed);
    limbo_.collect(self_);
    EXPECT_EQ(destroyed, 0) << "the same transaction in another status";
    reader_.state.store(make_state(2, status::active), std::memory_order_relaxed);
    limbo_.collect(self_);
    EXPECT_EQ(destroyed, 3);
    reader_.state.store(make_state(2, status::idle), std::memory_order_relaxed);
}

TEST_F(limbo_test, waits_anew_for_later_retired_objects) {
    reader_.state.store(make_state(1, status::active), std::memory_order_relaxed);
    retire(1);
    limbo_.collect(self_);
    reader_.state.store(make_state(2, status::active), std::memory_order_relaxed);
    retire(1);
    limbo_.collect(self_);
    EXPECT_EQ(destroyed, 1) << "the second object was retired while transaction 2 ran";
    reader_.state.store(make_state(2, status::idle), std::memory_order_relaxed);
    limbo_.collect(self_);
    EXPECT_EQ(destroyed, 2);
}

// While the frames of a transaction in roll-back unwind, they may still access objects that the transaction has read.
TEST_F(limbo_test, waits_for_a_transaction_in_roll_back) {
    reader_.state.store(make_state(1, status::aborting), std::memory_order_relaxed);
    retire(1);
    limbo_.collect(self_);
    EXPECT_EQ(destroyed, 0);
    reader_.state.store(make_state(1, status::idle), std::memory_order_relaxed);
    limbo_.collect(self_);
    EXPECT_EQ(destroyed, 1);
}

// Catches a destructor that runs twice, because a transaction inside the destructor collects as well.
TEST_F(limbo_test, is_not_collected_from_inside_a_destructor) {
    struct place {
        limbo& all;
        status_record& self;
    } here{limbo_, self_};
    retire(1);
    limbo_.reserve(1);
    limbo_.retire({&here, [](void* p) {
                       ++destroyed;
                       if (destroyed < 10) static_cast<place*>(p)->all.collect(static_cast<place*>(p)->self);
                   }});
    limbo_.collect(self_);
    EXPECT_EQ(destroyed, 2);
}

TEST_F(limbo_test, destroys_orphans_in_another_context) {
    reader_.state.store(make_state(1, status::active), std::memory_order_relaxed);
    retire(2);
    limbo_.move_to_orphaned_limbo(self_);
    EXPECT_EQ(destroyed, 0);
    reader_.state.store(make_state(1, status::idle), std::memory_order_relaxed);
    limbo other;
    other.collect(new_status_record());
    EXPECT_EQ(destroyed, 2);
}

TEST_F(limbo_test, is_due_once_a_batch_has_gathered) {
    retire(static_cast<int>(limbo::batch) - 1);
    EXPECT_FALSE(limbo_.is_due());
    retire(1);
    EXPECT_TRUE(limbo_.is_due());
    limbo_.collect(self_);
    EXPECT_FALSE(limbo_.is_due());
}

}  // namespace
}  // namespace tutti::memory
