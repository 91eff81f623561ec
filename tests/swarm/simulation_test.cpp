// Runs: every mode sees consistent snapshots, and the report contains the counts.
#include "swarm/simulation.hpp"

#include <gtest/gtest.h>

#include "swarm/report.hpp"

namespace swarm {
namespace {

using namespace std::chrono_literals;

class swarm_run : public testing::TestWithParam<std::size_t> {};

TEST_P(swarm_run, sees_consistent_snapshots_beside_three_threads) {
    run_settings settings;
    settings.threads = 3;
    settings.objects = 60;  // so that steps of different threads conflict
    settings.time = 0.2s;
    settings.fps = 1000;
    settings.record = true;
    const run_result result = simulate(settings, render_modes[GetParam()]);
    EXPECT_EQ(result.violation, "");
    EXPECT_GT(result.steps, 0u);
    EXPECT_FALSE(result.snapshot_times.empty());
    EXPECT_EQ(result.recording.size(), result.snapshot_times.size());
    EXPECT_LE(result.in_time, result.snapshot_times.size());
}

INSTANTIATE_TEST_SUITE_P(modes, swarm_run, testing::Range<std::size_t>(0, render_modes.size()),
                         [](const auto& mode) { return std::string{render_modes[mode.param].name}; });

run_result counted() {
    run_result r;
    r.mode = &render_modes[1];
    r.threads = 3;
    r.seconds = 2;
    for (int i = 1; i <= 50; ++i) r.snapshot_times.push_back(i * 1ms);
    r.in_time = 45;
    r.snapshot_restarts = 100;
    r.steps = 3000;
    r.step_restarts = 1000;
    return r;
}

TEST(swarm_result, is_computed_from_what_was_counted) {
    const run_result r = counted();
    EXPECT_DOUBLE_EQ(r.success(), 0.9);
    EXPECT_DOUBLE_EQ(r.frames_per_second(), 25);
    EXPECT_DOUBLE_EQ(r.restarts_per_snapshot(), 2);
    EXPECT_DOUBLE_EQ(r.retry_rate(), 0.25);
    EXPECT_EQ(r.percentile(0.5), 25ms);
    EXPECT_EQ(r.percentile(0.99), 50ms);
    EXPECT_EQ(run_result{}.percentile(0.5), 0ms);
}

TEST(swarm_result, is_shown_in_the_table_and_in_json) {
    const run_result r = counted();
    const std::string row = table_row(r);
    for (const char* shown : {"3  visible", " 90.0", " 25.0", " 25.00", " 50.00", " 2.0", " 1500"}) {
        EXPECT_NE(row.find(shown), std::string::npos) << shown << " in " << row;
    }
    const std::string json = result_json({}, "wb-etl", {&r, 1});
    for (const char* shown : {R"("mode": "visible")", R"("success": 0.90000)", R"("retry_rate": 0.25000)",
                              R"("algorithm": "wb-etl")", R"("policy": "patient")"}) {
        EXPECT_NE(json.find(shown), std::string::npos) << shown << " in " << json;
    }
}

}  // namespace
}  // namespace swarm
