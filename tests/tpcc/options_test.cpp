#include "tpcc/options.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tpcc/report.hpp"

namespace tpcc {
namespace {

program_options parsed(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "tutti-tpcc");
    return std::get<program_options>(parse_command_line(static_cast<int>(arguments.size()), arguments.data()));
}

TEST(tpcc_options, have_defaults) {
    const program_options o = parsed({});
    EXPECT_EQ(o.warehouses, 1);
    EXPECT_GE(o.run.threads, 1u);
    EXPECT_EQ(o.run.time.count(), 5);
    EXPECT_EQ(o.run.mix, standard_mix);
    EXPECT_EQ(o.run.seed, 7u);
    EXPECT_TRUE(o.check);
    EXPECT_FALSE(o.statistics);
    EXPECT_EQ(o.size.items, 100'000);
}

TEST(tpcc_options, are_taken) {
    const program_options o =
        parsed({"--warehouses", "2", "--threads=3", "--seconds", "0.5", "--mix", "0,0,100,0,0", "--algorithm", "norec",
                "--seed", "11", "--statistics", "--no-check", "--json", "out.json", "--shrink", "10"});
    EXPECT_EQ(o.warehouses, 2);
    EXPECT_EQ(o.run.threads, 3u);
    EXPECT_EQ(o.run.time.count(), 0.5);
    EXPECT_EQ(o.run.mix, (profile_mix{0, 0, 100, 0, 0}));
    EXPECT_EQ(o.algorithm, "norec");
    EXPECT_EQ(o.run.seed, 11u);
    EXPECT_TRUE(o.statistics);
    EXPECT_FALSE(o.check);
    EXPECT_EQ(o.json, "out.json");
    EXPECT_EQ(o.size.items, 10'000);
    EXPECT_EQ(o.size.customers_per_district, 300);
}

TEST(tpcc_options, refuse_in_one_line) {
    const std::vector<std::vector<const char*>> bad{{"--threads", "0"},
                                                    {"--threads", "1.5"},
                                                    {"--threads", ""},
                                                    {"--warehouses", "-1"},
                                                    {"--seconds", "0"},
                                                    {"--seconds", "-1"},
                                                    {"--seconds", "nan"},
                                                    {"--seconds", "inf"},
                                                    {"--mix", "100"},
                                                    {"--mix", "50,50"},
                                                    {"--mix", "45,43,4,4,3"},
                                                    {"--mix", "145,-45,0,0,0"},
                                                    {"--mix", "20,20,20,20,20,0"},
                                                    {"--mix", "45,,43,4,4,4"},
                                                    {"--seed", "-1"},
                                                    {"--seed", "x"},
                                                    {"--algorithm", "nosuch"},
                                                    {"--algorithm", ""},
                                                    {"--shrink", "0"},
                                                    {"--bogus"},
                                                    {"surplus"},
                                                    {"--warehouses"}};
    for (const auto& arguments : bad) {
        try {
            static_cast<void>(parsed(arguments));
            ADD_FAILURE() << arguments[0] << " was accepted";
        } catch (const cli::command_line_error& e) {
            EXPECT_EQ(std::string_view{e.what()}.find('\n'), std::string_view::npos) << e.what();
            EXPECT_NE(std::string_view{e.what()}.find(arguments[0]), std::string_view::npos) << e.what();
        }
    }
}

TEST(tpcc_report, shows_what_was_counted) {
    run_result result;
    result.seconds = 2;
    profile_statistics& t = result.profiles[0];
    t.commits = 1000;
    t.rolled_back = 10;
    t.restarts = 500;
    for (int i = 0; i < 1010; ++i) t.turnaround.add(5000);
    EXPECT_EQ(new_orders_per_minute(result), 30'000);
    const std::string table = result_table(result);
    EXPECT_NE(table.find("0.5000"), std::string::npos) << table;  // restarts per commit
    EXPECT_NE(table.find("5.0"), std::string::npos) << table;     // microseconds

    verdict v{.condition = 4,
              .statement = "a = b",
              .unit = "rows",
              .compared = 3,
              .violated = 1,
              .first_violation = "1 and 2"};
    EXPECT_NE(consistency_table("title", {v}).find("VIOLATED"), std::string::npos);
    EXPECT_NE(consistency_table("title", {v}).find("1 and 2"), std::string::npos);
    v.violated = 0;
    EXPECT_EQ(consistency_table("title", {v}).find("VIOLATED"), std::string::npos);
}

}  // namespace
}  // namespace tpcc
