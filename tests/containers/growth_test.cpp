// The growth of a hash_map, whatever the outcome of the attempts that fill it. The tests examine its structure: the
// variables that a look-up reads, and the buckets that a walk finds.
//
// Catches a map that only grows in first attempts, and one that grows with every repetition of one insertion.
#include <gtest/gtest.h>

#include <thread>

#include "core/state/descriptor.hpp"
#include "support/effort.hpp"
#include "tutti/containers/hash_map.hpp"
#include "tutti/tutti.hpp"

namespace tutti::containers {
namespace {

using map = hash_map<std::size_t, std::size_t>;

/// Returns the number of reads of `look`, from the log of its transaction.
template <class F>
std::size_t reads_of(F look) {
    return atomically([&](tx& t) {
        const auto& d = core::descriptor::of(t);
        const std::size_t before = d.reads();
        look(t);
        return d.reads() - before;
    });
}

class growth : public ::testing::Test {
protected:
    std::size_t count_ = support::rounds(20'000);
    map filled_;

    /// Fills the map with blocks that call `insert(tx, key)`.
    template <class F>
    void fill(F insert) {
        for (std::size_t key = 0; key < count_; ++key) {
            atomically([&](tx& t) { insert(t, key); });
        }
    }
    void TearDown() override {
        std::size_t reads = 0;
        for (std::size_t key = 0; key < count_; ++key) {
            reads += reads_of([&](tx& t) { EXPECT_TRUE(filled_.contains(t, key)); });
        }
        const double in_mean = static_cast<double>(reads) / static_cast<double>(count_);
        std::size_t elements = 0;
        const std::size_t walked = reads_of([&](tx& t) { elements = filled_.size(t); });
        const double buckets = static_cast<double>(walked - elements) / static_cast<double>(elements);
        RecordProperty("reads", std::to_string(in_mean));
        RecordProperty("buckets", std::to_string(buckets));
        EXPECT_LT(in_mean, 2.5);
        EXPECT_LT(buckets, 4);
    }
};

TEST_F(growth, follows_blocks_that_commit_at_once) {
    fill([&](tx& t, std::size_t key) { filled_.insert(t, key, key); });
}

TEST_F(growth, follows_blocks_that_restart_before_inserting) {
    fill([&](tx& t, std::size_t key) {
        if (t.attempt() == 1) restart(t);
        filled_.insert(t, key, key);
    });
}

TEST_F(growth, follows_blocks_that_restart_after_inserting) {
    fill([&](tx& t, std::size_t key) {
        filled_.insert(t, key, key);
        if (t.attempt() <= 10) restart(t);
    });
}

TEST_F(growth, follows_consumers_that_wake_from_retry) {
    fill([&](tx& t, std::size_t key) {
        if (t.attempt() <= 2) retry_for(t, std::chrono::nanoseconds{static_cast<int>(t.attempt())});
        filled_.insert(t, key, key);
    });
}

// Each block loses its first `defeats` attempts to another thread's store, so no insertion commits in a first attempt.
void fill_by_losers(map& m, std::size_t count, unsigned defeats) {
    var<std::size_t> hot;
    for (std::size_t key = 0; key < count; ++key) {
        atomically([&](tx& t) {
            const std::size_t seen = hot.get(t);
            if (t.attempt() <= defeats) std::thread{[&] { hot.store(seen + 1); }}.join();
            hot.set(t, seen + 1);
            m.insert(t, key, key);
        });
    }
}
TEST_F(growth, follows_blocks_that_lose_once) { fill_by_losers(filled_, count_ = support::rounds(4000), 1); }
TEST_F(growth, follows_blocks_that_lose_often) { fill_by_losers(filled_, count_ = support::rounds(2000), 6); }

TEST_F(growth, follows_many_insertions_in_a_block_that_restarts) {
    constexpr std::size_t at_once = 1000;
    for (std::size_t first = 0; first < count_; first += at_once) {
        atomically([&](tx& t) {
            if (t.attempt() == 1) restart(t);
            for (std::size_t key = first; key < std::min(first + at_once, count_); ++key) filled_.insert(t, key, key);
            if (t.attempt() == 2) restart(t);
        });
    }
}

TEST_F(growth, follows_nested_blocks_and_alternatives_that_run_again) {
    fill([&](tx& t, std::size_t key) {
        unsigned runs = 0;
        or_else(
            t,
            [&](tx& first) {
                filled_.insert(first, key, key);
                retry(first);
            },
            [&](tx& last) {
                filled_.insert(last, key, key);
                if (++runs <= 5) restart(last);
            });
    });
}

TEST_F(growth, follows_open_nested_blocks_and_handlers) {
    fill([&](tx& t, std::size_t key) {
        if (t.attempt() == 1) restart(t);
        if (key % 2 == 0) {
            open_nested(t, [&](tx& inner) { filled_.insert(inner, key, key); }, [](tx&) {});
        } else {
            t.on_commit([this, key] { atomically([&](tx& own) { filled_.insert(own, key, key); }); });
        }
    });
}

// An insertion that is repeated many times makes the map grow only until its bucket has no other elements.
TEST_F(growth, ignores_repeated_attempts_of_an_insertion) {
    fill([&](tx& t, std::size_t key) { filled_.insert(t, key, key); });
    for (std::size_t key = count_; key < count_ + 10; ++key) {
        atomically([&](tx& t) {
            filled_.insert(t, key, key);
            if (t.attempt() <= count_) restart(t);
        });
    }
}

}  // namespace
}  // namespace tutti::containers
