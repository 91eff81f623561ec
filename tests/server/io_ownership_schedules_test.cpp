// The roles in I/O ownership of an I/O thread, in every order of the steps of a thread and two workers that needs few
// preemptions (tests/interleaving). Catches two owners at the same time, even if that is rare on a real processor.
// Catches a thread that continues to sleep when a worker has gone.
#include <gtest/gtest.h>

#include "interleaving/explore.hpp"
#include "server/net/io_ownership.hpp"

namespace tutti::server {
namespace {

constexpr auto order = std::memory_order_seq_cst;

/// The state that a thread and its workers share. The thread sleeps as soon as it may, and never wakes by itself.
struct shared_io_loop {
    io_ownership steered{1};
    tutti::detail::shared<std::uint32_t> at_the_helm{0};
    bool crowded = false;

    void run_loop() {
        if (at_the_helm.fetch_add(1, order) != 0) crowded = true;
        at_the_helm.fetch_add(std::uint32_t(-1), order);
    }
    void run_thread() {
        run_loop();
        steered.offer();
        static_cast<void>(steered.wait_for_ownership());
        run_loop();
    }
    /// Takes the I/O ownership once, if it is free.
    void run_worker(bool hands_over) {
        if (!steered.try_acquire()) return;
        run_loop();
        if (hands_over) steered.return_to_thread();
        else steered.release();
    }
};

/// Runs two workers that either leave or hand over.
void expect_one_at_a_time(bool first_hands_over, bool second_hands_over) {
    interleaving::scheduler runs;
    const auto found = interleaving::explore(
        {.preemptions = 4, .exhaustive = 20'000, .random = 1'000}, [&](interleaving::strategy& how) {
            shared_io_loop s;
            const std::function<void()> all[] = {[&s] { s.run_thread(); }, [&] { s.run_worker(first_hands_over); },
                                                 [&] { s.run_worker(second_hands_over); }};
            interleaving::trial t{runs.run(all, how), std::nullopt};
            if (t.ran.end != interleaving::ending::complete) t.failure = "the thread sleeps on";
            else if (s.crowded) t.failure = "two have it at once";
            return t;
        });
    EXPECT_GE(found.complete_up_to, 2);
    EXPECT_FALSE(found.failed) << *found.failed->failure << " in the schedule "
                               << to_string(found.failed->ran.decisions);
}

TEST(io_ownership_schedules, have_one_owner_with_workers_that_release) { expect_one_at_a_time(false, false); }
TEST(io_ownership_schedules, have_one_owner_with_workers_of_both_kinds) { expect_one_at_a_time(false, true); }
TEST(io_ownership_schedules, have_one_owner_with_workers_that_return) { expect_one_at_a_time(true, true); }

}  // namespace
}  // namespace tutti::server
