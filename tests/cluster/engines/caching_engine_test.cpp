// Cached copies of read objects: the values that they may show, when they are dropped, and tests that notice each
// injected fault.
#include <atomic>
#include <latch>
#include <thread>

#include <gtest/gtest.h>
#include <tutti/cluster/node.hpp>

#include "cluster/backend/address.hpp"
#include "cluster/backend/caching_engine.hpp"
#include "cluster/backend/fault_injection.hpp"
#include "cluster/engines/scripted_engine.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using namespace tutti::cluster::testing;
using namespace tutti::cluster::backend;
using tutti::cluster::backend::write;  // not POSIX's write

constexpr std::chrono::milliseconds for_ever{3'600'000};
const key a{"oa"}, b{"ob"};

/// One program with a cache of one server, and another program that writes to that server.
class programs {
public:
    explicit programs(std::chrono::milliseconds staleness = for_ever, std::size_t most = 64u << 20)
        : mine_{new scripted_engine{server, std::make_shared<version_watermark>()}},
          cache{std::unique_ptr<engine>{mine_}, staleness, most} {}

    version write_there(std::vector<write> all) { return write_at(there_, all); }
    version write_here(std::vector<write> all) { return write_at(cache, all); }
    /// Reads as the first read of a block.
    record read(const key& k) {
        read_snapshot fresh;
        return read(fresh, k);
    }
    record read(read_snapshot& of, const key& k) {
        std::vector<record> found;
        if (cache.get(of, freshness::same, {}, {&k, 1}, found) != engine_status::good)
            throw std::runtime_error{"unread"};
        return found.front();
    }
    /// Waits until the cache answers from its own copy with the latest value. The first answers may be older. Throws
    /// after 20 seconds, because a broken cache stays behind forever.
    void await_current(const key& k) {
        const auto late = std::chrono::steady_clock::now() + std::chrono::seconds{20};
        while (std::chrono::steady_clock::now() < late) {
            const std::uint64_t before = cache.hits();
            const record now = read(k);
            if (cache.hits() != before && now.at == server->newest(k)) return;
            std::this_thread::sleep_for(std::chrono::microseconds{200});
        }
        throw std::runtime_error{"it shows for ever what was there before"};
    }
    /// Publishes `a` and `b` and waits until the cache has both.
    void await_both() {
        write_there({{a, true, "1"}, {b, true, "1"}});
        server->report_all();
        await_current(a);
        await_current(b);
    }
    /// Waits until the cache shows `bytes` for the key. Returns false at the limit.
    bool comes_to(const key& k, const std::string& bytes, std::chrono::milliseconds limit = std::chrono::seconds{20}) {
        const auto late = std::chrono::steady_clock::now() + limit;
        while (read(k).bytes != bytes) {
            if (std::chrono::steady_clock::now() > late) return false;
            std::this_thread::sleep_for(std::chrono::microseconds{200});
        }
        return true;
    }
    [[nodiscard]] unsigned asked() const { return mine_->asked.load(); }
    scripted_engine& engine_below() { return *mine_; }

    const std::shared_ptr<scripted_store> server = std::make_shared<scripted_store>();

private:
    static version write_at(engine& e, std::vector<write>& all) {
        request r;
        r.writes = all;
        e.commit(r);
        if (r.status != engine_status::good) throw std::runtime_error{"unwritten"};
        return r.at;
    }
    scripted_engine* const mine_;
    scripted_engine there_{server, std::make_shared<version_watermark>()};

public:
    caching_engine cache;
};

// Each function returns a description of the error, or an empty string.

std::string reads_are_kept_until_they_change() {
    programs p;
    p.write_there({{a, true, "1"}});
    p.server->report_all();
    p.await_current(a);
    const unsigned asked = p.asked();
    for (int i = 0; i < 5; ++i) static_cast<void>(p.read(a));
    if (p.asked() != asked) return "the engine is asked for a kept copy";
    p.server->report_no_more();
    p.write_there({{a, true, "2"}});
    const version last = p.write_there({{a, true, "3"}});
    if (p.read(a).bytes != "1") return "it shows a change that the feed has not reported";
    p.server->report_until(last);
    if (!p.comes_to(a, "3", std::chrono::seconds{1}))
        return "it shows " + p.read(a).bytes + ", not the last of two commits";
    if (p.asked() != asked) return "the engine is asked for a reported change";
    return {};
}

std::string erased_records_disappear() {
    programs p;
    p.write_there({{a, true, "1"}});
    p.server->report_all();
    p.await_current(a);
    const version gone = p.write_there({{a, false, {}}, {b, true, "here"}});
    if (!p.comes_to(b, "here", std::chrono::seconds{5})) return "the feed does not report a change";
    // The feed delivered this erasure together with b, so the cache knows it.
    const record now = p.read(a);
    if (now.exists) return "an erased record still exists";
    return now.at == gone ? "" : "an erased record has another version";
}

std::string own_commits_are_seen_at_once() {
    programs p;
    p.await_both();
    p.server->report_no_more();
    p.write_there({{b, true, "2"}});  // so that the cache cannot know the state of its own commit
    p.write_here({{a, true, "2"}});
    return p.read(a).bytes == "2" ? "" : "the program does not see its own commit";
}

std::string own_commits_need_no_report() {
    programs p;
    p.await_both();
    p.server->report_no_more();
    const unsigned asked = p.asked();
    p.write_here({{a, true, "2"}});
    p.write_here({{b, true, "2"}});
    if (p.read(a).bytes != "2" || p.read(b).bytes != "2") return "the program does not see its own commit";
    const write first{a, true, "3"}, second{b, true, "3"};
    request both[2];
    both[0].writes = {&first, 1};
    both[1].writes = {&second, 1};
    request* all[] = {&both[0], &both[1]};
    p.engine_below().commit_all(all);
    if (p.read(a).bytes != "3" || p.read(b).bytes != "3") return "it shows a part of one request";
    return p.asked() == asked ? "" : "the engine is asked for a record that the program itself has written";
}

std::string own_commits_hide_no_others() {
    programs p;
    p.await_both();
    p.server->report_no_more();
    const version between = p.write_there({{a, true, "2"}});
    p.write_here({{b, true, "2"}});
    if (p.read(a).bytes != "2") return "it shows its own commit, but not the one before it";
    p.server->report_until(between);  // the feed delivers the buffered change next, and then nothing more
    return p.comes_to(b, "2") ? "" : "its own commit is lost";
}

std::string one_block_sees_one_state() {
    programs p;
    p.write_there({{a, true, "1"}, {b, true, "1"}});
    p.server->report_all();
    p.await_current(a);
    read_snapshot block;
    static_cast<void>(p.read(block, a));
    const version second = p.write_there({{a, true, "2"}, {b, true, "2"}});
    read_snapshot other;
    while (other.at < second) {
        other = {};
        static_cast<void>(p.read(other, a));
    }
    if (p.read(block, b).bytes != "1") return "a block sees two states";
    return p.read(b).bytes == "2" ? "" : "a copy of an old state is kept for new blocks";
}

std::string copies_are_dropped_with_the_feed() {
    programs p;
    p.await_both();
    p.server->refuse_feeds(true);
    p.server->break_feeds();
    p.write_there({{a, true, "2"}, {b, true, "2"}});
    if (!p.comes_to(a, "2", std::chrono::seconds{1})) return "it shows old copies without a feed";
    p.server->refuse_feeds(false);
    p.server->await_feeds(2);  // the feed is open again, for changes from now on
    p.await_current(a);
    return p.read(b).bytes == "2" ? "" : "a copy outlived the feed";
}

std::string changes_during_a_fetch_are_not_kept() {
    programs p;
    p.write_there({{a, true, "1"}, {b, true, "1"}});
    p.server->report_all();
    p.await_current(b);
    bool once = true;
    p.engine_below().after_get = [&](std::span<const key> wanted) {
        if (wanted.empty() || wanted.front() != a || !std::exchange(once, false)) return;
        // The value was fetched and is on its way back. Meanwhile it changes, and the cache hears of the change.
        p.write_there({{a, true, "2"}, {b, true, "2"}});
        while (p.read(b).bytes != "2") std::this_thread::sleep_for(std::chrono::microseconds{200});
    };
    if (p.read(a).bytes != "1") return "this test has tested nothing";
    return p.read(a).bytes == "2" ? "" : "a record that changed during its fetch is kept";
}

std::string old_states_are_not_shown() {
    constexpr std::chrono::milliseconds staleness{300};
    programs p{staleness};
    p.write_there({{a, true, "1"}});
    p.server->report_all();
    p.await_current(a);
    p.engine_below().loses_freshness_writes = true;
    p.server->report_no_more();
    p.write_there({{a, true, "2"}});
    return p.comes_to(a, "2", 20 * staleness) ? "" : "it shows an outdated state";
}

std::string commits_are_shown_as_a_whole(std::size_t rounds) {
    programs p;
    p.write_there({{a, true, "0"}, {b, true, "0"}});
    p.server->report_all();
    p.await_current(a);
    p.await_current(b);
    std::atomic<bool> stop{false};
    std::atomic<unsigned> torn{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i) {
        readers.emplace_back([&, i] {
            while (!stop.load()) {
                read_snapshot block;
                const std::string first = p.read(block, i == 0 ? a : b).bytes;
                if (p.read(block, i == 0 ? b : a).bytes != first) ++torn;
            }
        });
    }
    for (std::size_t i = 1; i <= rounds; ++i) {
        const std::string now = std::to_string(i);
        // While the applied version is behind a commit of this program, the cache shows no copies from before that
        // commit.
        if (i % 40 == 0) p.write_here({{a, true, now}, {b, true, now}});
        else p.write_there({{a, true, now}, {b, true, now}});
        std::this_thread::sleep_for(std::chrono::microseconds{300});
    }
    const bool came = p.comes_to(a, std::to_string(rounds));
    stop = true;
    for (std::thread& t : readers) t.join();
    if (torn.load() != 0) return "half of a commit is shown";
    return came ? "" : "the last commit is never shown";
}

class caching_engine_test : public ::testing::Test {
protected:
    void TearDown() override { injected_fault = fault::none; }
    template <class F>
    static void expect_detected(fault f, F&& look) {
        const auto found = [&look]() -> std::string {
            try {
                return look();
            } catch (const std::runtime_error& e) {
                return e.what();
            }
        };
        EXPECT_EQ(found(), "");
        injected_fault = f;
        std::string result;
        for (int i = 0; i < 20 && result.empty(); ++i) result = found();  // chance decides whether threads meet
        injected_fault = fault::none;
        EXPECT_NE(result, "") << "fault " << static_cast<int>(f) << " was not noticed";
        std::printf("fault %d: %s\n", static_cast<int>(f), result.c_str());
    }
    support::watchdog guard_{"caching", std::chrono::seconds{100}};
};

TEST_F(caching_engine_test, applies_changes_in_order) {
    expect_detected(fault::cache_in_wrong_order, reads_are_kept_until_they_change);
}
TEST_F(caching_engine_test, hides_erased_records) {
    expect_detected(fault::cache_keeps_erased, erased_records_disappear);
}
TEST_F(caching_engine_test, shows_own_commits_immediately) {
    expect_detected(fault::cache_below_watermark, own_commits_are_seen_at_once);
}
TEST_F(caching_engine_test, shows_own_commits_before_the_feed_reports_them) {
    expect_detected(fault::cache_applies_partly, own_commits_need_no_report);
}
TEST_F(caching_engine_test, keeps_own_and_other_commits_in_order) {
    expect_detected(fault::cache_skips_commits, own_commits_hide_no_others);
}
TEST_F(caching_engine_test, shows_one_state_to_one_block) {
    expect_detected(fault::cache_late_copy, one_block_sees_one_state);
}
TEST_F(caching_engine_test, drops_copies_when_the_feed_breaks) {
    expect_detected(fault::cache_without_feed, copies_are_dropped_with_the_feed);
}
TEST_F(caching_engine_test, discards_records_that_change_during_a_fetch) {
    expect_detected(fault::cache_late_copy, changes_during_a_fetch_are_not_kept);
}
TEST_F(caching_engine_test, does_not_show_outdated_states) {
    expect_detected(fault::cache_ignores_age, old_states_are_not_shown);
}
TEST_F(caching_engine_test, shows_commits_as_a_whole) {
    expect_detected(fault::cache_applies_partly, [] { return commits_are_shown_as_a_whole(support::rounds(400)); });
}

TEST_F(caching_engine_test, keeps_at_most_its_maximum_of_bytes) {
    programs p{for_ever, 4000};
    std::vector<write> all;
    const auto name = [](int i) { return "o" + std::to_string(i); };
    for (int i = 0; i < 100; ++i) all.push_back({name(i), true, std::string(20, 'x')});
    p.write_there(all);
    p.server->report_all();
    p.await_current(name(0));
    for (int round = 0; round < 2; ++round) {
        const unsigned before = p.asked();
        for (int i = 0; i < 100; ++i) EXPECT_EQ(p.read(name(i)).bytes, std::string(20, 'x'));
        EXPECT_GT(p.asked(), before + 50) << "the cache exceeds its maximum of bytes";
    }
    const unsigned before = p.asked();
    EXPECT_EQ(p.read(name(99)).bytes, std::string(20, 'x'));
    EXPECT_EQ(p.asked(), before) << "the latest record is not kept";
    p.write_there({{name(99), true, std::string(5000, 'y')}});  // larger than the whole cache
    EXPECT_TRUE(p.comes_to(name(99), std::string(5000, 'y')));
}

TEST_F(caching_engine_test, bypasses_copies_for_freshness_now) {
    programs p;
    p.write_there({{a, true, "1"}});
    p.server->report_all();
    p.await_current(a);
    p.server->report_no_more();
    const record old = p.read(a);
    const check held{a, old.at};
    p.write_there({{a, true, "2"}});
    read_snapshot block;
    std::vector<record> found;
    EXPECT_EQ(p.cache.get(block, freshness::now, {&held, 1}, {}, found), engine_status::conflict);
    EXPECT_EQ(p.read(a).bytes, "2") << "a block that starts over sees the conflicting write";
}

TEST_F(caching_engine_test, shows_one_order_to_nodes_of_one_process) {
    const auto server = std::make_shared<scripted_store>();
    const auto shared = std::make_shared<version_watermark>();
    caching_engine first{std::make_unique<scripted_engine>(server, shared), for_ever};
    caching_engine second{std::make_unique<scripted_engine>(server, shared), for_ever};
    const auto read = [](caching_engine& at) {
        read_snapshot any;
        std::vector<record> found;
        EXPECT_EQ(at.get(any, freshness::same, {}, {&a, 1}, found), engine_status::good);
        return found.front().bytes;
    };
    const auto await_current = [&](caching_engine& at) {
        for (const std::uint64_t before = at.hits(); at.hits() == before;) static_cast<void>(read(at));
    };
    server->report_all();
    await_current(first);
    await_current(second);
    server->report_no_more();
    const write w{a, true, "1"};
    request r;
    r.writes = {&w, 1};
    first.commit(r);
    ASSERT_EQ(r.status, engine_status::good);
    EXPECT_EQ(read(second), "1");
}

TEST_F(caching_engine_test, rejects_engines_without_a_record_feed) {
    try {
        cluster::node here{cluster::engine_options{.address = "memory:", .staleness = std::chrono::milliseconds{1}}};
        FAIL();
    } catch (const cluster::connection_error& e) {
        EXPECT_NE(std::string{e.what()}.find("the memory of this process"), std::string::npos) << e.what();
    }
}

}  // namespace
