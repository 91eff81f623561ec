// Ticks that find a worker in library code. They are served where the procedure calls the library again, and in
// libraries that procedures depend on and that hold no lock.
//
// Catches a tick that is delayed until a timer happens to find the procedure's own code, and a switch that changes the
// arguments of a call. Catches an interruption of a library that takes locks, and guarded calls that take ticks without
// effect. Catches function addresses that differ between objects, and words that stay writable.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <memory>
#include <string>

#include "preempt/libraries/computing.hpp"
#include "preempt/libraries/locking.hpp"
#include "preempt/library_calls.hpp"
#include "preempt/procedures/library_callers.hpp"
#include "preempt/progress.hpp"
#include "support/watchdog.hpp"

namespace tutti::preempt {
namespace {

using namespace procedures;

template <class F>
std::uintptr_t address(F* f) {
    return reinterpret_cast<std::uintptr_t>(f);
}

/// One worker, and a timer that fires only after the end of the test.
options one_worker_without_timer() {
    options how;
    how.tick_source = "on-demand";
    how.timing.retry_pause = how.timing.max_retry_pause = std::chrono::hours{1};
    return how;
}

/// Submits `urgent`, and returns when a tick has found the worker's procedure in library code.
void submit_and_wait_for_a_tick(scheduler& s, marker& urgent) {
    const std::uint64_t before = s.statistics().ticks_deferred;
    ASSERT_TRUE(s.submit({mark, &urgent, 3}));
    while (s.statistics().ticks_deferred == before) std::this_thread::yield();
    ASSERT_EQ(urgent.at, 0);
}

TEST(library_calls, take_a_tick_that_found_library_code) {
    const support::watchdog dog{"library calls"};
    scheduler s{one_worker_without_timer()};
    add_procedures(s);
    std::atomic<int> clock{0};
    std::deque<marker> urgent;
    caller low{.rounds = 50};
    ASSERT_TRUE(s.submit({call_libraries, &low, 1}));
    for (int n = 1; n <= low.rounds && !HasFailure(); ++n) {
        while (low.inside < n) std::this_thread::yield();
        submit_and_wait_for_a_tick(s, urgent.emplace_back(&clock));
        low.go = n;
        while (urgent.back().at == 0 && low.inside == n && !low.done) std::this_thread::yield();
        EXPECT_EQ(urgent.back().at, n) << "before the procedure came to the library for the next round";
    }
    low.go = low.rounds;
    s.drain();
    EXPECT_TRUE(low.right);
    EXPECT_EQ(s.statistics().preemptions, static_cast<std::uint64_t>(low.rounds));
}

TEST(library_calls, take_one_tick_under_a_guard) {
    const support::watchdog dog{"library calls"};
    scheduler s{one_worker_without_timer()};
    add_procedures(s);
    std::atomic<int> clock{0};
    marker urgent{&clock};
    caller low;
    ASSERT_TRUE(s.submit({call_libraries_unpreempted, &low, 1}));
    while (low.inside < 1) std::this_thread::yield();
    submit_and_wait_for_a_tick(s, urgent);
    const std::uint64_t before = s.statistics().ticks_by_signal;
    low.go = 1;
    s.drain();
    EXPECT_EQ(s.statistics().ticks_by_signal - before, 1u);
    EXPECT_EQ(urgent.at, 1);
    EXPECT_EQ(s.statistics().preemptions, 1u) << "at the end of the guard";
}

// Catches a child that continues with the pending work of its parent.
TEST(library_calls, take_no_tick_in_a_child_process) {
    const support::watchdog dog{"library calls"};
    scheduler s{one_worker_without_timer()};
    add_procedures(s);
    // Shared with the child, so that work that runs there is counted as well.
    void* const page =
        ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    marker urgent{std::construct_at(static_cast<std::atomic<int>*>(page), 0)};
    caller low;
    ASSERT_TRUE(s.submit({call_libraries_in_a_child, &low, 1}));
    while (low.inside < 1) std::this_thread::yield();
    submit_and_wait_for_a_tick(s, urgent);
    low.go = 1;
    s.drain();
    EXPECT_TRUE(low.right);
    EXPECT_EQ(urgent.at, 1);
    ::munmap(page, sizeof(std::atomic<int>));
}

TEST(library_calls, are_the_only_tick_points_in_locking_libraries) {
    const support::watchdog dog{"library calls"};
    std::atomic<int> clock{0};
    marker urgent{&clock};
    caller low;
    scheduler s{{.workers = 1}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({call_libraries, &low, 1}));
    while (low.inside < 1) std::this_thread::yield();
    ASSERT_TRUE(s.submit({mark, &urgent, 3}));
    while (s.statistics().ticks_deferred < 3) std::this_thread::yield();
    EXPECT_EQ(urgent.at, 0);
    low.go = 1;
    s.drain();
    EXPECT_EQ(urgent.at, 1);
}

TEST(library_calls, are_not_needed_in_libraries_without_locks) {
    const support::watchdog dog{"library calls"};
    std::atomic<int> clock{0};
    marker urgent{&clock};
    user_of_a_library low;
    scheduler s{{.workers = 1}};
    add_procedures(s);
    ASSERT_TRUE(s.submit({compute_in_a_library, &low, 1}));
    wait_until(low.begun);
    ASSERT_TRUE(s.submit({mark, &urgent, 3}));
    while (urgent.at == 0 && s.statistics().ticks_deferred < 3) std::this_thread::yield();
    EXPECT_EQ(urgent.at, 1);
    low.stop = true;
    s.drain();
}

TEST(library_calls, keep_function_addresses) {
    code_map application{nullptr, true};
    ASSERT_TRUE(application.add_object_of(reinterpret_cast<const void*>(&call_libraries)));
    EXPECT_EQ(address_of_lock_once(), reinterpret_cast<const void*>(&libraries::lock_once));
    EXPECT_TRUE(application.contains(address(&libraries::compute)));
    EXPECT_TRUE(application.contains(call_stubs().begin));
    EXPECT_FALSE(application.contains(address(&libraries::add)));
    EXPECT_FALSE(application.contains(address(&std::malloc)));
}

/// Returns the access rights of the page at that address, from /proc.
std::string rights_at(std::uintptr_t where) {
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t begin = 0, end = 0;
        char rights[5] = {};
        if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights) == 3 && where >= begin && where < end)
            return rights;
    }
    return {};
}

TEST(library_calls, leave_the_offset_table_read_only) {
    code_map application{nullptr, true};
    ASSERT_TRUE(application.add_object_of(reinterpret_cast<const void*>(&call_libraries)));
    const auto all = loaded_object::all();
    const auto object = std::ranges::find_if(all, [](const loaded_object& o) {
        return o.contains(reinterpret_cast<std::uintptr_t>(reinterpret_cast<const void*>(&call_libraries)));
    });
    ASSERT_NE(object, all.end());
    int through_stubs = 0;
    for (const loaded_object::import& i : object->imports()) {
        if (!i.call || !call_stubs().contains(*i.slot)) continue;
        ++through_stubs;
        const auto where = reinterpret_cast<std::uintptr_t>(i.slot);
        if (!object->read_only_after_relocation().contains(where)) continue;
        EXPECT_EQ(rights_at(where), "r--p") << i.name;
    }
    EXPECT_GE(through_stubs, 2);
}

}  // namespace
}  // namespace tutti::preempt
