// Engines with full or slow disks and jumping wall clocks, as real processes under load. Acknowledged commits are
// visible and happened once. Programs get errors that name the engine, and work again afterwards.
//
// TUTTI_ENGINE names the engine; TUTTI_TEST_EFFORT sets the number of repetitions.
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/backend/fault_injection.hpp"
#include "cluster/engines/servers.hpp"
#include "cluster/engines/small_disk.hpp"
#include "cluster/engines/stress_clients.hpp"
#include "cluster/engines/system_call_interceptor.hpp"
#include "support/effort.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using namespace tutti::cluster::testing;
using namespace std::chrono_literals;

bool can_mount = false;

std::string chosen() {
    const char* const name = std::getenv("TUTTI_ENGINE");
    return name == nullptr ? "redis" : name;
}

std::size_t times() { return std::max<std::size_t>(2, static_cast<std::size_t>(2 * support::effort())); }

class resource_faults_test : public ::testing::Test {
protected:
    void SetUp() override { ASSERT_EQ(missing_for(chosen()), "") << "is needed, and not installed"; }
    support::watchdog guard_{chosen(), 100s};
};

/// Writes large objects one after another until the engine refuses a write.
class flood {
public:
    explicit flood(const std::string& address) { how_.address = address; }
    /// Writes until the engine refuses. Returns the error that the program gets.
    std::string until_refused() {
        how_.request_timeout = 700ms;
        try {
            const cluster::node here{how_};
            while (true) {
                atomically([&](tx& t) {  // the last object may exist although its write failed
                    if (at(here, written_).find(t) == nullptr) at(here, written_).publish(t, next());
                });
                ++written_;
            }
        } catch (const std::length_error& e) {
            return e.what();
        } catch (const unreachable_error& e) {  // node_lost, outcome_unknown
            return e.what();
        } catch (const cluster::connection_error& e) {
            return e.what();
        }
    }
    /// Checks that all written objects exist, and erases them, so that the next round needs no larger disk.
    std::string judge() {
        how_.request_timeout = 20s;
        const cluster::node here{how_};
        for (; written_ != 0; --written_) {
            if (!atomically([&](tx& t) { return at(here, written_ - 1).erase(t); })) return "a large object is lost";
        }
        return {};
    }

private:
    using large = std::array<std::uint64_t, 20000>;  // no engine can compress it
    static cluster::ref<large> at(const cluster::node& n, std::uint64_t i) { return {n, {7, i}}; }
    large next() {
        large all{};
        for (std::uint64_t& word : all) word = dice_.below(~std::uint64_t{0});
        return all;
    }
    cluster::engine_options how_;
    support::random dice_{9};
    std::uint64_t written_ = 0;
};

/// Returns the size of an empty engine's files, plus a reserve.
std::size_t megabytes() {
    if (chosen() == "redis") return 8;
    if (chosen() == "tutti3") return 600;  // each member's log and snapshots; a member writes one snapshot at its start
    if (chosen() == "etcd") return 200;
    return chosen() == "etcd3" ? 450 : 128;
}

/// Returns the result of judge(). Meanwhile, this thread restarts processes that end. These processes are children of
/// the thread, and would end with their parent thread.
template <class F>
std::string while_reviving(server& of, F&& judge) {
    std::future<std::string> result = std::async(std::launch::async, std::forward<F>(judge));
    while (result.wait_for(5ms) != std::future_status::ready) of.revive();
    return result.get();
}

TEST_F(resource_faults_test, survives_a_full_disk) {
    if (!can_mount) GTEST_SKIP() << "this system lets no process mount a file system of its own";
    std::string folder = "/tmp/tutti-small-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    {
        const small_disk disk{folder, megabytes()};
        const auto server = make_server(chosen(), {.folder = folder});
        stress_clients all{server->address(), 5};
        flood more{server->address()};
        const std::string name = chosen() == "redis"            ? "Redis at"
                                 : chosen() == "postgres"       ? "PostgreSQL"
                                 : chosen().starts_with("etcd") ? "etcd at"
                                                                : "group";
        for (std::size_t i = 0; i < times(); ++i) {
            all.let_commit(40);
            disk.fill();
            const std::string result = more.until_refused();
            std::printf("full: %s\n", result.c_str());
            EXPECT_TRUE(result.starts_with("tutti: ")) << result;
            EXPECT_NE(result.find(name), std::string::npos) << result;
            disk.make_room();
            for (const std::uint64_t enough = all.acknowledged() + 40; all.acknowledged() < enough;) {
                server->revive();
                std::this_thread::sleep_for(5ms);
            }
            // A process whose disk was full may end after the clients have continued.
            EXPECT_EQ(while_reviving(*server, [&] { return more.judge(); }), "");
        }
        EXPECT_EQ(while_reviving(*server, [&] { return all.judge(server->address()); }), "");
    }
    std::filesystem::remove(folder);
}

std::string slow_disk() {
    system_call_interceptor kernel;
    const auto server = make_server(chosen(), {.kernel = &kernel});
    stress_clients all{server->address(), 6};
    for (std::size_t i = 0; i < times(); ++i) {
        all.let_commit(40);
        kernel.delay_disk(30ms);
        all.let_commit(5);
        const std::uint64_t before = all.errors();
        kernel.delay_disk(1500ms);  // longer than clients wait
        while (all.errors() == before) std::this_thread::sleep_for(5ms);
        kernel.delay_disk(0ms);
        all.let_commit(20);
    }
    if (kernel.delayed() == 0) return "no disk was slow";
    return all.judge(server->address());
}

TEST_F(resource_faults_test, survives_a_slow_disk) { EXPECT_EQ(slow_disk(), ""); }
// A block whose answer is lost runs again. Chance may hide a double effect, so the test repeats the run until the
// effect shows.
TEST_F(resource_faults_test, detects_commits_that_are_not_looked_up) {
    cluster::backend::injected_fault = cluster::backend::fault::forget_commit_records;
    std::string result;
    while (result.empty()) result = slow_disk();
    cluster::backend::injected_fault = cluster::backend::fault::none;
    EXPECT_NE(result, "no disk was slow");
}

/// Two clients that take turns, each of which sleeps until its turn. A lost wake-up stops the rally for good.
class rally {
public:
    explicit rally(const std::string& address) {
        how_.address = address;
        how_.request_timeout = 20s;
        how_.prefix = "rally";
        const cluster::node here{how_};
        atomically([&](tx& t) { ball(here).publish(t, {0}); });
        for (unsigned side = 0; side < 2; ++side) sides_.emplace_back([this, side] { play(side); });
    }
    ~rally() {
        over_ = true;
        for (std::thread& t : sides_) t.join();
    }
    void let_pass(std::uint64_t count) const {
        for (const std::uint64_t enough = passed_.load() + count; passed_.load() < enough;)
            std::this_thread::sleep_for(1ms);
    }

private:
    static cluster::ref<tagged> ball(const cluster::node& n) { return {n, {0, 0}}; }
    void play(unsigned side) {
        const cluster::node mine{how_};
        while (true) {
            const bool last = over_.load();  // the other client may need this turn to see the end
            const bool played = atomically([&](tx& t) {
                const std::uint64_t tag = ball(mine).read(t).tag;
                if (tag == ended) return false;
                if (tag % 2 != side) retry(t);
                ball(mine).write(t).tag = last ? ended : tag + 1;
                return !last;
            });
            if (!played) return;
            passed_.fetch_add(1);
        }
    }
    static constexpr std::uint64_t ended = ~std::uint64_t{0};
    cluster::engine_options how_;
    std::atomic<bool> over_{false};
    std::atomic<std::uint64_t> passed_{0};
    std::vector<std::thread> sides_;
};

TEST_F(resource_faults_test, survives_clock_jumps) {
    system_call_interceptor kernel;
    const auto server = make_server(chosen(), {.kernel = &kernel});
    {
        stress_clients all{server->address(), 7};
        const rally two{server->address()};
        for (std::size_t i = 0; i < times(); ++i) {
            for (const auto off : {3600s, -7200s, 86400s * 3650, -86400s, 40s, 0s}) {
                kernel.set_clock(off);
                two.let_pass(10);
                all.let_commit(10);
            }
        }
        EXPECT_NE(kernel.clock_calls(), 0u) << "no process has read another time";
        EXPECT_EQ(all.judge(server->address()), "");
    }
}

}  // namespace

int main(int argc, char** argv) {
    can_mount = own_mounts();
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
