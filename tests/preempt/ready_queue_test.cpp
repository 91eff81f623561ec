// The queue of section III-C, compared with a model without lists, which examines all contexts and applies the rules.
//
// Catches unstarted contexts before active ones, a level that is not the highest, a wrong order of deadlines and
// arrival within a level, and a promotion that is off by one.
#include "preempt/ready_queue.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "support/effort.hpp"

namespace tutti::preempt {
namespace {

constexpr unsigned highest = 5;
constexpr std::size_t small_stack = 4096;

std::vector<std::unique_ptr<context>> some_contexts(std::size_t count) {
    std::vector<std::unique_ptr<context>> them;
    for (std::size_t i = 0; i < count; ++i) them.push_back(std::make_unique<context>(small_stack));
    return them;
}

struct entry {
    context* who;
    bool hot;
    unsigned worker;
    unsigned level;
    std::uint64_t order;  // of insertion
};

/// Returns true if a goes before b.
bool is_before(const entry& a, const entry& b) {
    if (a.level != b.level) return a.level > b.level;
    if (a.hot != b.hot) return a.hot;
    if (a.who->due != b.who->due) {
        if (!a.who->due || !b.who->due) return a.who->due.has_value();
        return *a.who->due < *b.who->due;
    }
    return a.order < b.order;
}

class model {
public:
    explicit model(bool migrates) : migrates_{migrates} {}
    void insert(context& c, bool hot, unsigned worker) {
        entries_.push_back({&c, hot, worker, c.effective_level(), next_++});
    }
    const entry* best(unsigned worker) const {
        const entry* found = nullptr;
        for (const entry& e : entries_) {
            const bool mine = !e.hot || migrates_ || e.worker == worker;
            if (mine && (found == nullptr || is_before(e, *found))) found = &e;
        }
        return found;
    }
    void remove(const context* c) {
        std::erase_if(entries_, [&](const entry& e) { return e.who == c; });
    }
    const std::vector<entry>& entries() const { return entries_; }

private:
    bool migrates_;
    std::vector<entry> entries_;
    std::uint64_t next_ = 0;
};

void compare(unsigned seed, bool migrates) {
    constexpr unsigned workers = 3;
    std::mt19937 random{seed};
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    ready_queue queue{workers, highest, {}, migrates};
    model expected{migrates};
    auto contexts = some_contexts(40);
    std::vector<context*> free;
    for (auto& c : contexts) free.push_back(c.get());
    std::vector<context*> running[workers];
    for (std::size_t step = 0; step < support::rounds(4000); ++step) {
        const unsigned worker = below(workers);
        switch (below(4)) {
            case 0:
                if (!free.empty()) {
                    context& c = *free.back();
                    free.pop_back();
                    c.current_work = {.run = nullptr, .priority = below(8)};
                    if (below(2) == 0) c.current_work.due = base::deadline{std::chrono::nanoseconds{below(4)}};
                    queue.admit(c);
                    EXPECT_EQ(c.level, std::min(c.current_work.priority, highest));
                    expected.insert(c, false, 0);
                }
                break;
            case 1:
                if (!running[worker].empty()) {
                    context& c = *running[worker].back();
                    running[worker].pop_back();
                    queue.put_back(c, worker);
                    expected.insert(c, true, worker);
                }
                break;
            case 2: {
                const entry* const e = expected.best(worker);
                ASSERT_EQ(queue.next_level(worker), e == nullptr ? -1 : static_cast<int>(e->level));
                context* const c = queue.take_next(worker);
                ASSERT_EQ(c, e == nullptr ? nullptr : e->who) << "seed " << seed << " step " << step;
                if (c == nullptr) break;
                EXPECT_EQ(c->state, run_state::running);
                expected.remove(c);
                if (below(2) == 0) free.push_back(c);
                else running[worker].push_back(c);
                break;
            }
            default:  // another context lends a level
                if (!expected.entries().empty()) {
                    const entry e = expected.entries()[below(static_cast<unsigned>(expected.entries().size()))];
                    e.who->inherited_level = below(highest + 2);
                    queue.reorder(*e.who, e.worker);
                    expected.remove(e.who);
                    expected.insert(*e.who, e.hot, e.worker);
                }
        }
        std::size_t hot = 0;
        for (const entry& e : expected.entries()) hot += e.hot ? 1 : 0;
        ASSERT_EQ(queue.active(), hot);
        ASSERT_EQ(queue.unstarted(), expected.entries().size() - hot);
    }
}

TEST(ready_queue_test, agrees_with_a_model_without_migration) {
    for (unsigned seed = 0; seed < 20; ++seed) compare(seed, false);
}

TEST(ready_queue_test, agrees_with_a_model_with_migration) {
    for (unsigned seed = 100; seed < 120; ++seed) compare(seed, true);
}

// Returns the levels by equation (1) for a transaction that is preempted repeatedly.
std::vector<unsigned> levels_of(priority_boost how, unsigned born, int preemptions) {
    const ready_queue queue{1, highest, how, false};
    context c{small_stack};
    c.level = born;
    std::vector<unsigned> levels;
    for (int i = 0; i < preemptions; ++i) {
        queue.count_preemption(c);
        levels.push_back(c.level);
    }
    return levels;
}

TEST(priority_boost_test, raises_to_the_highest_level_at_the_threshold) {
    EXPECT_EQ(levels_of({.max_preemptions = 1}, 1, 2), (std::vector<unsigned>{5, 5}));
    EXPECT_EQ(levels_of({.max_preemptions = 4}, 1, 5), (std::vector<unsigned>{1, 1, 1, 5, 5}));
}

TEST(priority_boost_test, lazy_raises_one_level_per_preemption) {
    EXPECT_EQ(levels_of({.max_preemptions = 3, .lazy = true}, 1, 4), (std::vector<unsigned>{2, 3, 5, 5}));
    EXPECT_EQ(levels_of({.max_preemptions = 8, .lazy = true}, 3, 4), (std::vector<unsigned>{4, 5, 5, 5}));
}

// Without this bound, promoted work would interrupt work of the highest level in use.
TEST(priority_boost_test, never_exceeds_max_level_nor_lowers_a_level) {
    EXPECT_EQ(levels_of({.max_preemptions = 3, .lazy = true, .max_level = 4}, 1, 4),
              (std::vector<unsigned>{2, 3, 4, 4}));
    EXPECT_EQ(levels_of({.max_preemptions = 1, .max_level = 3}, 5, 2), (std::vector<unsigned>{5, 5}));
}

TEST(priority_boost_test, without_a_threshold_only_lazy_raises_levels) {
    EXPECT_EQ(levels_of({}, 2, 3), (std::vector<unsigned>{2, 2, 2}));
    EXPECT_EQ(levels_of({.lazy = true}, 2, 5), (std::vector<unsigned>{3, 4, 5, 5, 5}));
}

// A worker takes the next context before it puts back the preempted one. This order keeps a promoted context behind the
// context that preempted it.
TEST(ready_queue_test, runs_a_promoted_context_after_its_preemptor) {
    ready_queue queue{1, highest, {.max_preemptions = 1}, false};
    auto contexts = some_contexts(2);
    context &low = *contexts[0], &high = *contexts[1];
    low.current_work.priority = 1;
    high.current_work.priority = 5;
    queue.admit(low);
    ASSERT_EQ(queue.take_next(0), &low);
    queue.admit(high);
    context* const next = queue.take_next(0);
    queue.count_preemption(low);
    queue.put_back(low, 0);
    EXPECT_EQ(next, &high);
    EXPECT_EQ(low.level, 5u);
    EXPECT_EQ(queue.take_next(0), &low);
}

}  // namespace
}  // namespace tutti::preempt
