// Engines that are killed, stopped and cut off under load, as real processes: what was acknowledged is there, nothing
// is there twice, what was said to have had no effect had none, and one order explains every attempt.
//
// TUTTI_ENGINE says which; TUTTI_TEST_EFFORT, how many times each is done.
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/engines/journal.hpp"
#include "cluster/engines/proxy.hpp"
#include "cluster/engines/servers.hpp"
#include "support/effort.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using namespace tutti::cluster::testing;
using cluster::node;
using cluster::ref;

std::string chosen() {
    const char* const name = std::getenv("TUTTI_ENGINE");
    return name == nullptr ? "redis" : name;
}

constexpr unsigned clients = 3;
constexpr std::uint64_t objects = 5;

/// Clients that go on whatever happens. Each block links to the one before it of its client, by an object that no other
/// writes: what has committed is what the chains hold at the end.
class siege {
public:
    siege(std::string address, std::uint64_t seed) : address_{std::move(address)}, seed_{seed} {
        how_.address = address_;
        how_.patience = std::chrono::milliseconds{700};
        const node here{how_};
        atomically([&](tx& t) {
            for (std::uint64_t i = 0; i < objects + clients; ++i) at(here, i).publish(t, {0});
        });
        for (unsigned c = 0; c < clients; ++c) threads_.emplace_back([this, c] { live(c); });
    }
    ~siege() { stop(); }

    /// Returns when so many more blocks have committed.
    void let_commit(std::uint64_t count) const {
        const std::uint64_t until = acknowledged_.load() + count;
        while (acknowledged_.load() < until) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    [[nodiscard]] std::uint64_t errors() const noexcept { return errors_.load(); }
    void stop() {
        stop_ = true;
        for (std::thread& t : threads_) t.join();
        threads_.clear();
    }

    /// What is wrong, when the engine answers again.
    std::string judge(const std::string& address) {
        stop();
        how_.address = address;
        how_.patience = std::chrono::seconds{20};
        const node here{how_};
        std::set<std::uint64_t> chained;
        for (unsigned c = 0; c < clients; ++c) {
            std::uint64_t tag = atomically([&](tx& t) { return at(here, objects + c).read(t).tag; });
            while (tag != 0) {
                if (!chained.insert(tag).second) return "a block is in its chain twice";
                std::uint64_t before = 0;
                for (const auto& [object, seen] : past_.of(tag).reads) {
                    if (object == objects + c) before = seen;
                }
                tag = before;
            }
        }
        for (const std::uint64_t tag : sure_) {
            if (!chained.contains(tag)) return "a block that was acknowledged is lost";
        }
        for (const std::uint64_t tag : failed_) {
            if (chained.contains(tag)) return "a block that was said to have had no effect has had one";
        }
        for (const std::uint64_t tag : chained) past_.of(tag).committed = true;
        std::printf("%zu acknowledged, %zu refused, %zu unknown\n", sure_.size(), failed_.size(), unknown_);
        return past_.judge();
    }

private:
    static ref<tagged> at(const node& n, std::uint64_t i) { return {n, {0, i}}; }

    void live(unsigned c) {
        support::random dice{seed_ * 31 + c};
        std::unique_ptr<node> mine;
        while (!stop_.load()) {
            std::uint64_t tag = 0;
            try {
                if (!mine) mine = std::make_unique<node>(how_);
                const std::uint64_t plan = dice.below(~std::uint64_t{0});
                atomically([&](tx& t) {
                    support::random steps{plan};
                    tag = past_.begin(c);
                    const std::uint64_t first = steps.below(objects), second = (first + 1 + steps.below(4)) % objects;
                    for (const std::uint64_t i : {objects + c, first, second})
                        past_.of(tag).reads.emplace_back(i, at(*mine, i).read(t).tag);
                    for (const std::uint64_t i : {objects + c, first}) {
                        at(*mine, i).write(t).tag = tag;
                        past_.of(tag).writes.push_back(i);
                    }
                });
                note(sure_, tag);
                acknowledged_.fetch_add(1);
            } catch (const cluster::outcome_unknown&) {
                const std::lock_guard hold{guard_};
                ++unknown_;
                errors_.fetch_add(1);
            } catch (const cluster::node_lost&) {
                note(failed_, tag);
                errors_.fetch_add(1);
                std::this_thread::sleep_for(std::chrono::milliseconds{1});
            } catch (const cluster::connection_error&) {
                errors_.fetch_add(1);
                std::this_thread::sleep_for(std::chrono::milliseconds{5});
            }
        }
    }
    void note(std::vector<std::uint64_t>& where, std::uint64_t tag) {
        const std::lock_guard hold{guard_};
        where.push_back(tag);
    }

    const std::string address_;
    const std::uint64_t seed_;
    cluster::engine_options how_;
    journal past_{1'000'000};
    std::mutex guard_;
    std::vector<std::uint64_t> sure_, failed_;
    std::size_t unknown_ = 0;
    std::atomic<std::uint64_t> acknowledged_{0}, errors_{0};
    std::atomic<bool> stop_{false};
    std::vector<std::thread> threads_;
};

std::size_t times() { return std::max<std::size_t>(2, static_cast<std::size_t>(2 * support::effort())); }

class engine_faults : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(missing_for(chosen()), "") << "is needed, and not installed";
        server_ = make_server(chosen());
        ASSERT_NE(server_, nullptr) << "what has no process cannot be killed";
    }
    support::watchdog guard_{chosen(), std::chrono::seconds{100}};
    std::unique_ptr<server> server_;
};

TEST_F(engine_faults, killed_and_started_again) {
    siege all{server_->address(), 1};
    for (std::size_t i = 0; i < times(); ++i) {
        all.let_commit(40);
        server_->kill();
        server_->start();
    }
    all.let_commit(40);
    EXPECT_EQ(all.judge(server_->address()), "");
}

TEST_F(engine_faults, stopped_for_longer_than_anybody_waits) {
    siege all{server_->address(), 2};
    for (std::size_t i = 0; i < times(); ++i) {
        all.let_commit(40);
        const std::uint64_t before = all.errors();
        server_->send(SIGSTOP);
        while (all.errors() == before) std::this_thread::sleep_for(std::chrono::milliseconds{5});
        server_->send(SIGCONT);
    }
    all.let_commit(40);
    EXPECT_EQ(all.judge(server_->address()), "");
}

TEST_F(engine_faults, a_network_that_cuts_delays_and_is_silent) {
    proxy between{server_->place(), 3};
    siege all{server_->address_by(between.place()), 3};
    support::random dice{3};
    for (std::size_t i = 0; i < 3 * times(); ++i) {
        between.disturb(i % 2 == 1);
        all.let_commit(15);
        between.cut();
        all.let_commit(15);
        const std::uint64_t before = all.errors();
        between.hold(true);
        // Half of them end while calls still wait, half when somebody has given up.
        if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds{dice.below(200)});
        else
            while (all.errors() == before) std::this_thread::sleep_for(std::chrono::milliseconds{5});
        if (dice.one_in(2)) between.cut();
        between.hold(false);
    }
    between.disturb(false);
    all.let_commit(40);
    EXPECT_EQ(all.judge(server_->address()), "");
}

}  // namespace
