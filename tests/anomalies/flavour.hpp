// The ways of running a block in which every anomaly is tested, and the fixture that runs a suite in each of them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>

#include "support/effort.hpp"
#include "support/watchdog.hpp"
#include "support/worker_group.hpp"
#include "tutti/tutti.hpp"

namespace tutti::anomalies {

using support::rounds;
using support::run_threads;

/// One way of running a block.
struct flavour {
    const char* name;
    tutti::mode mode = tutti::mode::optimistic;
    bool jumps = false;  ///< restarts jump, so the body must not have destructors
    bool mixed = false;  ///< each thread has its own flavour, given by `of`

    static const std::array<flavour, 6>& pure() {
        static constexpr std::array<flavour, 6> all{{
            {"optimistic", tutti::mode::optimistic, false},
            {"optimistic_jumping", tutti::mode::optimistic, true},
            {"visible", tutti::mode::visible, false},
            {"visible_jumping", tutti::mode::visible, true},
            {"irrevocable", tutti::mode::irrevocable, false},
            {"irrevocable_jumping", tutti::mode::irrevocable, true},
        }};
        return all;
    }
    /// Returns the flavour of thread `index` in a test that runs under this flavour.
    [[nodiscard]] flavour of(unsigned index) const { return mixed ? pure()[index % pure().size()] : *this; }
    /// Returns the same flavour for a body with objects that have destructors, such as strings or GoogleTest's objects.
    [[nodiscard]] flavour unwinding() const {
        flavour f = *this;
        f.jumps = false;
        return f;
    }
};

inline std::ostream& operator<<(std::ostream& to, const flavour& f) { return to << f.name; }

/// Runs `body` as a block of that flavour; `how` has the other options.
template <class F>
auto run(const flavour& f, options how, F&& body) {
    how.mode = f.mode;
    if (f.jumps) return atomically(no_unwind, how, body);
    return atomically(how, body);
}
template <class F>
auto run(const flavour& f, F&& body) {
    return run(f, options{}, body);
}

/// Returns true if two transactions of this process can run at the same time. Otherwise, a body that waits for another
/// thread's transaction waits forever. Under `htm` they can, until hardware has failed one of them.
inline bool concurrent() { return algorithm() != "serial" && algorithm() != "global-lock" && algorithm() != "htm"; }

/// Returns true if the engine runs one transaction at a time from begin to end, so that modes mean nothing and each
/// open nested block is closed. This does not apply to `htm`: a block whose hardware attempts have failed becomes
/// irrevocable at its first access. An open nested block before that access is a transaction of its own.
inline bool one_at_a_time() { return algorithm() == "serial" || algorithm() == "global-lock"; }

/// Returns true if the engine compares values and lets one commit write back at a time: `norec`, alone and beside
/// hardware.
inline bool commits_one_by_one() { return algorithm() == "norec" || algorithm() == "hytm" || algorithm() == "htm"; }

/// Counts violations. Bodies that jump cannot hold GoogleTest's objects, and a violation seen by a rolled-back attempt
/// must count.
class violations {
public:
    void expect(bool held) {
        if (!held) [[unlikely]]
            count_.fetch_add(1, std::memory_order_relaxed);
    }
    [[nodiscard]] long count() const { return count_.load(); }

private:
    std::atomic<long> count_{0};
};

inline std::string test_name() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    return info == nullptr ? "?" : std::string{info->test_suite_name()} + "." + info->name();
}

/// A suite that runs once.
class suite : public ::testing::Test {
    support::watchdog watchdog_{test_name() + " under " + std::string{algorithm()}};
};

/// A suite that runs in every flavour.
class suite_of_flavours : public ::testing::TestWithParam<flavour> {
protected:
    [[nodiscard]] static flavour unwinding() { return GetParam().unwinding(); }

private:
    support::watchdog watchdog_{test_name() + " under " + std::string{algorithm()}};
};

inline auto every_flavour() {
    std::vector<flavour> all(flavour::pure().begin(), flavour::pure().end());
    all.push_back({"mixed", tutti::mode::optimistic, false, true});
    return ::testing::ValuesIn(all);
}
/// Returns all flavours except the irrevocable ones, for tests of actions that an irrevocable block may not take.
inline auto revocable_flavours() {
    return ::testing::ValuesIn(std::vector<flavour>(flavour::pure().begin(), flavour::pure().begin() + 4));
}

inline std::string flavour_name(const ::testing::TestParamInfo<flavour>& info) { return info.param.name; }

}  // namespace tutti::anomalies

#define TUTTI_IN_EVERY_FLAVOUR(suite_name) \
    INSTANTIATE_TEST_SUITE_P(in, suite_name, ::tutti::anomalies::every_flavour(), ::tutti::anomalies::flavour_name)
#define TUTTI_IN_REVOCABLE_FLAVOURS(suite_name) \
    INSTANTIATE_TEST_SUITE_P(in, suite_name, ::tutti::anomalies::revocable_flavours(), ::tutti::anomalies::flavour_name)
