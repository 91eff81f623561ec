// The events that tests of the scheduler wait for; they never wait for a time.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "preempt/kernel_device.hpp"
#include "preempt/procedures/busy.hpp"
#include "preempt/scheduler.hpp"

namespace tutti::preempt {

/// Lets only the procedures' shared object be preempted.
inline void add_procedures(scheduler& s) {
    ASSERT_TRUE(s.application().add_object_of(reinterpret_cast<const void*>(&procedures::spin)));
}

/// A suite that runs with each tick source. The kernel's source is skipped if it does not exist, unless
/// TUTTI_TEST_KERNEL in the environment requires it.
class of_each_source : public ::testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        if (GetParam() != std::string_view{"kernel"} || std::getenv("TUTTI_TEST_KERNEL") != nullptr) return;
        if (const std::string problem = kernel_device_problem(); !problem.empty()) GTEST_SKIP() << problem;
    }
};

/// The argument of a procedure that runs another procedure and then spins.
template <class First>
struct followed_by_spinner {
    First first;
    procedures::spinner then;
};
/// Runs `Procedure`, and then spins.
template <class First, void (*Procedure)(void*) noexcept>
void run_then_spin(void* of) noexcept {
    auto& both = *static_cast<followed_by_spinner<First>*>(of);
    Procedure(&both.first);
    procedures::spin(&both.then);
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
