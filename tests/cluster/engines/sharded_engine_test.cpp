// Commits, reads and feeds over several groups, in one process: which group gets which request, how lost answers are
// resolved, and threads that conflict.
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/backend/exactly_once.hpp"
#include "cluster/backend/fault_injection.hpp"
#include "cluster/backend/group_client.hpp"
#include "cluster/backend/layout.hpp"
#include "cluster/backend/sharded_engine.hpp"
#include "cluster/engines/local_group.hpp"
#include "cluster/replica/fault_injection.hpp"
#include "support/effort.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace std::chrono_literals;
using namespace tutti;
using namespace tutti::cluster::testing;
namespace backend = cluster::backend;
namespace replica = cluster::replica;
using backend::check;
using backend::engine_status;
using backend::freshness;
using backend::key;
using backend::record;
using backend::write;
using loss = local_group::loss;

/// The groups that programs share.
struct stores {
    std::vector<std::shared_ptr<local_store>> all{std::make_shared<local_store>(11), std::make_shared<local_store>(12)};
    std::size_t first = 0;  ///< the number of groups that the prefix began with; 0: all
};

/// Draws the same names in each run, so that each commit record is in the same slot.
class numbered_names final : public backend::runtime_env {
public:
    [[nodiscard]] std::string random_id() const override { return std::to_string(next_++); }

private:
    mutable unsigned next_ = 0;
};

/// The engine of one program over these groups.
struct program {
    explicit program(const stores& at, std::chrono::milliseconds request_timeout = 20s,
                     const backend::runtime_env& env = backend::runtime_env::real()) {
        std::vector<std::unique_ptr<backend::group_engine>> groups;
        for (const auto& one : at.all) {
            groups.push_back(std::make_unique<local_group>(one));
            local_groups.push_back(static_cast<local_group*>(groups.back().get()));
        }
        backend::settings how;
        how.request_timeout = request_timeout;
        const std::size_t first = at.first == 0 ? groups.size() : at.first;
        engine = std::make_unique<backend::sharded_engine>(std::move(groups), first, how, env);
        committer = std::make_unique<backend::exactly_once>(*engine, request_timeout);
    }
    /// Returns the n-th key of that group.
    [[nodiscard]] key in(std::size_t part, unsigned n = 0) const {
        for (unsigned i = 0;; ++i) {
            const key k = "o" + std::to_string(i);
            if (engine->group_of(k) == part && n-- == 0) return k;
        }
    }
    record look(const key& k) const {
        backend::read_snapshot any;
        std::vector<record> found;
        EXPECT_EQ(engine->get(any, freshness::now, {}, {&k, 1}, found), engine_status::good);
        return found.at(0);
    }
    engine_status put(const std::vector<key>& keys, const std::string& bytes, bool once = true) const {
        std::vector<check> checks;
        std::vector<write> writes;
        for (const key& k : keys) {
            checks.push_back({k, look(k).at});
            writes.push_back({k, true, bytes});
        }
        backend::version at = 0;
        if (once) return committer->commit(checks, writes, at);
        backend::request r;
        r.checks = checks;
        r.writes = writes;
        engine->commit(r);
        return r.status;
    }
    std::vector<local_group*> local_groups;
    std::unique_ptr<backend::sharded_engine> engine;
    std::unique_ptr<backend::exactly_once> committer;
};

class sharded_engine_test : public ::testing::Test {
protected:
    void TearDown() override {
        backend::injected_fault = backend::fault::none;
        replica::injected_fault = replica::fault::none;
    }
    support::watchdog guard_{"spread", 60s};
    stores at_;
};

TEST_F(sharded_engine_test, maps_keys_to_slots_as_every_release) {
    const program p{at_};
    std::string where;
    for (int i = 0; i < 16; ++i) where += std::to_string(p.engine->group_of("o" + std::to_string(i)));
    EXPECT_EQ(where, "1011001100010011");
    std::size_t ones = 0;
    for (int i = 0; i < 10000; ++i) ones += p.engine->group_of("o" + std::to_string(i));
    EXPECT_NEAR(static_cast<double>(ones), 5000, 300);
}

TEST_F(sharded_engine_test, asks_a_single_group_once) {
    const program p{at_};
    const key a = p.in(1, 0), b = p.in(1, 1);
    ASSERT_EQ(p.put({a, b}, "1"), engine_status::good);
    EXPECT_EQ(p.local_groups[1]->commits, 1u);
    EXPECT_EQ(p.local_groups[0]->commits + p.local_groups[0]->gets + p.local_groups[0]->prepares +
                  p.local_groups[1]->prepares,
              0u);
    // A block keeps the state in which it began, whatever other programs commit.
    const unsigned before = p.local_groups[1]->gets;
    backend::read_snapshot state;
    std::vector<record> found;
    ASSERT_EQ(p.engine->get(state, freshness::same, {}, {&a, 1}, found), engine_status::good);
    const check held{a, found[0].at};
    ASSERT_EQ(program{at_}.put({b}, "2"), engine_status::good);
    const backend::read_snapshot first = state;
    ASSERT_EQ(p.engine->get(state, freshness::same, {&held, 1}, {&b, 1}, found), engine_status::good);
    EXPECT_EQ(found[0].bytes, "1");
    EXPECT_TRUE(state.is_same_state_as(first));
    EXPECT_EQ(p.local_groups[1]->gets, before + 2);
    // The next get reads an object of another group, so the engine reads all objects in a current state.
    const key c = p.in(0);
    ASSERT_EQ(p.engine->get(state, freshness::same, {&held, 1}, {&c, 1}, found), engine_status::good);
    EXPECT_FALSE(state.is_same_state_as(first));
    ASSERT_EQ(p.engine->get(state, freshness::same, {&held, 1}, {&b, 1}, found), engine_status::good);
    EXPECT_EQ(found[0].bytes, "2");
}

TEST_F(sharded_engine_test, commits_in_both_groups_or_in_none) {
    const program p{at_};
    const std::vector<key> both{p.in(0), p.in(1)};
    ASSERT_EQ(p.put(both, "1"), engine_status::good);
    EXPECT_EQ(p.local_groups[0]->prepares, 1u);
    EXPECT_EQ(p.local_groups[1]->prepares, 0u);
    for (const key& old : both) {
        std::vector<check> checks;
        for (const key& k : both) checks.push_back({k, k == old ? 0 : p.look(k).at});
        std::vector<write> writes{{both[0], true, "2"}, {both[1], true, "2"}};
        backend::version at = 0;
        EXPECT_EQ(p.committer->commit(checks, writes, at), engine_status::conflict);
    }
    for (const key& k : both) EXPECT_EQ(p.look(k).bytes, "1");
    EXPECT_EQ(at_.all[0]->prepared() + at_.all[1]->prepared(), 0u);
}

TEST_F(sharded_engine_test, leaves_no_partial_commit_after_lost_replies) {
    const std::vector<key> both{program{at_}.in(0), program{at_}.in(1)};
    const program reads{at_};
    unsigned round = 0;
    for (const auto& [prepare, decide, finish, expected] :
         {std::tuple{loss::before, loss::none, false, engine_status::good},
          std::tuple{loss::after, loss::none, false, engine_status::good},
          std::tuple{loss::late, loss::none, false, engine_status::good},
          std::tuple{loss::none, loss::before, false, engine_status::conflict},
          std::tuple{loss::none, loss::after, false, engine_status::good},
          std::tuple{loss::none, loss::late, false, engine_status::conflict},
          std::tuple{loss::none, loss::none, true, engine_status::good}}) {
        const std::string bytes = std::to_string(++round), was = round == 1 ? "" : reads.look(both[0]).bytes;
        program p{at_};
        p.local_groups[0]->lose_prepare = prepare;
        p.local_groups[1]->lose_commit = decide;
        p.local_groups[0]->lose_finish = finish;
        EXPECT_EQ(p.put(both, bytes), expected) << round;
        for (local_group* const g : p.local_groups) {
            if (g->late) g->late();
        }
        for (const key& k : both)
            EXPECT_EQ(reads.look(k).bytes, expected == engine_status::good ? bytes : was) << round;
        EXPECT_EQ(at_.all[0]->prepared() + at_.all[1]->prepared(), 0u) << round;
    }
}

TEST_F(sharded_engine_test, waits_for_a_silent_prepare_until_the_timeout) {
    const program p{at_, 60ms};
    p.local_groups[0]->loses_all_prepares = true;
    const std::vector<key> both{p.in(0), p.in(1)};
    EXPECT_EQ(p.put(both, "1"), engine_status::unreachable);
    EXPECT_GT(p.local_groups[0]->prepares, 1u);
    EXPECT_EQ(at_.all[0]->prepared(), 0u);
    for (const key& k : both) EXPECT_FALSE(program{at_}.look(k).exists);
}

/// Leaves a transaction of the program prepared and undecided in every group except the one of the last key.
void leave_prepared(program& p, const std::vector<key>& keys) {
    for (local_group* const g : p.local_groups) g->lose_commit = loss::before;
    EXPECT_EQ(p.put(keys, "left", false), engine_status::unknown);
}

TEST_F(sharded_engine_test, holds_no_later_group_while_it_waits) {
    program gone{at_};
    const key a = gone.in(0), b = gone.in(1);
    ASSERT_EQ(gone.put({a, b}, "1"), engine_status::good);
    leave_prepared(gone, {a, b});
    ASSERT_EQ(at_.all[0]->prepared(), 1u);
    // The last write is in the first group. This transaction therefore prepares in the second group first, and must not
    // wait in the first group.
    const program p{at_};
    backend::request r;
    const std::vector<write> writes{{b, true, "2"}, {a, true, "2"}};
    r.writes = writes;
    p.engine->commit(r);
    EXPECT_EQ(r.status, engine_status::conflict);
    EXPECT_EQ(at_.all[1]->prepared(), 0u);
    EXPECT_EQ(at_.all[0]->prepared(), 1u);
    // In the usual order the transaction waits, and resolves the prepared one.
    EXPECT_EQ(p.put({a, b}, "2"), engine_status::good);
    EXPECT_EQ(at_.all[0]->prepared(), 0u);
}

TEST_F(sharded_engine_test, releases_prepared_groups_when_blocked) {
    at_.all.push_back(std::make_shared<local_store>(13));
    program gone{at_};
    const key a = gone.in(0), b = gone.in(1), c = gone.in(2);
    ASSERT_EQ(gone.put({a, b, c}, "1"), engine_status::good);
    EXPECT_EQ(gone.local_groups[0]->prepares + gone.local_groups[1]->prepares, 2u);
    // A transaction in the first group is in the way, so a waiting transaction must not hold objects in the second.
    for (local_group* const g : gone.local_groups) g->lose_commit = loss::before;
    EXPECT_EQ(gone.put({a, c}, "left", false), engine_status::unknown);
    ASSERT_EQ(at_.all[0]->prepared(), 1u);
    const program p{at_};
    p.local_groups[2]->hides_decisions = true;  // so the transaction keeps waiting
    const std::vector<write> writes{{a, true, "2"}, {b, true, "2"}, {c, true, "2"}};
    backend::request r;
    r.writes = writes;
    std::thread waits{[&] { p.engine->commit(r); }};
    while (p.local_groups[0]->prepares < 3)
        std::this_thread::yield();  // the transaction waits, in the order of the groups
    EXPECT_EQ(p.local_groups[1]->prepares, 1u);
    EXPECT_EQ(at_.all[1]->prepared(), 0u);
    // Another program's commit does not wait for the waiting transaction.
    EXPECT_EQ(program{at_}.put({b}, "3"), engine_status::good);
    p.local_groups[2]->hides_decisions = false;
    waits.join();
    EXPECT_EQ(r.status, engine_status::good);
    EXPECT_EQ(p.look(b).bytes, "2");
    for (const auto& store : at_.all) EXPECT_EQ(store->prepared(), 0u);
}

// In one group, another transaction is in the way, and the commit could wait for that transaction. The other group
// reports a conflict.
TEST_F(sharded_engine_test, prefers_a_final_failure_among_several_replies) {
    for (const std::size_t meets : {0u, 1u}) {
        const std::size_t conflicts = 1 - meets;
        at_.all.clear();
        for (const unsigned number : {11u, 12u, 13u}) at_.all.push_back(std::make_shared<local_store>(number));
        program gone{at_};
        const key first = gone.in(0), second = gone.in(1), last = gone.in(2);
        ASSERT_EQ(gone.put({first, second, last}, "1"), engine_status::good);
        const key& in_the_way = meets == 0 ? first : second;
        const key& changed = meets == 0 ? second : first;
        for (local_group* const g : gone.local_groups) g->lose_commit = loss::before;
        EXPECT_EQ(gone.put({in_the_way, last}, "left", false), engine_status::unknown);
        const program p{at_};
        const std::vector<check> checks{{changed, 77}};
        const std::vector<write> writes{{first, true, "2"}, {second, true, "2"}, {last, true, "2"}};
        backend::request r;
        r.checks = checks;
        r.writes = writes;
        p.engine->commit(r);
        EXPECT_EQ(r.status, engine_status::conflict);
        EXPECT_EQ(p.local_groups[0]->prepares, 1u) << "it is tried again; the one that meets another is " << meets;
        EXPECT_EQ(at_.all[meets]->prepared(), 1u);
        EXPECT_EQ(at_.all[conflicts]->prepared(), 0u);
    }
}

TEST_F(sharded_engine_test, times_out_only_callers_with_a_short_timeout) {
    program gone{at_};
    const key a = gone.in(0), b = gone.in(1);
    ASSERT_EQ(gone.put({a, b}, "1"), engine_status::good);
    leave_prepared(gone, {a, b});
    const program hasty{at_, 50ms};
    backend::read_snapshot any;
    std::vector<record> found;
    EXPECT_EQ(hasty.engine->get(any, freshness::now, {}, {&a, 1}, found), engine_status::unreachable);
    // The program remembers when it first saw the transaction.
    engine_status result = engine_status::unreachable;
    while (result == engine_status::unreachable) result = hasty.engine->get(any, freshness::now, {}, {&a, 1}, found);
    EXPECT_EQ(result, engine_status::good);
    EXPECT_EQ(found[0].bytes, "1");
    EXPECT_EQ(at_.all[0]->prepared(), 0u);
}

TEST_F(sharded_engine_test, rereads_everything_after_a_wait) {
    program gone{at_};
    const key a = gone.in(0), b = gone.in(1), other = gone.in(0, 1);
    for (const key& k : {a, b, other}) ASSERT_EQ(gone.put({k}, "1"), engine_status::good);
    leave_prepared(gone, {b, other});
    ASSERT_EQ(at_.all[1]->prepared(), 1u);
    const program p{at_};
    p.local_groups[0]->hides_decisions = true;
    std::vector<record> found;
    engine_status result{};
    std::thread reads{[&] {
        backend::read_snapshot any;
        const std::vector<key> both{a, b};
        result = p.engine->get(any, freshness::now, {}, both, found);
    }};
    while (p.local_groups[1]->gets == 0) std::this_thread::yield();
    EXPECT_EQ(program{at_}.put({a}, "2"), engine_status::good);
    p.local_groups[0]->hides_decisions = false;
    reads.join();
    EXPECT_EQ(result, engine_status::good);
    EXPECT_EQ(found.at(0).bytes, "2");
    EXPECT_EQ(found.at(1).bytes, "1");
}

TEST_F(sharded_engine_test, preserves_the_sum_under_concurrent_transfers) {
    constexpr unsigned accounts = 6;
    const std::size_t rounds = support::rounds(60);
    std::vector<key> keys;
    for (unsigned i = 0; i < accounts; ++i) keys.push_back("o" + std::to_string(i));
    for (const key& k : keys) ASSERT_EQ(program{at_}.put({k}, "100"), engine_status::good);
    std::atomic<unsigned> moving{3};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            const program p{at_};
            support::random dice{t};
            for (std::size_t done = 0; done < rounds;) {
                const key from = keys[dice.below(accounts)], to = keys[dice.below(accounts)];
                if (from == to) continue;
                const record there = p.look(to), here = p.look(from);
                std::vector<check> checks{{from, here.at}, {to, there.at}};
                std::vector<write> writes{{from, true, std::to_string(std::stol(here.bytes) - 1)},
                                          {to, true, std::to_string(std::stol(there.bytes) + 1)}};
                backend::version at = 0;
                if (p.committer->commit(checks, writes, at) == engine_status::good) ++done;
            }
            --moving;
        });
    }
    const program p{at_};
    for (bool last = false; !last;) {
        last = moving == 0;
        backend::read_snapshot any;
        std::vector<record> found;
        const engine_status result = p.engine->get(any, freshness::now, {}, keys, found);
        if (result != engine_status::good) continue;
        long sum = 0;
        for (const record& r : found) sum += std::stol(r.bytes);
        ASSERT_EQ(sum, 100 * static_cast<long>(accounts));
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(at_.all[0]->prepared() + at_.all[1]->prepared(), 0u);
}

TEST_F(sharded_engine_test, reports_writes_of_all_groups) {
    const program p{at_};
    const auto feed = p.engine->open_key_feed();
    const std::vector<key> both{p.in(0), p.in(1)};
    ASSERT_EQ(p.put(both, "1"), engine_status::good);
    std::vector<key> reported;
    const auto has = [&](const key& k) { return std::ranges::find(reported, k) != reported.end(); };
    while (!has(both[0]) || !has(both[1])) ASSERT_TRUE(feed->next(reported));
    std::thread closes{[&] { feed->close(); }};
    while (feed->next(reported)) {}
    closes.join();
}

/// Returns the order of the groups, or the error.
std::string laid_out(const std::vector<std::shared_ptr<local_store>>& named) {
    std::vector<std::unique_ptr<backend::group_engine>> groups;
    for (const auto& one : named) groups.push_back(std::make_unique<local_group>(one));
    try {
        backend::agree_on_layout(groups, "p");
    } catch (const backend::engine_error& r) {
        return r.what();
    }
    std::string order;
    for (const auto& g : groups) order += std::to_string(g->number()) + " ";
    return order;
}

TEST_F(sharded_engine_test, records_the_layout_of_the_first_program) {
    const auto a = std::make_shared<local_store>(5), b = std::make_shared<local_store>(3),
               c = std::make_shared<local_store>(9);
    EXPECT_EQ(laid_out({a, b}), "5 3 ");
    EXPECT_EQ(laid_out({b, a}), "5 3 ");
    for (const auto& others : {std::vector{a}, std::vector{b}, std::vector{a, c}, std::vector{c, b},
                               std::vector{a, b, c}, std::vector{c, b, a}}) {
        const std::string result = laid_out(others);
        EXPECT_NE(result.find("in other groups than the given ones"), std::string::npos) << result;
        EXPECT_NE(result.find("5 3"), std::string::npos) << result;
    }
    EXPECT_NE(laid_out({a, a}).find("name it once"), std::string::npos);
    EXPECT_EQ(laid_out({a, b}), "5 3 ");
}

TEST_F(sharded_engine_test, agrees_on_one_layout_at_concurrent_starts) {
    for (int round = 0; round < 50; ++round) {
        const auto a = std::make_shared<local_store>(5), b = std::make_shared<local_store>(3);
        std::string one, two;
        std::thread first{[&] { one = laid_out({a, b}); }}, second{[&] { two = laid_out({b, a}); }};
        first.join();
        second.join();
        ASSERT_EQ(one, two);
    }
}

TEST_F(sharded_engine_test, parses_addresses_of_groups) {
    using all = std::vector<std::vector<std::string>>;
    EXPECT_EQ(backend::group::parse_groups("//127.0.0.1:1,127.0.0.1:2;localhost:3", false),
              (all{{"127.0.0.1:1", "127.0.0.1:2"}, {"127.0.0.1:3"}}));
    for (const char* const none : {"//", "//127.0.0.1:1;", "//;127.0.0.1:1", "//127.0.0.1:1;;127.0.0.1:2"})
        EXPECT_THROW(static_cast<void>(backend::group::parse_groups(none, false)), backend::engine_error) << none;
    EXPECT_EQ(backend::group::parse_groups("//[::1]:1,db-1.example:2", false), (all{{"[::1]:1", "db-1.example:2"}}));
    EXPECT_EQ(backend::group::parse_groups("//[2001:db8::1]:1,10.0.0.1:2", true),
              (all{{"[2001:db8::1]:1", "10.0.0.1:2"}}));
    for (const char* const none : {"//0.0.0.0:1", "//[::]:1", "//1.2.3:1", "//::1:1", "//[127.0.0.1]:1", "//a:0",
                                   "//a b:1", "//10.0.0.1", "//[::1:1", "//a:70000"})
        EXPECT_THROW(static_cast<void>(backend::group::parse_groups(none, true)), backend::engine_error) << none;
    for (const char* const far : {"//10.0.0.1:1", "//[2001:db8::1]:1"})
        EXPECT_THROW(static_cast<void>(backend::group::parse_groups(far, false)), backend::engine_error) << far;
    // A name is resolved on use. Without TLS, only numeric loopback addresses are accepted.
    std::string why;
    EXPECT_FALSE(backend::group::resolve_addresses("localhost:7", false, why).empty()) << why;
    EXPECT_TRUE(backend::group::resolve_addresses("10.0.0.1:7", false, why).empty());
    EXPECT_NE(why.find("beyond loopback"), std::string::npos);
    EXPECT_FALSE(backend::group::resolve_addresses("10.0.0.1:7", true, why).empty());
}

using moved = backend::slot_migrator::migration_result;

/// Returns the slots of these keys, sorted and without duplicates.
std::vector<std::uint32_t> slots_of(const program& p, const std::vector<key>& keys) {
    std::vector<std::uint32_t> all;
    for (const key& k : keys) all.push_back(p.engine->known_slots().slot_of(k));
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

TEST_F(sharded_engine_test, keeps_versions_of_migrated_records) {
    const program p{at_}, migrating{at_};
    const std::vector<key> keys{p.in(0, 0), p.in(0, 1), p.in(1, 0)};
    ASSERT_EQ(p.put(keys, "1"), engine_status::good);
    const record before = p.look(keys[0]);
    ASSERT_EQ(migrating.engine->migrator().migrate(slots_of(p, {keys[0]}), 0, 1), moved::moved);
    EXPECT_EQ(migrating.engine->group_of(keys[0]), 1u);
    EXPECT_EQ(p.engine->group_of(keys[0]), 0u);  // as far as this program knows
    const record after = p.look(keys[0]);
    EXPECT_EQ(p.engine->group_of(keys[0]), 1u);
    EXPECT_EQ(after.at, before.at);
    EXPECT_EQ(after.bytes, "1");
    // A read from before the move stays valid after the move, also in a blind write. The old group keeps nothing. The
    // program draws its commit record in the key's former group, in another slot that has not moved.
    const numbered_names names;
    const program late{at_, 20s, names};
    std::vector<check> checks{{keys[0], before.at}};
    std::vector<write> writes{{keys[0], true, "2"}};
    backend::version at = 0;
    ASSERT_EQ(late.committer->commit(checks, writes, at), engine_status::good);
    EXPECT_GT(p.look(keys[0]).at, before.at);
    EXPECT_EQ(at_.all[0]->records.statistics().objects,
              static_cast<std::size_t>(
                  std::ranges::count_if(keys, [&](const key& k) { return p.engine->group_of(k) == 0; })) +
                  1 + 2);  // plus a commit record and the records of two slots
    // Moves the slot back.
    ASSERT_EQ(migrating.engine->migrator().migrate(slots_of(p, {keys[0]}), 1, 0), moved::moved);
    EXPECT_EQ(p.look(keys[0]).bytes, "2");
    EXPECT_EQ(p.put({keys[0], keys[2]}, "3"), engine_status::good);
}

/// Returns true if a program whose commit record is in a moved slot commits again.
bool goes_on_with_its_commit_record(const stores& at) {
    const program p{at}, migrating{at};
    const key k = p.in(0);
    EXPECT_EQ(p.put({k}, "1"), engine_status::good);
    std::vector<std::uint32_t> slots;
    for (std::uint32_t s = 0; s < migrating.engine->known_slots().slots(); s += 2) slots.push_back(s);
    EXPECT_EQ(migrating.engine->migrator().migrate(slots, 0, 1), moved::moved);
    EXPECT_TRUE(p.engine->refresh_slots());  // so that the program uses its existing commit record
    return p.put({k}, "2") == engine_status::good;
}

TEST_F(sharded_engine_test, migrates_commit_records_with_their_slots) {
    EXPECT_TRUE(goes_on_with_its_commit_record(at_));
    backend::injected_fault = backend::fault::commit_records_left;
    EXPECT_FALSE(goes_on_with_its_commit_record({}));
}

/// Groups that keep few erased records.
stores that_drop() {
    stores at;
    at.all = {std::make_shared<local_store>(11, 4), std::make_shared<local_store>(12, 4)};
    return at;
}

/// Erases records of no slot until the group has dropped those that were erased before.
void erase_others(local_store& at) {
    for (int i = 0; i < 20; ++i) {
        replica::log_entry_builder e;
        e.add_commit({}, std::vector<write>{{"x" + std::to_string(i), false, {}}});
        EXPECT_EQ(at.apply(std::move(e)).status, engine_status::good);
    }
}

engine_status erase(const program& p, const key& k) {
    std::vector<check> checks{{k, p.look(k).at}};
    std::vector<write> writes{{k, false, {}}};
    backend::version at = 0;
    return p.committer->commit(checks, writes, at);
}

/// A migrator copies a key and is killed. Then the key is erased, and its erased record is dropped. Returns true if the
/// key exists after the next migration.
bool comes_back_with_an_old_copy(const stores& at) {
    const program p{at}, migrating{at};
    const key k = p.in(0);
    EXPECT_EQ(p.put({k}, "1"), engine_status::good);
    const std::vector<std::uint32_t> slots = slots_of(p, {k});
    replica::log_entry_builder copy;
    copy.add_commit({}, std::vector<write>{{backend::slot_record::key_of(slots[0]), true, "arriving 11"}});
    copy.add_import({}, std::vector<backend::change>{{k, p.look(k)}}, 0);
    EXPECT_EQ(at.all[1]->apply(std::move(copy)).status, engine_status::good);
    EXPECT_EQ(erase(p, k), engine_status::good);
    erase_others(*at.all[0]);
    EXPECT_EQ(migrating.engine->migrator().migrate(slots, 0, 1), moved::moved);
    return p.look(k).exists;
}

TEST_F(sharded_engine_test, does_not_restore_erased_records_from_old_copies) {
    EXPECT_FALSE(comes_back_with_an_old_copy(that_drop()));
    backend::injected_fault = backend::fault::old_copies_left;
    EXPECT_TRUE(comes_back_with_an_old_copy(that_drop()));
}

/// A commit reads a key as absent. Then the key is written and erased, its erased record is dropped, and its slot
/// moves. Returns true if the commit happens.
bool misses_what_was_dropped(const stores& at) {
    const program p{at}, migrating{at};
    const key k = p.in(0);
    std::vector<check> checks{{k, p.look(k).at}};
    std::vector<write> writes{{k, true, "late"}};
    EXPECT_EQ(p.put({k}, "1"), engine_status::good);
    EXPECT_EQ(erase(p, k), engine_status::good);
    erase_others(*at.all[0]);
    EXPECT_EQ(migrating.engine->migrator().migrate(slots_of(p, {k}), 0, 1), moved::moved);
    backend::version now = 0;
    return p.committer->commit(checks, writes, now) == engine_status::good;
}

TEST_F(sharded_engine_test, invalidates_absences_read_before_a_migration) {
    EXPECT_FALSE(misses_what_was_dropped(that_drop()));
    replica::injected_fault = replica::fault::absence_not_imported;
    EXPECT_TRUE(misses_what_was_dropped(that_drop()));
    replica::injected_fault = replica::fault::none;
    // An absence that is read now stays valid.
    const stores at = that_drop();
    EXPECT_FALSE(misses_what_was_dropped(at));
    const program p{at};
    EXPECT_EQ(p.put({p.in(0), p.in(1)}, "2"), engine_status::good);
}

/// Returns true if the new owner of a slot knows all records that the former owner had dropped at the switch.
bool knows_what_was_dropped(const stores& at) {
    const program p{at}, migrating{at};
    const key k = p.in(0);
    EXPECT_EQ(p.put({k}, "1"), engine_status::good);
    migrating.local_groups[0]->before_prepare = [&] { erase_others(*at.all[0]); };
    EXPECT_EQ(migrating.engine->migrator().migrate(slots_of(p, {k}), 0, 1), moved::moved);
    EXPECT_EQ(p.look(k).bytes, "1");
    return at.all[1]->records.absence() >= at.all[0]->records.absence();
}

TEST_F(sharded_engine_test, copies_dropped_records_before_it_switches_owners) {
    EXPECT_TRUE(knows_what_was_dropped(that_drop()));
    backend::injected_fault = backend::fault::drops_unchecked;
    EXPECT_FALSE(knows_what_was_dropped(that_drop()));
}

/// A copy of a key arrives after the copy of the key's erased record, which the new owner has dropped by then. Returns
/// true if the key exists afterwards.
bool comes_back_with_a_late_copy(const stores& at) {
    const program p{at}, migrating{at};
    const key k = p.in(0);
    EXPECT_EQ(p.put({k}, "1"), engine_status::good);
    migrating.local_groups[1]->lose_import = loss::late;
    migrating.local_groups[0]->before_changed = [&] {
        replica::log_entry_builder e;
        e.add_commit({}, std::vector<write>{{k, false, {}}});
        EXPECT_EQ(at.all[0]->apply(std::move(e)).status, engine_status::good);
    };
    migrating.local_groups[0]->before_prepare = [&] {
        erase_others(*at.all[1]);
        migrating.local_groups[1]->late();
    };
    EXPECT_EQ(migrating.engine->migrator().migrate(slots_of(p, {k}), 0, 1), moved::moved);
    return p.look(k).exists;
}

TEST_F(sharded_engine_test, does_not_restore_erased_records_from_late_copies) {
    EXPECT_FALSE(comes_back_with_a_late_copy(that_drop()));
    backend::injected_fault = backend::fault::copies_come_late;
    EXPECT_TRUE(comes_back_with_a_late_copy(that_drop()));
}

TEST_F(sharded_engine_test, serves_programs_while_erased_records_are_dropped) {
    const stores at = that_drop();
    const program p{at};
    // Each round drops some erased records, so each key without a record has another version. This includes the key of
    // the slot record of each slot that no migrator has moved.
    for (int round = 0; round < 50; ++round) {
        const std::vector<key> both{p.in(0, static_cast<unsigned>(round)), p.in(1, static_cast<unsigned>(round))};
        ASSERT_EQ(p.put(both, "1"), engine_status::good) << round;
        for (const key& k : both) ASSERT_EQ(erase(p, k), engine_status::good) << round;
    }
    for (const auto& one : at.all) {
        EXPECT_LE(one->records.statistics().erased, 4u);
        EXPECT_EQ(one->records.statistics().prepared, 0u);
        EXPECT_GT(one->records.absence(), 0u);
    }
}

TEST_F(sharded_engine_test, shows_no_later_state_after_a_roll_back) {
    const program p{at_}, migrating{at_};
    const key stays = p.in(1), comes = p.in(0);
    ASSERT_EQ(p.put({stays, comes}, "1"), engine_status::good);
    backend::read_snapshot state;
    std::vector<record> found;
    ASSERT_EQ(p.engine->get(state, freshness::same, {}, {&stays, 1}, found), engine_status::good);
    const check held{stays, found[0].at};
    ASSERT_EQ(migrating.put({stays, comes}, "2"), engine_status::good);
    ASSERT_EQ(migrating.engine->migrator().migrate(slots_of(p, {comes}), 0, 1), moved::moved);
    EXPECT_EQ(p.look(comes).bytes, "2");  // the program now knows the object's group
    EXPECT_EQ(p.engine->get(state, freshness::same, {&held, 1}, {&comes, 1}, found), engine_status::conflict);
}

TEST_F(sharded_engine_test, unblocks_slots_of_a_lost_migrator) {
    const program p{at_};
    const key k = p.in(0);
    ASSERT_EQ(p.put({k}, "1"), engine_status::good);
    const key of_slot = backend::slot_record::key_of(p.engine->known_slots().slot_of(k));
    replica::log_entry_builder e;
    e.add_commit(std::vector<check>{{of_slot, 0}}, std::vector<write>{{of_slot, true, "closed 12"}});
    ASSERT_EQ(at_.all[0]->apply(std::move(e)).status, engine_status::good);
    EXPECT_EQ(p.look(k).bytes, "1");
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(p.put({k}, "2"), engine_status::good);
    EXPECT_GE(std::chrono::steady_clock::now() - begun, backend::prepared_resolver::grace);
    EXPECT_EQ(p.look(k).bytes, "2");
    // A migrator ends the write block in the same way.
    replica::log_entry_builder again;
    again.add_commit({}, std::vector<write>{{of_slot, true, "closed 12"}});
    ASSERT_EQ(at_.all[0]->apply(std::move(again)).status, engine_status::good);
    EXPECT_EQ(p.engine->migrator().migrate(slots_of(p, {k}), 0, 1), moved::moved);
    EXPECT_EQ(p.look(k).bytes, "2");
}

TEST_F(sharded_engine_test, migrates_slots_to_an_empty_group_and_back) {
    at_.all.push_back(std::make_shared<local_store>(13));
    at_.first = 2;
    const program p{at_}, migrating{at_};
    const key k = p.in(0);
    EXPECT_EQ(p.engine->known_slots().slots(), 256u);
    ASSERT_EQ(p.put({k}, "1"), engine_status::good);
    ASSERT_EQ(migrating.engine->migrator().migrate(slots_of(p, {k}), 0, 2), moved::moved);
    EXPECT_EQ(p.put({k}, "2"), engine_status::good);
    EXPECT_EQ(p.engine->group_of(k), 2u);
    ASSERT_EQ(migrating.engine->migrator().migrate(slots_of(p, {k}), 2, 1), moved::moved);
    EXPECT_EQ(program{at_}.look(k).bytes, "2");
    EXPECT_EQ(migrating.engine->migrator().migrate(slots_of(p, {k}), 2, 1), moved::superseded);
}

TEST_F(sharded_engine_test, waits_for_transactions_prepared_in_a_slot) {
    const program p{at_}, migrating{at_};
    const std::vector<key> both{p.in(0), p.in(1)};
    ASSERT_EQ(p.put(both, "1"), engine_status::good);
    // This transaction has prepared. The migrator asks for the write block, and must wait until the transaction is
    // decided.
    const key of_slot = backend::slot_record::key_of(p.engine->known_slots().slot_of(both[0]));
    replica::log_entry_builder e;
    e.add_prepare({"t", 12}, std::vector<check>{{both[0], p.look(both[0]).at}, {of_slot, 0}},
                  std::vector<write>{{both[0], true, "2"}});
    ASSERT_EQ(at_.all[0]->apply(std::move(e)).status, engine_status::good);
    std::thread decides{[&] {
        while (migrating.local_groups[0]->commits == 0) std::this_thread::yield();
        replica::log_entry_builder decision;
        decision.add_commit(std::vector<check>{{"tt", 0}}, std::vector<write>{{"tt", true, "done 11"}});
        EXPECT_EQ(at_.all[1]->apply(std::move(decision)).status, engine_status::good);
    }};
    EXPECT_EQ(migrating.engine->migrator().migrate(slots_of(p, {both[0]}), 0, 1), moved::moved);
    decides.join();
    EXPECT_EQ(p.look(both[0]).bytes, "2");
    EXPECT_EQ(at_.all[0]->prepared(), 0u);
}

/// Returns true if a feed that was opened before a slot moved ends with the move.
bool ends_with_a_move(stores& at) {
    const program p{at}, migrating{at};
    const key k = p.in(0);
    EXPECT_EQ(p.put({k}, "1"), engine_status::good);
    const auto feed = p.engine->open_key_feed();
    EXPECT_EQ(migrating.engine->migrator().migrate(slots_of(p, {k}), 0, 1), moved::moved);
    const key other = p.in(1);
    EXPECT_EQ(migrating.put({other}, "1"), engine_status::good);
    std::vector<key> keys;
    bool more = true;
    while (more && std::ranges::find(keys, other) == keys.end()) more = feed->next(keys);
    return !more;
}

TEST_F(sharded_engine_test, breaks_feeds_when_a_slot_moves) {
    EXPECT_TRUE(ends_with_a_move(at_));
    stores others;
    backend::injected_fault = backend::fault::feed_ignores_moves;
    EXPECT_FALSE(ends_with_a_move(others));
}

TEST_F(sharded_engine_test, serves_threads_while_slots_migrate) {
    const program p{at_}, migrating{at_};
    constexpr unsigned objects = 12, threads = 4;
    std::vector<key> keys;
    for (unsigned i = 0; i < objects; ++i) keys.push_back("o" + std::to_string(i));
    ASSERT_EQ(p.put(keys, "0"), engine_status::good);
    std::atomic<bool> over{false};
    std::atomic<long> added{0};
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            support::random dice{t + 1};
            while (!over) {
                const key& k = keys[dice.below(objects)];
                const record now = p.look(k);
                std::vector<check> checks{{k, now.at}};
                std::vector<write> writes{{k, true, std::to_string(std::stol(now.bytes) + 1)}};
                backend::version at = 0;
                if (p.committer->commit(checks, writes, at) == engine_status::good) ++added;
            }
        });
    }
    for (std::size_t round = 0; round < 6; ++round) {
        const std::size_t from = round % 2;
        std::vector<key> its;
        for (const key& k : keys) {
            if (migrating.engine->group_of(k) == from) its.push_back(k);
        }
        if (!its.empty()) {
            EXPECT_EQ(migrating.engine->migrator().migrate(slots_of(p, its), from, 1 - from), moved::moved);
        }
        for (const long until = added + 50; added < until;) std::this_thread::yield();
    }
    over = true;
    for (std::thread& t : all) t.join();
    long sum = 0;
    for (const key& k : keys) sum += std::stol(p.look(k).bytes);
    EXPECT_EQ(sum, added);
}

TEST_F(sharded_engine_test, parses_layouts_as_they_are_written) {
    for (const char* const text : {"11 12", "#3 11@127.0.0.1:1,127.0.0.1:2 12- +13@10.0.0.1:7", "#1 +5-@1.1.1.1:1 7"}) {
        const backend::layout l = backend::layout::parse(text);
        EXPECT_EQ(l.text(), text);
    }
    const backend::layout l = backend::layout::parse("#3 11@127.0.0.1:1,127.0.0.1:2 12- +13@10.0.0.1:7");
    EXPECT_EQ(l.initial_group_count(), 2u);
    EXPECT_EQ(l.groups[0].addresses.size(), 2u);
    EXPECT_TRUE(l.groups[1].left);
    EXPECT_TRUE(l.groups[2].joined);
}

}  // namespace
