#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tpcc/append_log.hpp"
#include "tpcc/chunked_table.hpp"
#include "tpcc/fifo.hpp"

namespace tpcc {
namespace {

template <class Container>
std::vector<int> all_of(const Container& c) {
    std::vector<int> values;
    c.for_each([&](const int& v) { values.push_back(v); });
    return values;
}

TEST(tpcc_fifo, gives_back_in_order_of_arrival) {
    fifo<int> q;
    tutti::atomically([&](tutti::tx& t) {
        EXPECT_EQ(q.pop(t), std::nullopt);
        for (int i = 1; i <= 3; ++i) q.push(t, i);
    });
    EXPECT_EQ(all_of(q), (std::vector{1, 2, 3}));
    tutti::atomically([&](tutti::tx& t) {
        EXPECT_EQ(q.pop(t), 1);
        EXPECT_EQ(q.pop(t), 2);
        q.push(t, 4);
    });
    EXPECT_EQ(all_of(q), (std::vector{3, 4}));
}

TEST(tpcc_fifo, works_again_after_it_ran_empty) {
    fifo<int> q;
    for (int round = 0; round < 3; ++round) {
        tutti::atomically([&](tutti::tx& t) { q.push(t, round); });
        EXPECT_EQ(tutti::atomically([&](tutti::tx& t) { return q.pop(t); }), round);
        EXPECT_EQ(tutti::atomically([&](tutti::tx& t) { return q.pop(t); }), std::nullopt);
    }
}

TEST(tpcc_fifo, roll_back_restores_it) {
    fifo<int> q;
    tutti::atomically([&](tutti::tx& t) { q.push(t, 1); });
    EXPECT_FALSE(tutti::try_atomically([&](tutti::tx& t) {
        q.push(t, 2);
        EXPECT_EQ(q.pop(t), 1);
        EXPECT_EQ(q.pop(t), 2);
        q.push(t, 3);
        tutti::cancel(t);
    }));
    EXPECT_EQ(all_of(q), std::vector{1});
    tutti::atomically([&](tutti::tx& t) { q.push(t, 2); });
    EXPECT_EQ(all_of(q), (std::vector{1, 2}));
}

TEST(tpcc_append_log, keeps_everything_newest_first) {
    append_log<int> log;
    for (int i = 1; i <= 3; ++i) tutti::atomically([&](tutti::tx& t) { log.append(t, i); });
    EXPECT_FALSE(tutti::try_atomically([&](tutti::tx& t) {
        log.append(t, 4);
        tutti::cancel(t);
    }));
    EXPECT_EQ(all_of(log), (std::vector{3, 2, 1}));
}

TEST(tpcc_chunked_table, finds_what_was_inserted_and_nothing_else) {
    chunked_table<int> table;
    // The last of one chunk, the first of the next one, one far away, and the last of all.
    const std::vector<int> numbers{1, 4096, 4097, 5'000'000, table.capacity};
    for (const int n : numbers) {
        tutti::atomically([&](tutti::tx& t) { table.insert(t, n, tutti::create<int>(t, n)); });
    }
    tutti::atomically([&](tutti::tx& t) {
        for (const int n : numbers) {
            const int* const row = table.find(t, n);
            ASSERT_NE(row, nullptr);
            EXPECT_EQ(*row, n);
        }
        for (const int n : {-1, 0, 2, 4095, 4098, 4'999'999, table.capacity - 1, table.capacity + 1, 2'147'483'647}) {
            EXPECT_EQ(table.find(t, n), nullptr) << n;
        }
    });
    EXPECT_EQ(all_of(table), numbers);
}

TEST(tpcc_chunked_table, a_rolled_back_insertion_leaves_nothing) {
    chunked_table<int> table;
    EXPECT_FALSE(tutti::try_atomically([&](tutti::tx& t) {
        table.insert(t, 1, tutti::create<int>(t, 1));
        tutti::cancel(t);
    }));
    EXPECT_TRUE(all_of(table).empty());
}

TEST(tpcc_chunked_table, refuses_what_is_beyond_its_directory) {
    chunked_table<int> table;
    const int beyond = table.capacity + 1;
    EXPECT_THROW(tutti::atomically([&](tutti::tx& t) { table.insert(t, beyond, tutti::create<int>(t, 1)); }),
                 std::length_error);
    EXPECT_TRUE(all_of(table).empty());
}

}  // namespace
}  // namespace tpcc
