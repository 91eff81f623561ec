// The journal alone, handed its slips one by one.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "server/durability/log_folder.hpp"
#include "server/journal/journal.hpp"

namespace tutti::server {
namespace {

struct journal_test : log_folder {
    static void hand_over(journal::journal& to, std::string record, bool cut = false) {
        auto s = std::make_unique<journal::slip>();
        s->position = to.draw();
        s->cut = cut;
        s->record = std::move(record);
        to.hand_over(std::move(s));
    }
    log_settings how() const { return {.file = file(), .sync = log_sync::always}; }
};

/// A call that waits for the disk.
class waiting final : public journal::waiter {
public:
    std::atomic<bool> is_over{false};
    outcome how_it_ended{};

private:
    void pass_on(outcome how) noexcept override {
        how_it_ended = how;
        is_over = true;
        is_over.notify_one();
    }
};

// Catches a journal that forgets the cut at which a group has ended when it cannot write it: what comes meanwhile would
// go into the same group, and a follower that has copied the snapshot would miss it, or have it twice.
TEST_F(journal_test, no_group_lies_on_both_sides_of_a_cut_also_where_it_was_written_in_vain) {
    journal::journal log{how(), [](bool, const std::string&) {}};
    log.begin();
    faulty_disk::is_full = true;
    hand_over(log, "before");
    hand_over(log, {}, true);  // the snapshot's own position
    waiting first, second;
    ASSERT_TRUE(log.holds(first, 3));
    while (!log.in_trouble()) std::this_thread::yield();
    hand_over(log, "behind");
    const int tried = faulty_disk::refused;
    while (faulty_disk::refused < tried + 3) std::this_thread::yield();  // it has collected what there is
    ASSERT_TRUE(log.holds(second, 4));
    faulty_disk::repair();
    first.is_over.wait(false);
    second.is_over.wait(false);
    EXPECT_EQ(first.how_it_ended, journal::waiter::outcome::kept);
    EXPECT_EQ(second.how_it_ended, journal::waiter::outcome::kept);
    log.with_file([](journal::store& file) {
        const auto groups = file.read_from(1, 1000);
        ASSERT_EQ(groups.size(), 2u);
        EXPECT_EQ(groups[0].records, "before");
        EXPECT_EQ(groups[0].last, 1u);
        EXPECT_EQ(groups[1].records, "behind");
        EXPECT_EQ(groups[1].first, 3u);
    });
    log.end();
}

// A follower that is promoted hears of terms meanwhile, and notes them in the file. Catches a begin of the log beside
// another thread in the file, which holds it until the file has been touched, or for long enough.
TEST_F(journal_test, a_promotion_waits_until_nobody_else_is_in_the_file) {
    journal::journal log{how(), [](bool, const std::string&) {}};
    log.follow("127.0.0.1:1");
    std::atomic<bool> is_in{false};
    bool was_touched = false;
    std::jthread client{[&] {
        log.with_file([&](journal::store& file) {
            file.hear_term(7);
            const int before = faulty_disk::syncs;
            is_in = true;
            is_in.notify_one();
            const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{300};
            while (faulty_disk::syncs == before && std::chrono::steady_clock::now() < until) std::this_thread::yield();
            was_touched = faulty_disk::syncs != before;
        });
    }};
    is_in.wait(false);
    log.begin(7);
    client.join();
    EXPECT_FALSE(was_touched);
    log.with_file([](journal::store& file) {
        ASSERT_FALSE(file.branches().empty());
        EXPECT_EQ(file.branches().back().term, 8u);
        EXPECT_EQ(file.heard_term(), 7u);
    });
    log.end();
}

}  // namespace
}  // namespace tutti::server
