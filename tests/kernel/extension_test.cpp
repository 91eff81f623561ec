// An extended time slice for a transaction: long enough for a short one, bounded, and returned. The guest has one
// processor and counts instructions instead of time (QEMU's -icount), so other work on this machine has no influence.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "kernel/registered_thread.hpp"
#include "kernel/sharing.hpp"

namespace kernel_test {
namespace {

using namespace std::chrono_literals;

// Longer than any interrupt, and shorter than a time slice of another thread. Such a slice is 4 ms with a tick of Linux
// 6, and 0.7 ms with the finer timer of Linux 7.
constexpr auto away = 300us;

class extension_test : public testing::Test {
    void SetUp() override {
        if (std::getenv("TUTTI_TEST_ICOUNT") == nullptr)
            GTEST_SKIP() << "this machine does not count instructions as time";
    }
};

void compute_for(std::chrono::nanoseconds time) {
    const moment until = now() + time;
    while (now() < until) asm volatile("");
}

struct seen {
    unsigned transactions = 0, left_inside = 0, returned = 0;
    __u64 extended = 0;
};

/// Runs one transaction after another, nearly all the time.
seen run_transactions(const device& d, const std::atomic<bool>& stop) {
    const registered_thread me{d};
    seen s;
    for (__u64 n = 1; !stop; ++n) {
        const __u64 extended = read_once(me.entry().extended);
        me.begin(n);
        const moment begin = now();
        compute_for(15us);
        const moment end = now();
        me.end();
        s.left_inside += end - begin > away;
        s.returned += read_once(me.entry().extended) != extended && now() - end > away;
        ++s.transactions;
    }
    s.extended = read_once(me.entry().extended);
    return s;
}

// Without the extension, nearly all time slices end inside a transaction.
TEST_F(extension_test, suffices_for_a_short_transaction) {
    const device d;
    seen s;
    share(500ms, [&](const std::atomic<bool>& stop) { s = run_transactions(d, stop); }, spin);
    EXPECT_GT(s.transactions, 10'000u);
    EXPECT_GT(s.extended, 30u);
    EXPECT_LE(s.left_inside * 10, s.extended);
    EXPECT_GE(s.returned * 10, s.extended * 8) << "at the end of the transaction the other one has its turn";
}

struct shares {
    double part;                         // fraction of the processor time
    std::chrono::nanoseconds max_slice;  // longest time slice for which the other thread had to wait
    __u64 extended;
};

/// Measures a thread that claims to run `transaction` all the time, beside another thread.
shares share_as(__u64 transaction) {
    const device d;
    shares s{};
    s.part = share(
        800ms,
        [&](const std::atomic<bool>& stop) {
            const registered_thread me{d};
            me.begin(transaction);
            spin(stop);
            s.extended = read_once(me.entry().extended);
        },
        [&](const std::atomic<bool>& stop) {
            for (moment last = now(); !stop; last = now()) {
                relax();
                s.max_slice = std::max<std::chrono::nanoseconds>(s.max_slice, now() - last);
            }
        });
    return s;
}

TEST_F(extension_test, gains_no_processor_time) {
    const shares without = share_as(0), with = share_as(1);
    EXPECT_EQ(without.extended, 0u);
    EXPECT_GT(with.extended, 30u);
    EXPECT_GT(with.part, 0.45);
    EXPECT_LT(with.part, 0.55);
    // The limit is two ticks, or the kernel scheduler's own value, plus the extension.
    EXPECT_LT(with.max_slice, std::max<std::chrono::nanoseconds>(8ms, without.max_slice) +
                                  2 * std::chrono::nanoseconds{TUTTI_TURN_EXTENSION_NS});
}

// The extension starts before the kernel knows that the interrupt has woken a thread of higher priority.
TEST_F(extension_test, delays_real_time_threads_no_longer) {
    const device d;
    std::vector<std::chrono::nanoseconds> late;
    __u64 extended = 0;
    share(
        300ms,
        [&](const std::atomic<bool>& stop) {
            const registered_thread me{d};
            me.begin(1);
            spin(stop);
            extended = read_once(me.entry().extended);
        },
        [&](const std::atomic<bool>& stop) {
            const sched_param first{.sched_priority = 50};
            ASSERT_EQ(::sched_setscheduler(0, SCHED_FIFO, &first), 0);
            while (!stop) {
                const moment due = now() + 700us;
                std::this_thread::sleep_until(due);
                late.push_back(now() - due);
            }
        });
    ASSERT_GT(late.size(), 200u);
    EXPECT_GT(extended, 100u);
    EXPECT_LT(*std::ranges::max_element(late), std::chrono::nanoseconds{TUTTI_TURN_EXTENSION_NS} + 60us);
}

/// Returns the number of extended time slices of a thread in 300 ms, beside another thread, for one transaction with
/// that `extend_from`.
__u64 extended_from(std::chrono::nanoseconds extend_from) {
    const device d;
    __u64 extended = 0;
    share(
        300ms,
        [&](const std::atomic<bool>& stop) {
            const registered_thread me{d};
            write_once<__u64>(me.entry().extend_from_ns, static_cast<__u64>(extend_from.count()));
            me.begin(1);
            spin(stop);
            extended = read_once(me.entry().extended);
        },
        spin);
    return extended;
}

// The transaction requests the extension in half of the time during which the threads share the processor.
TEST_F(extension_test, begins_when_the_transaction_requests_it) {
    const auto later = [](std::chrono::nanoseconds by) { return now().time_since_epoch() + by; };
    const __u64 all = extended_from(later(0ns)), half = extended_from(later(150ms));
    EXPECT_GT(all, 20u);
    EXPECT_GT(half * 3, all);
    EXPECT_LT(half * 3, all * 2);
    EXPECT_EQ(extended_from(later(1h)), 0u);
}

// A thread without a current transaction gets no extension.
TEST_F(extension_test, is_only_for_transactions) {
    const device d;
    __u64 extended = 0;
    share(
        300ms,
        [&](const std::atomic<bool>& stop) {
            const registered_thread me{d};
            me.begin(1);
            me.end();
            spin(stop);
            extended = read_once(me.entry().extended);
        },
        spin);
    EXPECT_EQ(extended, 0u);
}

}  // namespace
}  // namespace kernel_test
