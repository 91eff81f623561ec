// The order of calls in the queue, and the call that is dropped when the queue is full. Catches a queue that ignores
// priorities, deadlines, or the order of arrival.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <semaphore>
#include <thread>

#include "server/calls/job_queue.hpp"
#include "server/calls/thread_pool.hpp"

namespace tutti::server {
namespace {

struct idle_job final : job {
    idle_job(int p, instant d = no_deadline) {
        priority = p;
        due = d;
    }
    void run() noexcept override {}
    void on_termination() noexcept override {}
    void reject() noexcept override {}
};

instant at(int ms) { return instant{} + std::chrono::milliseconds{ms}; }

TEST(job_queue, orders_by_priority_then_deadline_then_arrival) {
    std::deque<idle_job> jobs;
    job_queue queue{8};
    const auto push = [&](int p, instant d = no_deadline) { EXPECT_EQ(queue.push(jobs.emplace_back(p, d)), nullptr); };
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

TEST(job_queue, sheds_the_job_that_would_begin_last) {
    std::deque<idle_job> jobs;
    job_queue queue{4};
    const auto push = [&](int p, instant d = no_deadline) -> long {
        const job* const away = queue.push(jobs.emplace_back(p, d));
        return away == nullptr ? -1 : std::ranges::find(jobs, away, [](const job& j) { return &j; }) - jobs.begin();
    };
    for (const instant due : {no_deadline, at(20), at(10), no_deadline}) EXPECT_EQ(push(3, due), -1);
    EXPECT_EQ(push(3), 4) << "nothing is less urgent";
    EXPECT_EQ(push(3, at(1)), 5) << "nor is it for its deadline";
    EXPECT_EQ(push(2), 6);
    EXPECT_EQ(push(7), 3);
    EXPECT_EQ(push(7), 0);
    EXPECT_EQ(push(31), 1);
    EXPECT_EQ(push(31), 2);
    EXPECT_EQ(push(8), 8);
    EXPECT_EQ(queue.shed(3), 4U);
    EXPECT_EQ(queue.shed(7), 1U);
    EXPECT_EQ(queue.size(), 4U);
    for (const std::size_t expected : {9U, 10U, 11U, 7U}) EXPECT_EQ(&queue.pop(), &jobs[expected]);
    EXPECT_TRUE(queue.empty());
}

// Compares the queue with a list that is sorted each time.
TEST(job_queue, keeps_the_most_urgent_jobs) {
    std::mt19937 random{7};
    std::deque<idle_job> jobs;
    job_queue queue{16};
    std::vector<const job*> model;
    const auto sooner = [](const job* a, const job* b) {
        return a->priority != b->priority ? a->priority > b->priority : a->due < b->due;
    };
    for (int step = 0; step < 20'000; ++step) {
        if (random() % 4 == 0 && !model.empty()) {
            EXPECT_EQ(&queue.pop(), model.front());
            model.erase(model.begin());
        } else {
            const instant due = random() % 2 == 0 ? no_deadline : at(static_cast<int>(random() % 100));
            idle_job& j = jobs.emplace_back(static_cast<int>(random() % 5), due);
            const bool refused = model.size() == 16 && model.back()->priority >= j.priority;
            const job* expected = refused ? &j : nullptr;
            if (!refused) model.insert(std::ranges::upper_bound(model, &j, sooner), &j);
            if (model.size() > 16) {
                expected = model.back();
                model.pop_back();
            }
            ASSERT_EQ(queue.push(j), expected) << "step " << step;
        }
        ASSERT_EQ(queue.size(), model.size());
    }
}

/// Counts its own runs, and the runs of all jobs.
struct counted_job final : job {
    explicit counted_job(std::atomic<int>& total) : all{total} {}
    void run() noexcept override {
        ++runs;
        all.fetch_add(1);
    }
    void on_termination() noexcept override {}
    void reject() noexcept override { ++turned_away; }
    int runs = 0;
    int turned_away = 0;
    std::atomic<int>& all;
};

TEST(thread_pool, runs_accepted_jobs_once_and_refused_jobs_never) {
    std::atomic<int> ran{0};
    std::deque<counted_job> jobs;
    std::vector<job*> all;
    for (int i = 0; i < 5000; ++i) all.push_back(&jobs.emplace_back(ran));
    timeline shown{3};
    thread_pool pool{3, 100, shown};
    for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].priority = static_cast<int>(i % 7);
    for (std::size_t from = 0; from < all.size(); from += 50) {
        std::vector<job*> some{all.begin() + static_cast<long>(from), all.begin() + static_cast<long>(from + 50)};
        for (job* const j : pool.submit(some)) j->reject();
    }
    pool.drain();
    for (std::size_t i = 0; i < jobs.size(); ++i) EXPECT_EQ(jobs[i].runs + jobs[i].turned_away, 1) << i;
    EXPECT_EQ(pool.submit(all).size(), all.size());
    EXPECT_EQ(pool.current_load().running, 0U);
}

struct held_job final : job {
    void run() noexcept override { open.acquire(); }
    void on_termination() noexcept override {}
    void reject() noexcept override {}
    std::binary_semaphore open{0};
};

TEST(thread_pool, sheds_the_least_urgent_job) {
    timeline shown{1};
    thread_pool pool{1, 2, shown};
    held_job busy;
    std::vector<job*> one{&busy};
    EXPECT_TRUE(pool.submit(one).empty());
    while (pool.current_load().running == 0) std::this_thread::yield();
    std::atomic<int> ran{0};
    counted_job low{ran}, lower{ran}, lowest{ran}, high{ran};
    low.priority = 2;
    lower.priority = 1;
    high.priority = 3;
    std::vector<job*> all{&lowest, &low, &lower, &high};
    const std::span<job*> away = pool.submit(all);
    EXPECT_EQ((std::vector<job*>{away.begin(), away.end()}), (std::vector<job*>{&lowest, &lower}));
    EXPECT_EQ(pool.current_load().shed[0], 1U);
    EXPECT_EQ(pool.current_load().shed[1], 1U);
    busy.open.release();
    pool.drain();
    EXPECT_EQ(low.runs + high.runs, 2);
    EXPECT_EQ(ran.load(), 2);
}

}  // namespace
}  // namespace tutti::server
