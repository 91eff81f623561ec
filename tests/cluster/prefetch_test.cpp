// Objects that are requested before they are needed. The other node is a process, so that a test can stop it.
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/nodes.hpp"
#include "cluster/processes.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using cluster::node;
using cluster::object_id;
using cluster::prefetch_async;
using cluster::ref;
using cluster::testing::account;

/// This process is node 0, and the other process is node 1.
struct cluster_prefetch : ::testing::Test {
    cluster_prefetch() {
        std::vector<std::string> words{TUTTI_NODE_PROCESS, "1", "600000", "-"};
        words.insert(words.end(), addresses.begin(), addresses.end());
        other = std::make_unique<cluster::testing::node_process>(std::move(words));
        here = std::make_unique<node>(cluster::node_options{
            .node_number = 0, .addresses = addresses, .failure_timeout = std::chrono::minutes{10}});
        EXPECT_TRUE(other->receive().starts_with("ready "));
    }
    ~cluster_prefetch() override {
        here.reset();
        other.reset();
        for (const std::string& a : addresses) ::unlink(a.c_str() + 5);
    }
    [[nodiscard]] ref<account> at(unsigned number, std::uint64_t which) const {
        return {*here, here->id_at(number, {81, which})};
    }
    void publish(const ref<account>& what, long balance) const {
        atomically([&](tx& t) { what.publish(t, {balance}); });
    }

    const support::watchdog guard{"cluster_prefetch"};
    const std::vector<std::string> addresses = cluster::testing::some_addresses(2);
    std::unique_ptr<cluster::testing::node_process> other;
    std::unique_ptr<node> here;
};

// Catches a request that is not sent, and a request that blocks while the other node is stopped.
TEST_F(cluster_prefetch, does_not_wait) {
    const ref<account> one = at(1, 1), two = at(1, 2), mine = at(0, 3);
    for (const auto& r : {one, two, mine}) publish(r, 10);
    bool went_on = false;
    other->stop();
    atomically([&](tx& t) {
        const auto sent = here->status().messages_sent;
        auto [a, b, c] = prefetch_async(t, one, two, mine);
        EXPECT_EQ(here->status().messages_sent - sent, 1u) << "one request for both; heartbeats are sent every minute";
        EXPECT_EQ(c.get(t).balance, 10) << "what is here need not be waited for";
        if (!went_on) other->go_on();
        went_on = true;
        a.write(t).balance -= 3;
        EXPECT_EQ(b.get(t).balance, 10);
    });
    EXPECT_EQ(atomically([&](tx& t) { return one.read(t).balance; }), 7);
}

TEST_F(cluster_prefetch, opens_all_objects_at_the_first_use) {
    std::vector<ref<account>> all;
    for (std::uint64_t i = 0; i < 20; ++i) all.push_back(at(1, i));
    for (const auto& r : all) publish(r, 1);
    const auto before = here->statistics().round_trips;
    const long sum = atomically([&](tx& t) {
        long found = 0;
        for (const auto& f : prefetch_async(t, all)) found += f.get(t).balance;
        return found;
    });
    EXPECT_EQ(sum, 20);
    EXPECT_LE(here->statistics().round_trips - before, 1u) << "none, if the answer was there";
}

// Catches an answer that is considered current only because it has just arrived.
TEST_F(cluster_prefetch, loses_no_concurrent_update) {
    const ref<account> one = at(1, 1);
    publish(one, 0);
    int runs = 0;
    atomically([&](tx& t) {
        auto [a] = prefetch_async(t, one);
        if (++runs == 1) std::thread{[&] { atomically([&](tx& u) { one.write(u).balance += 1; }); }}.join();
        a.write(t).balance += 1;
    });
    EXPECT_EQ(atomically([&](tx& t) { return one.read(t).balance; }), 2);
}

// An answer is dropped if the attempt that asked is over, or if the object is never used.
TEST_F(cluster_prefetch, is_discarded_without_a_use) {
    const ref<account> one = at(1, 1), two = at(1, 2);
    publish(one, 1);
    publish(two, 2);
    for (int i = 0; i < 3; ++i) {
        atomically([&](tx& t) { static_cast<void>(prefetch_async(t, one)); });
        EXPECT_THROW(atomically([&](tx& t) {
                         static_cast<void>(prefetch_async(t, one));
                         throw std::runtime_error{"no"};
                     }),
                     std::runtime_error);
        EXPECT_EQ(atomically([&](tx& t) {
                      static_cast<void>(prefetch_async(t, one));
                      auto [b] = prefetch_async(t, two);
                      return one.read(t).balance + b.get(t).balance;
                  }),
                  3);
    }
}

// An irrevocable block reserves the objects that it opens. Prefetched objects are not reserved.
TEST_F(cluster_prefetch, opens_immediately_in_an_irrevocable_block) {
    const ref<account> one = at(1, 1), two = at(1, 2);
    publish(one, 1);
    publish(two, 1);
    int runs = 0;
    atomically([&](tx& t) {
        ++runs;
        static_cast<void>(prefetch_async(t, one));
        t.become_irrevocable("it must not run again");
        auto [b] = prefetch_async(t, two);
        one.write(t).balance += b.get(t).balance;
    });
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(atomically([&](tx& t) { return one.read(t).balance; }), 2);
}

// Catches a wait for a node that was lost meanwhile, and an error that is reported too late.
TEST_F(cluster_prefetch, fails_for_a_missing_object_at_first_use) {
    const ref<account> one = at(1, 1), mine = at(0, 2);
    publish(one, 1);
    publish(mine, 1);
    int used = 0;
    EXPECT_THROW(atomically([&](tx& t) {
                     auto [a] = prefetch_async(t, one);
                     if (used == 0) other->end(SIGKILL);
                     EXPECT_EQ(mine.read(t).balance, 1) << "what is here is not concerned";
                     ++used;
                     while (!here->lost(1)) std::this_thread::yield();
                     if (a.get(t).balance == 1) a.write(t).balance = 2;  // the answer may have arrived in time
                 }),
                 cluster::node_lost);
    EXPECT_GE(used, 1);
}

TEST(cluster_prefetch_in_one_process, opens_immediately) {
    node here;
    const ref<account> one{here, "one"}, none{here, "none"};
    atomically([&](tx& t) { one.publish(t, {5}); });
    atomically([&](tx& t) {
        auto [a, b] = prefetch_async(t, one, none);
        EXPECT_EQ(a.get(t).balance, 5);
        EXPECT_EQ(b.find(t), nullptr);
        EXPECT_THROW((void)b.get(t), cluster::no_such_object);
    });
}

}  // namespace
