// Idle callbacks of workers. Catches work that waits although a worker runs its idle callback or sleeps, and a worker
// that is notified without work.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

#include "preempt/scheduler.hpp"
#include "support/watchdog.hpp"

namespace tutti::preempt {
namespace {

using namespace std::chrono_literals;

/// An idle callback that a test describes.
struct test_idle_callback {
    std::function<bool(const std::function<bool()>& is_wanted, base::deadline until)> on_idle;
    std::function<void()> on_wake = [] {};

    idle_callback for_options() {
        return {this,
                [](void* self, const std::atomic<std::uint32_t>& wakeup_word, std::uint32_t seen,
                   base::deadline until) noexcept {
                    return static_cast<test_idle_callback*>(self)->on_idle([&] { return wakeup_word.load() != seen; },
                                                                           until);
                },
                [](void* self) noexcept { static_cast<test_idle_callback*>(self)->on_wake(); }};
    }
};

struct counted {
    std::atomic<int> runs{0};
    static void run(void* of) noexcept { ++static_cast<counted*>(of)->runs; }
};

/// Ends only after another job has run.
struct dependent {
    std::atomic<int>& other;
    std::atomic<bool> begun{false};
    static void run(void* of) noexcept {
        auto& self = *static_cast<dependent*>(of);
        self.begun = true;
        while (self.other.load() == 0) std::this_thread::yield();
    }
};

void await(const std::atomic<int>& what) {
    while (what.load() == 0) std::this_thread::yield();
}

TEST(idle_callback_test, returns_for_work_while_asleep) {
    const support::watchdog dog{"idle callback"};
    std::atomic<std::uint32_t> call{0};
    std::atomic<int> spent{0};
    test_idle_callback other;
    other.on_wake = [&] {
        ++call;
        call.notify_all();
    };
    other.on_idle = [&](const auto& is_wanted, base::deadline) {
        ++spent;
        const std::uint32_t before = call.load();
        if (!is_wanted()) call.wait(before);
        return true;
    };
    scheduler s{{.workers = 1, .idle = other.for_options()}};
    await(spent);
    counted work;
    for (int i = 1; i <= 1000; ++i) {
        ASSERT_TRUE(s.submit({counted::run, &work}));
        while (work.runs.load() < i) std::this_thread::yield();
    }
    s.stop();
}

// The submitting thread notifies one worker. The other worker is awake, and has to see the job that the first worker
// cannot reach.
TEST(idle_callback_test, returns_for_work_while_awake) {
    const support::watchdog dog{"idle callback"};
    counted second;
    dependent first{second.runs};
    std::atomic<int> there{0};
    std::atomic<bool> handed_in{false};
    scheduler* all = nullptr;
    std::atomic<bool> ready{false};
    test_idle_callback other;
    other.on_idle = [&](const auto& is_wanted, base::deadline) {
        if (!ready.load()) {
            std::this_thread::yield();
            return true;
        }
        ++there;
        while (there.load() < 2 && !is_wanted()) std::this_thread::yield();
        if (!handed_in.exchange(true)) {
            work both[] = {{dependent::run, &first}, {counted::run, &second}};
            EXPECT_TRUE(all->submit(both, 1).empty());
        }
        while (!is_wanted()) std::this_thread::yield();
        return true;
    };
    scheduler s{{.workers = 2, .idle = other.for_options()}};
    all = &s;
    ready = true;
    await(second.runs);
    s.stop();
    EXPECT_TRUE(first.begun);
}

// The worker sleeps, so only `wake_worker` notifies it.
TEST(idle_callback_test, does_not_keep_work_from_sleeping_workers) {
    const support::watchdog dog{"idle callback"};
    counted second;
    dependent first{second.runs};
    scheduler* all = nullptr;
    std::atomic<bool> ready{false}, taken{false};
    test_idle_callback other;
    other.on_idle = [&](const auto&, base::deadline) {
        if (!ready.load() || taken.exchange(true)) return false;
        std::this_thread::sleep_for(20ms);  // the other worker is asleep by then
        work both[] = {{dependent::run, &first}, {counted::run, &second}};
        EXPECT_TRUE(all->submit(both, 1).empty());
        return true;
    };
    scheduler s{{.workers = 2, .idle = other.for_options()}};
    all = &s;
    std::this_thread::sleep_for(20ms);
    ready = true;
    s.wake_worker();  // an idle worker starts its activity
    while (!first.begun.load()) std::this_thread::yield();
    s.wake_worker();
    await(second.runs);
    s.stop();
}

}  // namespace
}  // namespace tutti::preempt
