// Commits of one node alone, in one step, from several threads: the protocol without engine and network.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/fault.hpp"
#include "cluster/protocol/transaction.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti::cluster;
namespace support = tutti::support;

class nobody_else final : public network {
public:
    void exchange(std::span<call> calls) override { EXPECT_TRUE(calls.empty()); }
    void begin(std::span<call> calls) override { EXPECT_TRUE(calls.empty()); }
    void finish() override { ADD_FAILURE(); }
    void post(node_number, tutti::wire::kind, std::string) override { ADD_FAILURE(); }
    void pause(unsigned) override { std::this_thread::yield(); }
};

constexpr std::uint64_t accounts = 6;
constexpr long opening = 100;

/// Twice, so that half of a change shows.
using balances = std::array<long, 2>;

std::string bytes_of(long balance) {
    const balances both{balance, balance};
    return {reinterpret_cast<const char*>(&both), sizeof both};
}

long balance_of(const std::string& bytes) {
    balances both{};
    std::memcpy(&both, bytes.data(), std::min(bytes.size(), sizeof both));
    constexpr long torn = 1'000'000;
    return both[0] == both[1] ? both[0] : torn;
}

/// A bank on a node of a cluster of one.
class bank {
public:
    bank() {
        nobody_else network;
        transaction t{here, network, 0};
        EXPECT_TRUE(t.begin());
        for (std::uint64_t i = 0; i < accounts; ++i) set(t, i, opening);
        EXPECT_EQ(t.prepare(true), outcome::good);
        t.commit();
    }
    /// `at_once`: else by locks, as beside other nodes.
    static bool transfer(transaction& t, std::uint64_t from, std::uint64_t to, bool at_once) {
        if (!t.begin()) return false;
        if (!add(t, from, -1) || !add(t, to, 1)) return false;
        if (t.prepare(at_once) != outcome::good) return false;
        EXPECT_EQ(t.decided(), at_once);
        if (!at_once) std::this_thread::yield();  // with its locks
        t.commit();
        return true;
    }
    /// Of all accounts, one after the other; 0 if it has to start over.
    static long sum(transaction& t, bool snapshot) {
        if (!t.begin(snapshot)) return 0;
        long all = 0;
        for (std::uint64_t i = 0; i < accounts; ++i) {
            if (!open(t, i)) return 0;
            all += balance_of(t.find({0, i})->bytes);
            std::this_thread::yield();  // so that much happens meanwhile
        }
        t.end_snapshot();
        return all;
    }

    site here{0, 1, moving::never};

private:
    static bool open(transaction& t, std::uint64_t i) {
        const object_id id{0, i};
        return t.open({&id, 1}) == outcome::good;
    }
    static bool set(transaction& t, std::uint64_t i, long balance) {
        if (!open(t, i)) return false;
        entry& e = *t.find({0, i});
        e.written = e.will_exist = true;
        e.fresh = bytes_of(balance);
        return true;
    }
    static bool add(transaction& t, std::uint64_t i, long by) {
        return open(t, i) && set(t, i, balance_of(t.find({0, i})->bytes) + by);
    }
};

/// Two threads that transfer, at once and by locks, and two that look; what is wrong with it, or nothing.
std::string run_bank(std::size_t transfers) {
    bank b;
    std::atomic<unsigned> running{2};
    std::atomic<bool> torn{false};
    std::vector<std::jthread> threads;
    for (std::uint16_t slot = 1; slot <= 2; ++slot) {
        threads.emplace_back([&, slot] {
            nobody_else network;
            transaction t{b.here, network, slot};
            for (std::size_t i = 0; i < transfers; ++i) {
                const std::uint64_t from = (i + slot) % accounts, to = (i * 5 + 1) % accounts;
                while (from != to && !bank::transfer(t, from, to, slot == 1 || i % 2 == 0)) std::this_thread::yield();
            }
            running.fetch_sub(1);
        });
        threads.emplace_back([&, slot] {
            nobody_else network;
            transaction t{b.here, network, static_cast<std::uint16_t>(slot + 2)};
            while (running.load() != 0) {
                const long all = bank::sum(t, slot == 1);
                if (all != 0 && all != accounts * opening) torn = true;
            }
        });
    }
    threads.clear();
    nobody_else network;
    transaction t{b.here, network, 0};
    if (torn) return "a sum of two moments";
    return bank::sum(t, false) == accounts * opening ? "" : "money was lost";
}

TEST(cluster_at_once, commits_beside_each_other_keep_the_money) {
    const support::watchdog guard{"cluster_at_once"};
    EXPECT_EQ(run_bank(support::rounds(4'000)), "");
}

class cluster_at_once_fault : public ::testing::TestWithParam<fault> {};

TEST_P(cluster_at_once_fault, is_caught) {
    const support::watchdog guard{"cluster_at_once_fault"};
    injected_fault = GetParam();
    std::string found;
    for (int turn = 0; found.empty() && turn < 5000; ++turn) found = run_bank(500);
    injected_fault = fault::none;
    EXPECT_NE(found, "");
}

// What is wrong with one commit after the other, the simulation shows.
INSTANTIATE_TEST_SUITE_P(all, cluster_at_once_fault,
                         ::testing::Values(fault::at_once_in_parts, fault::draw_version_early,
                                           fault::look_through_changes, fault::show_what_is_locked),
                         [](const auto& p) {
                             switch (p.param) {
                                 case fault::at_once_in_parts: return "in_parts";
                                 case fault::draw_version_early: return "version_drawn_early";
                                 case fault::look_through_changes: return "look_through_changes";
                                 default: return "show_what_is_locked";
                             }
                         });

}  // namespace
