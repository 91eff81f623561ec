// The entries of a transaction when memory runs out.
#include "cluster/protocol/entry_table.hpp"

#include <gtest/gtest.h>

#include "support/heap.hpp"

namespace tutti::cluster {
namespace {

object_id nth(std::uint64_t n) { return {n, n + 1}; }

void open(entry_table& t, std::uint64_t n) {
    if (t.size() == t.allocated()) t.allocate();
    static_cast<void>(t.add(nth(n)));
}

bool has_first(entry_table& t, std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
        const object_entry* const e = t.find(nth(i));
        if (e != &t[i]) return false;
    }
    return t.size() == n && t.find(nth(n)) == nullptr;
}

// Catches an entry that counts as open but is not found, because memory ran out while the index was made or extended.
TEST(entry_table_test, finds_what_it_counts_when_memory_runs_out) {
    constexpr std::uint64_t all = 3 * entry_table::max_scanned;
    std::uint64_t refused = 0;
    for (std::uint64_t kept = entry_table::max_scanned - 1; kept < all; ++kept) {
        for (std::uint64_t after = 1;; ++after) {
            entry_table t;
            for (std::uint64_t i = 0; i < kept; ++i) open(t, i);
            t.allocate();
            support::refuse_after = after;
            bool failed = false;
            try {
                open(t, kept);
            } catch (const std::bad_alloc&) {
                failed = true;
            }
            support::refuse_after = 0;
            if (!failed) break;
            ++refused;
            ASSERT_TRUE(has_first(t, kept)) << kept << ", " << after;
            open(t, kept);
            ASSERT_TRUE(has_first(t, kept + 1)) << kept << ", " << after;
            t.truncate(entry_table::max_scanned / 2);
            ASSERT_TRUE(has_first(t, entry_table::max_scanned / 2)) << kept << ", " << after;
        }
    }
    EXPECT_GT(refused, all) << "no allocation failed, so the test shows nothing";
}

}  // namespace
}  // namespace tutti::cluster
