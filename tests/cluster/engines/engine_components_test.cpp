// Tests that need no server: threads that wait while a feed is opened, valid addresses, and ports for servers.
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <latch>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/cluster/node.hpp>
#include <tutti/tutti.hpp>

#include "cli/port.hpp"
#include "cluster/backend/address.hpp"
#include "cluster/backend/batching_engine.hpp"
#include "cluster/backend/lease.hpp"
#include "cluster/engines/wrapped.hpp"
#include "cluster/participant/wakeup_notifier.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
namespace backend = cluster::backend;

/// An engine whose feeds open when the test allows it.
class hesitant final : public cluster::testing::wrapped {
public:
    using wrapped::wrapped;
    std::unique_ptr<backend::key_feed> open_key_feed() override {
        asked.count_down();
        go_on.wait();
        return wrapped::open_key_feed();
    }
    std::latch asked{1}, go_on{1};
};

TEST(wakeup_notifier_test, blocks_only_blocks_that_need_the_feed) {
    const support::watchdog guard{"bells", std::chrono::seconds{60}};
    hesitant engine{backend::open_engine("memory:", {"tutti"})};
    cluster::wakeup_notifier all{[&engine] { return engine.open_key_feed(); }};
    cluster::wakeup_var first{0}, second{0}, third{0};
    const backend::check key{"o1", 0};
    bool heard[2]{};
    std::thread opens{[&] { heard[0] = all.subscribe(first, {&key, 1}); }};
    engine.asked.wait();
    std::thread waits{[&] { heard[1] = all.subscribe(second, {&key, 1}); }};
    all.unsubscribe(third);
    all.unsubscribe_and_wait(third);
    engine.go_on.count_down();
    opens.join();
    waits.join();
    EXPECT_TRUE(heard[0] && heard[1]);
    all.stop();
}

/// An engine whose first feed fails with bad_alloc when the test allows it.
class exhausted final : public cluster::testing::wrapped {
public:
    using wrapped::wrapped;
    std::unique_ptr<backend::key_feed> open_key_feed() override {
        if (++opened > 1) return wrapped::open_key_feed();
        asked.count_down();
        go_on.wait();
        throw std::bad_alloc{};
    }
    std::latch asked{1}, go_on{1};
    std::atomic<int> opened{0};
};

// Catches a thread that waits while another thread opens a feed, and keeps waiting after an exception has ended that
// opening.
TEST(wakeup_notifier_test, releases_waiters_when_opening_a_feed_throws) {
    const support::watchdog guard{"exceptions", std::chrono::seconds{60}};
    exhausted engine{backend::open_engine("memory:", {"tutti"})};
    cluster::wakeup_notifier all{[&engine] { return engine.open_key_feed(); }};
    const backend::check key{"o1", 0};
    cluster::wakeup_var first{0}, others[3]{};
    bool thrown = false, heard[3]{true, true, true};
    std::latch about_to_wait{3};
    std::thread opens{[&] {
        try {
            static_cast<void>(all.subscribe(first, {&key, 1}));
        } catch (const std::bad_alloc&) {
            thrown = true;
        }
    }};
    engine.asked.wait();
    std::vector<std::thread> crew;
    for (int i = 0; i < 3; ++i) {
        crew.emplace_back([&, i] {
            about_to_wait.count_down();
            heard[i] = all.subscribe(others[i], {&key, 1});
        });
    }
    about_to_wait.wait();
    // Gives the threads time to start waiting. If one of them tried to open a feed, `opened` would count the try.
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    EXPECT_EQ(engine.opened.load(), 1);
    engine.go_on.count_down();
    opens.join();
    for (std::thread& t : crew) t.join();
    EXPECT_TRUE(thrown);
    // One of the waiting threads has opened a feed. The failure has left nothing behind: the feed notifies.
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(heard[i]);
    ASSERT_TRUE(all.subscribe(first, {&key, 1}));
    EXPECT_EQ(engine.opened.load(), 2);
    const backend::write w{key.of, true, "x"};
    backend::request r;
    r.writes = {&w, 1};
    engine.commit(r);
    atomically([&](tx& t) {
        if (first.get(t) == 0) retry(t);
    });
    all.stop();
}

/// An engine whose first feed breaks when the test says so.
class brittle final : public cluster::testing::wrapped {
public:
    using wrapped::wrapped;
    std::unique_ptr<backend::key_feed> open_key_feed() override {
        if (++feeds > 1) return wrapped::open_key_feed();
        return std::make_unique<short_lived>(fails);
    }
    std::latch fails{1};
    int feeds = 0;  // opened by one thread

private:
    struct short_lived final : backend::key_feed {
        explicit short_lived(std::latch& until) : until_{until} {}
        bool next(std::vector<backend::key>&) override { return until_.wait(), false; }
        void close() noexcept override {}
        std::latch& until_;
    };
};

// Catches a deadlock between a block and the notifying thread. The block is irrevocable, and reads a variable that
// this thread writes.
TEST(wakeup_notifier_test, enrols_without_waiting_for_notifications) {
    const support::watchdog guard{"rings", std::chrono::seconds{60}};
    brittle engine{backend::open_engine("memory:", {"tutti"})};
    cluster::wakeup_notifier all{[&engine] { return engine.open_key_feed(); }};
    cluster::wakeup_var sleeper{0}, mine{0};
    const backend::check key{"o1", 0};
    ASSERT_TRUE(all.subscribe(sleeper, {&key, 1}));
    atomically({.mode = mode::irrevocable}, [&](tx& t) {
        EXPECT_EQ(sleeper.get(t), 0u);
        engine.fails.count_down();
        bool heard = true;
        // The second feed opens only after the failure of the first is known.
        while (heard && engine.feeds < 2) heard = all.subscribe(mine, {&key, 1});
        EXPECT_TRUE(heard);
        EXPECT_EQ(sleeper.get(t), 0u) << "it was notified, and this test has tested nothing";
    });
    const auto await = [](cluster::wakeup_var& b, std::uint64_t more_than) {
        atomically([&](tx& t) {
            if (b.get(t) <= more_than) retry(t);
        });
    };
    await(sleeper, 0);  // a block that slept when the feed broke looks again
    const std::uint64_t rung = mine.load();
    ASSERT_TRUE(all.subscribe(mine, {&key, 1}));
    EXPECT_EQ(engine.feeds, 2);
    const backend::write w{key.of, true, "x"};
    backend::request r;
    r.writes = {&w, 1};
    engine.commit(r);
    await(mine, rung);  // by the second feed
    all.stop();
}

/// An engine with slow gets, so that other requests queue behind a get.
class slow final : public cluster::testing::wrapped {
public:
    using wrapped::wrapped;
    backend::engine_status get(backend::read_snapshot& at, backend::freshness how, std::span<const backend::check> held,
                               std::span<const backend::key> wanted, std::vector<backend::record>& found) override {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
        return wrapped::get(at, how, held, wanted, found);
    }
};

TEST(batching_engine_test, returns_to_each_thread_its_own_records) {
    const support::watchdog guard{"batching", std::chrono::seconds{60}};
    backend::batching_engine engine{std::make_unique<slow>(backend::open_engine("memory:", {"tutti"}))};
    constexpr unsigned keys = 10, threads = 8, rounds = 20;
    const auto name = [](unsigned i) { return "o" + std::to_string(i); };
    for (unsigned i = 0; i < keys; ++i) {
        const backend::write w{name(i), true, std::to_string(i)};
        backend::request r;
        r.writes = {&w, 1};
        engine.commit(r);
        ASSERT_EQ(r.status, backend::engine_status::good);
    }
    std::atomic<unsigned> wrong{0};
    std::vector<std::thread> crew;
    for (unsigned t = 0; t < threads; ++t) {
        crew.emplace_back([&, t] {
            for (unsigned i = 0; i < rounds; ++i) {
                const unsigned first = (t * rounds + i) % keys, second = (first + 1 + t) % keys;
                std::vector<backend::key> wanted{name(first)};
                if (t % 2 == 0) wanted.push_back(name(second));
                backend::read_snapshot at;
                std::vector<backend::record> found;
                if (engine.get(at, backend::freshness::same, {}, wanted, found) != backend::engine_status::good ||
                    found.size() != wanted.size() || at.at != keys || found[0].bytes != std::to_string(first) ||
                    (t % 2 == 0 && found[1].bytes != std::to_string(second)))
                    ++wrong;
            }
        });
    }
    for (std::thread& t : crew) t.join();
    EXPECT_EQ(wrong.load(), 0u);
}

/// An engine that answers requests one by one, when the test says so.
class gated final : public cluster::testing::wrapped {
public:
    using wrapped::wrapped;
    void commit_all(std::span<backend::request*> all) override {
        std::unique_lock hold{guard_};
        sizes_.push_back(all.size());
        const std::size_t mine = sizes_.size();
        changed_.notify_all();
        changed_.wait(hold, [&] { return mine <= released_; });
        hold.unlock();
        wrapped::commit_all(all);
    }
    /// Returns the size of request `number`, counted from 1; waits until the request arrives.
    std::size_t size_of(std::size_t number) {
        std::unique_lock hold{guard_};
        changed_.wait(hold, [&] { return sizes_.size() >= number; });
        return sizes_[number - 1];
    }
    void release(std::size_t up_to) {
        const std::lock_guard hold{guard_};
        released_ = up_to;
        changed_.notify_all();
    }

private:
    std::mutex guard_;
    std::condition_variable changed_;
    std::vector<std::size_t> sizes_;
    std::size_t released_ = 0;
};

// While a large request is in progress, the batching engine does not send a smaller one. A small request costs the
// engine below as much as a large one.
TEST(batching_engine_test, keeps_requests_large) {
    const support::watchdog guard{"sizes", std::chrono::seconds{60}};
    std::size_t large = 0;
    for (int wait_factor = 1; large < 2; wait_factor *= 2) {  // until three threads have met
        auto below = std::make_unique<gated>(backend::open_engine("memory:", {"tutti"}));
        gated& engine = *below;
        backend::batching_engine all{std::move(below)};
        std::vector<std::thread> crew;
        std::atomic<unsigned> come{0}, bad{0};
        const auto send = [&](std::size_t count) {
            for (; count != 0; --count) {
                crew.emplace_back([&, name = "o" + std::to_string(crew.size())] {
                    const backend::write w{name, true, "x"};
                    backend::request r;
                    r.writes = {&w, 1};
                    ++come;
                    all.commit(r);
                    if (r.status != backend::engine_status::good) ++bad;
                });
            }
        };
        send(1);
        EXPECT_EQ(engine.size_of(1), 1u) << "a lone thread waits for others";
        send(1);
        EXPECT_EQ(engine.size_of(2), 1u) << "two threads wait for each other";
        send(5);
        while (come != 7) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds{wait_factor});
        engine.release(1);
        large = engine.size_of(3);
        engine.release(2);
        send(large);
        EXPECT_GE(engine.size_of(4), large);
        engine.release(100);
        for (std::thread& t : crew) t.join();
        EXPECT_EQ(bad.load(), 0u);
    }
}

TEST(leases_test, fence_off_a_late_holder) {
    const auto engine = backend::open_engine("memory:", {"tutti"});
    backend::exactly_once committer{*engine, std::chrono::seconds{5}};
    backend::leases mine{*engine, committer, std::chrono::milliseconds{20}};
    backend::leases yours{*engine, committer, std::chrono::milliseconds{20}};
    const backend::key name{"l1"};
    backend::lease_observation at_once, patient, later;
    backend::version first = 0, second = 0, third = 0;
    ASSERT_EQ(mine.try_acquire(name, at_once, first), backend::engine_status::good);
    EXPECT_EQ(yours.try_acquire(name, patient, second), backend::engine_status::conflict);
    EXPECT_EQ(yours.check_ended(name, first, later), backend::engine_status::conflict);
    while (yours.try_acquire(name, patient, second) == backend::engine_status::conflict)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    EXPECT_NE(first, second);
    EXPECT_EQ(mine.check_ended(name, first, later), backend::engine_status::good);
    mine.release(name, first);  // late: another program has the lease by now
    EXPECT_EQ(mine.check_ended(name, second, later), backend::engine_status::conflict);
    yours.release(name, second);
    EXPECT_EQ(mine.check_ended(name, second, later), backend::engine_status::good);
    EXPECT_EQ(mine.try_acquire(name, later, third), backend::engine_status::good);
}

/// Sets an environment variable during its lifetime.
class environment {
public:
    environment(const char* name, const char* value) : name_{name} { ::setenv(name, value, 1); }
    ~environment() { ::unsetenv(name_); }

private:
    const char* name_;
};

std::string refusal_of(const std::string& address) {
    try {
        static_cast<void>(backend::open_engine(address, {"tutti", std::chrono::milliseconds{50}}));
    } catch (const backend::engine_error& r) {
        return r.what();
    }
    return {};
}

TEST(engine_addresses, reject_remote_postgres_servers_from_any_source) {
    bool built = false;
    for (const std::string& e : cluster::engines()) built = built || e == "postgres";
    if (!built) GTEST_SKIP() << "this library was built without PostgreSQL";
    const auto is_far = [](const std::string& address) {
        return refusal_of(address).find("beyond loopback") != std::string::npos;
    };
    EXPECT_TRUE(is_far("postgres://192.0.2.1/db"));
    EXPECT_TRUE(is_far("postgres://127.0.0.1,192.0.2.1/db"));
    EXPECT_TRUE(is_far("postgres:///db?host=/tmp&hostaddr=192.0.2.1"));
    EXPECT_NE(refusal_of("postgres:///db?service=far").find("names a service"), std::string::npos);
    EXPECT_FALSE(is_far("postgres:///db?host=/nowhere"));
    EXPECT_FALSE(is_far("postgres://[::1]:1/db"));
    {
        const environment set{"PGHOST", "192.0.2.1"};
        EXPECT_TRUE(is_far("postgres:///db"));
        EXPECT_NE(refusal_of("postgres:///db").find("PGHOST"), std::string::npos);
        EXPECT_FALSE(is_far("postgres:///db?host=/nowhere"));
    }
    const environment set{"PGHOSTADDR", "192.0.2.1"};
    EXPECT_TRUE(is_far("postgres:///db?host=/nowhere"));  // libpq would connect there even so
}

TEST(ports, are_reserved_for_one_caller) {
    int low = 0, high = -1;
    std::ifstream{"/proc/sys/net/ipv4/ip_local_port_range"} >> low >> high;
    std::set<int> all;
    for (int i = 0; i < 50; ++i) {
        const int port = cli::free_port();
        EXPECT_TRUE(port < low || port > high) << port;
        EXPECT_TRUE(all.insert(port).second) << port;
    }
}

}  // namespace
