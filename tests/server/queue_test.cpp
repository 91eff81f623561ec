// Which call stands first. Catches a queue that forgets priorities, deadlines, or the order of arrival.

#include <gtest/gtest.h>

#include <deque>

#include "server/calls/ranked_queue.hpp"
#include "server/calls/thread_pool.hpp"

namespace tutti::server {
namespace {

struct idle_job final : job {
    idle_job(int p, instant d = no_deadline) {
        priority = p;
        due = d;
    }
    void run() noexcept override {}
    void cut_off() noexcept override {}
};

instant at(int ms) { return instant{} + std::chrono::milliseconds{ms}; }

TEST(ranked_queue, priority_then_deadline_then_arrival) {
    std::deque<idle_job> jobs;
    ranked_queue queue;
    const auto push = [&](int p, instant d = no_deadline) { queue.push(jobs.emplace_back(p, d)); };
    push(1);
    push(5);          // 1
    push(5, at(20));  // 2
    push(31);         // 3
    push(5, at(10));  // 4
    push(5);          // 5
    push(0, at(1));   // 6
    push(5, at(20));  // 7
    EXPECT_EQ(queue.size(), 8U);
    EXPECT_EQ(queue.size(5), 5U);
    for (const std::size_t expected : {3U, 4U, 2U, 7U, 1U, 5U, 0U, 6U}) {
        ASSERT_FALSE(queue.empty());
        EXPECT_EQ(&queue.pop(), &jobs[expected]);
    }
    EXPECT_TRUE(queue.empty());
    push(5);
    EXPECT_EQ(&queue.pop(), &jobs.back());
}

/// Counts its runs, and those of all.
struct counted_job final : job {
    explicit counted_job(std::atomic<int>& total) : all{total} {}
    void run() noexcept override {
        ++runs;
        all.fetch_add(1);
    }
    void cut_off() noexcept override {}
    int runs = 0;
    std::atomic<int>& all;
};

TEST(thread_pool, every_accepted_job_runs_once_and_no_refused_one) {
    std::atomic<int> ran{0};
    std::deque<counted_job> jobs;
    std::vector<job*> all;
    for (int i = 0; i < 5000; ++i) all.push_back(&jobs.emplace_back(ran));
    timeline shown{3};
    thread_pool pool{3, 100, shown};
    std::vector<bool> taken;
    for (std::size_t from = 0; from < all.size(); from += 50) {
        const std::size_t accepted = pool.submit(std::span{all}.subspan(from, 50));
        for (std::size_t i = 0; i < 50; ++i) taken.push_back(i < accepted);
    }
    pool.drain();
    for (std::size_t i = 0; i < jobs.size(); ++i) EXPECT_EQ(jobs[i].runs, taken[i] ? 1 : 0) << i;
    EXPECT_EQ(pool.submit(all), 0U);
    EXPECT_EQ(pool.current_load().running, 0U);
}

}  // namespace
}  // namespace tutti::server
