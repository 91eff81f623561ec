// What the tests of the scheduler wait for: things that happen, never a time.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "preempt/procedures/busy.hpp"
#include "preempt/scheduler.hpp"

namespace tutti::preempt {

/// Only the procedures' shared object may be preempted.
inline void add_procedures(scheduler& s) {
    ASSERT_TRUE(s.application().add_object_of(reinterpret_cast<const void*>(&procedures::spin)));
}

inline void wait_until(const std::atomic<bool>& flag) {
    while (!flag.load()) std::this_thread::yield();
}

inline void wait_for_progress(const std::atomic<std::uint64_t>& turns) {
    const std::uint64_t before = turns.load();
    while (turns.load() == before) std::this_thread::yield();
}

inline void wait_for_count(const std::atomic<int>& count, int least) {
    while (count.load() < least) std::this_thread::yield();
}

}  // namespace tutti::preempt
