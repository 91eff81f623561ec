// The start of a server on an existing log: snapshots, calls that answer differently or cannot run again, and files
// that are not logs.
#include <pthread.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/client.hpp"
#include "server/durability/bank.hpp"
#include "support/effort.hpp"

namespace tutti::server {
namespace {

using namespace std::chrono_literals;
using support::rounds;

TEST_F(durability, snapshots_under_load) {
    std::vector<std::uint64_t> before;
    {
        settings how = with_log(log_sync::never);
        how.log.snapshot_after = 1000;
        bank b{how, true};
        mix(b, rounds(3000), 5);
        while (number_of(b.serves.info(), "log_snapshots") == 0) b.raw("mix", {"1", "2"});
        copy_as_if_killed(folder_ + "/copy");
        b.serves.drain();
        before = b.cells();
    }
    {
        bank again{with_log(), true};
        EXPECT_EQ(again.cells(), before);
        EXPECT_NE(notices().find("0 calls were run again, on a snapshot"), std::string::npos) << notices();
    }
    settings how = with_log();
    how.log.file = folder_ + "/copy";
    bank middle{how, true};  // every answer after the snapshot is compared
}

// Nested blocks of a dump are rolled back alone. The pieces that such a block has put before its roll-back must not
// stay.
TEST_F(durability, dumps_may_be_rolled_back_in_part) {
    std::vector<std::string> loaded;
    int runs = 0;
    const auto serve = [&] {
        settings how = with_log();
        how.log.snapshot_after = 1;
        auto serves = std::make_unique<service>(std::move(how));
        static_cast<void>(ledger::add(serves->procedures(), false));
        serves->procedures().at_snapshot(
            "pieces",
            [&](snapshot_writer& to) {
                to.put("first");
                for (const char* const which : {"a", "b"}) {
                    tutti::atomically([&](tutti::tx& t) {
                        to.put(which);
                        if (++runs % 2 == 1) tutti::restart(t);
                        to.put("more");
                    });
                }
                to.put("last");
            },
            [&](snapshot_reader& from) {
                loaded.clear();
                while (const auto piece = from.next()) loaded.emplace_back(*piece);
            });
        serves->start();
        return serves;
    };
    EXPECT_EQ(serve()->call<std::uint64_t>("next", {}, 3, 1).get(), 1U);
    static_cast<void>(serve());
    EXPECT_EQ(loaded, (std::vector<std::string>{"first", "a", "more", "b", "more", "last"}));
}

TEST_F(durability, replays_time_and_random_numbers) {
    std::uint64_t made = 0;
    {
        bank b{with_log()};
        made = b.serves.call<std::uint64_t>("dice", {}, 1).get();
        EXPECT_NE(b.serves.call<std::uint64_t>("dice", {}, 2).get(), made);
    }
    bank again{with_log()};
    EXPECT_EQ(again.state->cells[1].load(), made);
}

TEST_F(durability, detects_calls_that_depend_on_unlogged_state) {
    {
        bank b{with_log()};
        b.raw("clock", {"1"});
    }
    EXPECT_NE(refusal_of<bank>(with_log()).find("call 1 of the log, clock, cannot be run again: its answer differs"),
              std::string::npos)
        << refusal_of<bank>(with_log());
}

TEST_F(durability, reports_missing_procedures_and_endless_waits) {
    {
        settings how = with_log();
        service s{how};
        const auto here = std::make_shared<tutti::var<int>>(1);
        s.procedures().add("gone", {}, [here] { here->store(2); });
        s.start();
        s.call<void>("gone", {}).get();
    }
    EXPECT_NE(refusal_of<bank>(with_log()).find("the procedure 'gone' no longer exists"), std::string::npos);
    settings how = with_log();
    how.log.replay_limit = 20ms;
    service s{how};
    const auto here = std::make_shared<tutti::var<int>>(0);
    s.procedures().add("gone", {}, [here] {
        tutti::atomically([&](tutti::tx& t) {
            if (here->get(t) == 0) tutti::retry(t);
        });
    });
    try {
        s.start();
        FAIL();
    } catch (const std::runtime_error& e) {
        EXPECT_NE(std::string{e.what()}.find("it waits"), std::string::npos) << e.what();
    }
}

// Catches an exit that ends the process instead of the start.
TEST_F(durability, reports_a_replayed_call_that_ends_its_thread) {
    {
        service s{with_log()};
        const auto here = std::make_shared<tutti::var<int>>(1);
        s.procedures().add("leaves", {}, [here] { here->store(2); });
        s.start();
        s.call<void>("leaves", {}).get();
    }
    service s{with_log()};
    const auto here = std::make_shared<tutti::var<int>>(1);
    s.procedures().add("leaves", {}, [here] {
        here->store(2);
        pthread_exit(nullptr);
    });
    try {
        s.start();
        FAIL();
    } catch (const std::runtime_error& e) {
        EXPECT_NE(std::string{e.what()}.find("it tried to end its thread"), std::string::npos) << e.what();
    }
}

TEST_F(durability, refuses_files_that_are_not_logs) {
    {
        bank b{with_log()};
        EXPECT_NE(refusal_of<bank>(with_log()).find("in use by another"), std::string::npos)
            << refusal_of<bank>(with_log());
    }
    std::ofstream{folder_ + "/text"} << std::string(5000, 'x');
    settings how = with_log();
    how.log.file = folder_ + "/text";
    EXPECT_NE(refusal_of<bank>(how).find("is not the log of a server"), std::string::npos) << refusal_of<bank>(how);
    how.log.file = folder_ + "/none/log";
    EXPECT_NE(refusal_of<bank>(how).find("cannot be opened"), std::string::npos) << refusal_of<bank>(how);
}

}  // namespace
}  // namespace tutti::server
