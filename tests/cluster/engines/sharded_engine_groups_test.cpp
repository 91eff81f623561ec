// Two groups of real processes, and programs that are killed and stopped in the middle of commits that span both.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/cluster/groups.hpp>
#include <tutti/cluster/member.hpp>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/backend/fault_injection.hpp"
#include "cluster/engines/servers.hpp"
#include "support/effort.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using namespace tutti::cluster::testing;
using namespace std::chrono_literals;
using cluster::node;
using cluster::ref;
using cluster::backend::fault;

constexpr std::uint64_t accounts = 8;
constexpr long at_first = 100;

struct account {
    long balance = 0;
};

ref<account> account_of(const node& n, std::uint64_t i) { return {n, {1, i}}; }
/// Returns the object in which a program that moves money counts its transfers.
ref<account> count_of(const node& n, std::uint64_t program) { return {n, {2, program}}; }

cluster::engine_options options(const std::string& address) {
    cluster::engine_options how;
    how.address = address;
    how.prefix = "money";
    how.request_timeout = 5s;
    return how;
}

void open_accounts(const node& n, std::uint64_t programs) {
    atomically([&](tx& t) {
        for (std::uint64_t i = 0; i < accounts; ++i) account_of(n, i).publish(t, {at_first});
        for (std::uint64_t i = 0; i < programs; ++i) count_of(n, i).publish(t, {0});
    });
}

long sum(const node& n) {
    return atomically([&](tx& t) {
        long all = 0;
        for (std::uint64_t i = 0; i < accounts; ++i) all += account_of(n, i).read(t).balance;
        return all;
    });
}

/// Writes every object. If a transaction still holds an object, the block that writes the object meets that
/// transaction.
void touch_all(const node& n, std::uint64_t programs) {
    for (std::uint64_t i = 0; i < accounts; ++i) atomically([&](tx& t) { account_of(n, i).write(t).balance += 0; });
    for (std::uint64_t i = 0; i < programs; ++i) atomically([&](tx& t) { count_of(n, i).write(t).balance += 0; });
}

std::uint64_t prepared(groups_server& all) {
    std::uint64_t count = 0;
    for (std::size_t g = 0; g < 2; ++g) {
        for (const cluster::member_status& m : cluster::query_group(all.at(g).places(), 1s).members)
            count += m.state == "leader" ? m.prepared : 0;
    }
    return count;
}

/// A program that moves money in one to four transfers at once. It prints its count, or "?" if the outcome is unknown.
[[noreturn]] void move_money(const std::string& address, std::uint64_t self) {
    support::random dice{static_cast<std::uint64_t>(::getpid())};
    std::unique_ptr<node> here;
    while (true) {
        try {
            if (!here) here = std::make_unique<node>(options(address));
            const std::uint64_t plan = dice.below(~std::uint64_t{0});
            const long done = atomically([&](tx& t) {
                support::random steps{plan};
                for (std::uint64_t pieces = 1 + steps.below(4); pieces > 0; --pieces) {
                    account_of(*here, steps.below(accounts)).write(t).balance -= 1;
                    account_of(*here, steps.below(accounts)).write(t).balance += 1;
                }
                return ++count_of(*here, self).write(t).balance;
            });
            std::printf("%ld\n", done);
        } catch (const cluster::outcome_unknown&) {
            std::printf("?\n");
        } catch (const std::exception& e) {
            std::printf("- %s\n", e.what());
            std::this_thread::sleep_for(5ms);
        }
        std::fflush(stdout);
    }
}

/// A program that moves ten from the first account to all others, once, and dies or stops on the way.
int transfer_once(const std::string& address, fault step) {
    node here{options(address)};
    cluster::backend::injected_fault = step;
    atomically([&](tx& t) {
        for (std::uint64_t i = 1; i < accounts; ++i) account_of(here, i).write(t).balance += 10;
        account_of(here, 0).write(t).balance -= 10 * static_cast<long>(accounts - 1);
    });
    std::printf("moved\n");
    return 0;
}

/// A program that balances the objects over the groups. The group `who` joins, or leaves if `who` starts with a minus
/// sign. The program prints the number of moved slots after each step.
int rebalance_groups(const std::string& address, const std::string& who) {
    cluster::rebalance_request what;
    if (who.starts_with('-')) what.remove.push_back(who.substr(1));
    else what.add.push_back(who);
    try {
        cluster::rebalance(options(address), what, [](const cluster::groups_status& now) {
            std::printf("%zu\n", now.moved);
            std::fflush(stdout);
        });
    } catch (const std::exception& e) {
        std::printf("- %s\n", e.what());
        return 1;
    }
    return 0;
}

/// Starts this program again in one of these roles; see main.
process start_rebalancing(const std::string& address, const std::string& who, const std::string& log) {
    return process{{"/proc/self/exe", "evens-out", address, who}, log};
}
process moving(const std::string& address, const std::string& log, std::uint64_t number) {
    return process{{"/proc/self/exe", "moves", address, std::to_string(number)}, log};
}
process coming_to(fault step, const std::string& address, const std::string& log) {
    return process{{"/proc/self/exe", "comes-to", address, std::to_string(static_cast<int>(step))}, log};
}

struct printed_counts {
    long last = 0;  ///< the last acknowledged count
    long unknown = 0;
};

printed_counts read_log(const std::string& log) {
    printed_counts all;
    std::ifstream in{log};
    for (std::string line; std::getline(in, line);) {
        if (line == "?") ++all.unknown;
        else if (const long n = std::strtol(line.c_str(), nullptr, 10); n > 0) all.last = std::max(all.last, n);
    }
    return all;
}

class sharded_engine_groups_test : public ::testing::Test {
protected:
    std::string log_of(std::uint64_t i) const {
        return ::testing::TempDir() + "tutti-teller-" + std::to_string(::getpid()) + "-" + std::to_string(i);
    }
    void TearDown() override {
        for (std::uint64_t i = 0; i < 4; ++i) ::unlink(log_of(i).c_str());
    }
    support::watchdog guard_{"spread_groups", 100s};
};

TEST_F(sharded_engine_groups_test, preserves_the_sum_when_processes_are_killed) {
    constexpr std::uint64_t programs = 3;
    groups_server all{3};
    all.start();
    const std::string address = all.address();
    node here{options(address)};
    open_accounts(here, programs);
    std::vector<process> tellers;
    std::vector<long> killed(programs, 0);
    for (std::uint64_t i = 0; i < programs; ++i) tellers.push_back(moving(address, log_of(i), i));
    const auto moved = [&] {
        long count = 0;
        for (std::uint64_t i = 0; i < programs; ++i) count += read_log(log_of(i)).last;
        return count;
    };
    const auto let_move = [&](long count) {
        for (const long until = moved() + count; moved() < until;) std::this_thread::sleep_for(5ms);
    };
    support::random dice{1};
    for (std::size_t round = 0; round < support::rounds(4); ++round) {
        for (int i = 0; i < 4; ++i) {
            let_move(20 + static_cast<long>(dice.below(20)));
            const std::uint64_t one = dice.below(programs);
            tellers[one].end();
            ++killed[one];
            tellers[one] = moving(address, log_of(one), one);
        }
        group_server& group = all.at(round % 2);
        group.at(group.leader()).end();
        let_move(30);
        ASSERT_EQ(sum(here), at_first * static_cast<long>(accounts));
        group.start();
    }
    let_move(30);
    for (process& one : tellers) one.end();
    EXPECT_EQ(sum(here), at_first * static_cast<long>(accounts));
    for (std::uint64_t i = 0; i < programs; ++i) {
        const printed_counts s = read_log(log_of(i));
        const long count = atomically([&](tx& t) { return count_of(here, i).read(t).balance; });
        EXPECT_GE(count, s.last) << "an acknowledged transfer is lost";
        EXPECT_LE(count, s.last + s.unknown + killed[i] + 1) << "a transfer happened twice";
        std::printf("program %d: %ld moves, %ld of them acknowledged last, %ld unknown, killed %ld times\n",
                    static_cast<int>(i), count, s.last, s.unknown, killed[i] + 1);
    }
    touch_all(here, programs);
    EXPECT_EQ(prepared(all), 0u);
}

TEST_F(sharded_engine_groups_test, preserves_the_sum_while_groups_join_and_leave) {
    constexpr std::uint64_t programs = 2;
    groups_server all{3};
    group_server third{1};
    all.start();
    third.start();
    const std::string address = all.address();
    node here{options(address)};
    open_accounts(here, programs);
    // A block that sleeps until the end is woken in a group that did not exist when it began to sleep.
    std::thread sleeper{[&] {
        atomically([&](tx& t) {
            if (account_of(here, accounts).find(t) == nullptr) retry(t);
        });
    }};
    std::vector<process> tellers;
    for (std::uint64_t i = 0; i < programs; ++i) tellers.push_back(moving(address, log_of(i), i));
    std::vector<long> killed(programs, 0);
    support::random dice{2};
    const auto teller_is_killed = [&] {
        const std::uint64_t one = dice.below(programs);
        tellers[one].end();
        ++killed[one];
        tellers[one] = moving(address, log_of(one), one);
    };
    const auto steps = [&] {
        std::ifstream in{log_of(3)};
        return std::count(std::istreambuf_iterator<char>{in}, {}, '\n');
    };
    /// Kills the migrating program twice in the middle of its work. The steps that the program has finished stay done.
    const auto evens_out = [&](const std::string& who, std::size_t group) {
        for (int lives = 0; lives < 2; ++lives) {
            process migrating = start_rebalancing(address, who, log_of(3));
            for (const auto until = steps() + 2; steps() < until && !migrating.has_ended();)
                std::this_thread::sleep_for(2ms);
            migrating.end();
            teller_is_killed();
            if (lives == 0) all.at(group).at(all.at(group).leader()).end();
            EXPECT_EQ(sum(here), at_first * static_cast<long>(accounts));
            all.at(group).start();
        }
        for (bool done = false; !done;) {
            process migrating = start_rebalancing(address, who, log_of(3));
            done = migrating.wait();
        }
        EXPECT_EQ(sum(here), at_first * static_cast<long>(accounts));
    };
    evens_out(third.place(), 0);
    for (const cluster::groups_status::group& g : cluster::query_groups(options(address)).groups)
        EXPECT_NEAR(static_cast<double>(g.slots), 256.0 / 3, 1.0) << g.addresses;
    evens_out("-" + all.at(0).place(), 1);
    const cluster::groups_status now = cluster::query_groups(options(address));
    ASSERT_EQ(now.groups.size(), 3u);
    EXPECT_EQ(now.groups[0].slots + now.groups[1].slots + now.groups[2].slots, 256u);
    EXPECT_EQ(std::ranges::count_if(now.groups, [](const auto& g) { return g.has_left && g.slots == 0; }), 1);
    // The group that has left ends for good. Running programs and new programs work without it.
    for (process& one : tellers) one.end();
    for (std::size_t i = 0; i < 3; ++i) all.at(0).at(i).end();
    EXPECT_EQ(sum(here), at_first * static_cast<long>(accounts));
    node late{options(all.at(1).address())};
    EXPECT_EQ(sum(late), at_first * static_cast<long>(accounts));
    atomically([&](tx& t) { account_of(late, accounts).publish(t, {0}); });
    sleeper.join();
    for (std::uint64_t i = 0; i < programs; ++i) {
        const printed_counts s = read_log(log_of(i));
        const long count = atomically([&](tx& t) { return count_of(late, i).read(t).balance; });
        EXPECT_GE(count, s.last) << "an acknowledged transfer is lost";
        EXPECT_LE(count, s.last + s.unknown + killed[i] + 1) << "a transfer happened twice";
    }
}

/// Waits until the groups report that the third one is at `places`.
void until_reported(const std::string& address, std::uint64_t third, std::vector<std::string> places) {
    std::ranges::sort(places);
    const auto is_as_expected = [&] {
        for (const cluster::groups_status::group& g : cluster::query_groups(options(address)).groups) {
            if (g.number != third) continue;
            std::vector<std::string> now;
            std::istringstream in{g.addresses};
            for (std::string one; std::getline(in, one, ',');) now.push_back(one);
            std::ranges::sort(now);
            return now == places;
        }
        return false;
    };
    while (!is_as_expected()) std::this_thread::sleep_for(20ms);
}

TEST_F(sharded_engine_groups_test, finds_a_joined_group_by_all_its_addresses) {
    groups_server all{1};
    group_server third{3};
    all.start();
    third.start();
    const std::string address = all.address();
    node here{options(address)};
    open_accounts(here, 1);
    cluster::rebalance(options(address), {{third.place()}, {}});
    const std::uint64_t number = cluster::query_group(third.places(), 2000ms).group;
    until_reported(address, number, third.places());
    // The named member goes. Programs that name only the first two groups find the other members.
    third.at(0).end();
    const node late{options(address)};
    EXPECT_EQ(sum(late), at_first * static_cast<long>(accounts));
    // Running programs send the groups the address of a new member, and new programs learn it there.
    third.start_one(0);
    third.add();
    EXPECT_EQ(sum(here), at_first * static_cast<long>(accounts));
    until_reported(address, number, third.places());
    // A group that a program names may have other addresses by now.
    const std::string nowhere = "tutti://" + all.at(0).place() + ";" + all.at(1).place() + ";127.0.0.1:1";
    const node later{options(nowhere)};
    EXPECT_EQ(sum(later), at_first * static_cast<long>(accounts));
}

TEST_F(sharded_engine_groups_test, aborts_if_killed_before_the_decision) {
    groups_server all{1};
    all.start();
    node here{options(all.address())};
    open_accounts(here, 0);
    process one = coming_to(fault::killed_when_prepared, all.address(), log_of(0));
    EXPECT_FALSE(one.wait());
    EXPECT_EQ(prepared(all), 1u);  // the status reports it
    EXPECT_EQ(atomically([&](tx& t) { return account_of(here, 0).read(t).balance; }), at_first);
    touch_all(here, 0);
    EXPECT_EQ(prepared(all), 0u);
    EXPECT_EQ(atomically([&](tx& t) { return account_of(here, 1).read(t).balance; }), at_first);
    EXPECT_EQ(sum(here), at_first * static_cast<long>(accounts));
}

TEST_F(sharded_engine_groups_test, commits_if_killed_after_the_decision) {
    groups_server all{1};
    all.start();
    node here{options(all.address())};
    open_accounts(here, 0);
    process one = coming_to(fault::killed_when_decided, all.address(), log_of(0));
    EXPECT_FALSE(one.wait());
    EXPECT_EQ(prepared(all), 1u);
    // Both groups restart from their disks.
    for (std::size_t g = 0; g < 2; ++g) {
        all.at(g).at(0).end();
        all.at(g).start();
    }
    EXPECT_EQ(prepared(all), 1u);
    for (std::uint64_t i = 1; i < accounts; ++i)
        EXPECT_EQ(atomically([&](tx& t) { return account_of(here, i).read(t).balance; }), at_first + 10) << i;
    EXPECT_EQ(sum(here), at_first * static_cast<long>(accounts));
    EXPECT_EQ(prepared(all), 0u);
}

TEST_F(sharded_engine_groups_test, retries_after_a_long_stop) {
    groups_server all{1};
    all.start();
    node here{options(all.address())};
    open_accounts(here, 0);
    process one = coming_to(fault::stopped_when_prepared, all.address(), log_of(0));
    for (int status = 0; ::waitpid(one.id(), &status, WUNTRACED) != one.id() || !WIFSTOPPED(status);) {}
    EXPECT_EQ(prepared(all), 1u);
    atomically([&](tx& t) {
        account_of(here, 0).write(t).balance -= 1;
        account_of(here, 7).write(t).balance += 1;
    });
    touch_all(here, 0);
    EXPECT_EQ(prepared(all), 0u);
    // The program stops once more when it tries again.
    ::kill(one.id(), SIGCONT);
    for (int status = 0; ::waitpid(one.id(), &status, WUNTRACED) != one.id() || !WIFSTOPPED(status);) {}
    ::kill(one.id(), SIGCONT);
    EXPECT_TRUE(one.wait());
    EXPECT_EQ(atomically([&](tx& t) { return account_of(here, 1).read(t).balance; }), at_first + 10);
    EXPECT_EQ(sum(here), at_first * static_cast<long>(accounts));
}

TEST_F(sharded_engine_groups_test, rejects_what_several_groups_do_not_support) {
    groups_server all{1};
    all.start();
    const auto refusal = [](const cluster::engine_options& how) -> std::string {
        try {
            node one{how};
        } catch (const cluster::connection_error& e) {
            return e.what();
        }
        return "it was not refused";
    };
    cluster::engine_options how = options(all.address());
    how.staleness = 100ms;
    EXPECT_NE(refusal(how).find("the groups at " + all.at(0).place() + "; " + all.at(1).place()), std::string::npos)
        << refusal(how);
    how.staleness = 0ms;
    open_accounts(node{how}, 0);
    how.address = "tutti://" + all.at(1).place() + ";" + all.at(0).place();
    EXPECT_EQ(sum(node{how}), at_first * static_cast<long>(accounts));
    how.address = all.at(0).address();
    EXPECT_NE(refusal(how).find("other groups"), std::string::npos) << refusal(how);
    how.address = all.address() + ";" + all.at(0).place();
    EXPECT_NE(refusal(how).find("name it once"), std::string::npos) << refusal(how);
    how.prefix = "another";
    how.address = all.at(0).address();
    const node alone{how};
    how.address = all.address();
    EXPECT_NE(refusal(how).find("other groups"), std::string::npos) << refusal(how);
}

}  // namespace

/// Runs the tests, or one of the programs that they start, if there are arguments.
int main(int argc, char** argv) {
    if (argc == 4 && std::string_view{argv[1]} == "moves") move_money(argv[2], std::strtoull(argv[3], nullptr, 10));
    if (argc == 4 && std::string_view{argv[1]} == "comes-to")
        return transfer_once(argv[2], static_cast<fault>(std::atoi(argv[3])));
    if (argc == 4 && std::string_view{argv[1]} == "evens-out") return rebalance_groups(argv[2], argv[3]);
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
