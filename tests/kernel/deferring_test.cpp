// Soft serialization: the weight of a loser falls, and always comes back.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <vector>

#include "kernel/registered_thread.hpp"

namespace kernel_test {
namespace {

int nice_of(pid_t thread) { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(thread)); }
pid_t this_thread() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

/// Returns the result of TUTTI_DEFER: 1 while the deferral is on.
int defer(const device& d, const registered_thread& me, unsigned winner, __u64 transaction,
          unsigned long ns = max_wait_ns) {
    write_once<__u32>(me.entry().awaits, winner);
    write_once<__u64>(me.entry().awaited, transaction);
    return ::ioctl(d.fd(), TUTTI_DEFER, ns);
}

/// A thread that has lost to `winners`, and lives until the destructor. `resume` makes the thread call TUTTI_RESUME.
class loser {
public:
    loser(const device& of, std::initializer_list<unsigned> winners, unsigned long ns = max_wait_ns) {
        thread_ = std::thread{[this, &of, all = std::vector<unsigned>{winners}, ns] {
            const registered_thread me{of};
            number_ = me.number();
            for (const unsigned w : all) EXPECT_EQ(defer(of, me, w, 1, ns), 1);
            id_ = this_thread();
            while (!stop_) {
                if (resume_.exchange(false)) {
                    EXPECT_EQ(of.call(TUTTI_RESUME), 0);
                }
                ::usleep(500);
            }
        }};
        while (id_ == 0) std::this_thread::yield();
    }
    ~loser() {
        stop_ = true;
        thread_.join();
    }
    [[nodiscard]] int nice() const { return nice_of(id_); }
    [[nodiscard]] pid_t id() const { return id_; }
    [[nodiscard]] unsigned number() const { return number_; }
    void resume() { resume_ = true; }
    void wait_until_nice_is(int value) const {
        while (nice() != value) ::usleep(500);
    }

private:
    std::atomic<pid_t> id_{0};
    std::atomic<unsigned> number_{0};
    std::atomic<bool> stop_{false}, resume_{false};
    std::thread thread_;
};

TEST(deferring, ends_with_the_commit) {
    const device d;
    const registered_thread winner{d};
    for (int i = 0; i < 10; ++i) {
        winner.begin(1);
        std::thread{[&] {
            const registered_thread me{d};
            EXPECT_EQ(defer(d, me, winner.number(), 1), 1);
            EXPECT_EQ(read_once(me.entry().deferring), 1u);
            const int lowered = nice_of(this_thread());
            // The bound may have passed already if this guest is slow.
            EXPECT_TRUE(lowered == TUTTI_DEFER_NICE || read_once(me.entry().deferring) == 0);
        }}.join();
        loser l{d, {winner.number()}};
        EXPECT_TRUE(winner.end());
        EXPECT_EQ(l.nice(), 0) << "the release has given it back";
        EXPECT_EQ(read_once(d.transaction(l.number()).deferring), 0u);
    }
}

TEST(deferring, does_not_begin_for_an_ended_transaction) {
    const device d;
    const registered_thread winner{d};
    std::thread{[&] {
        const registered_thread me{d};
        EXPECT_EQ(defer(d, me, winner.number(), 1), 0);
        EXPECT_EQ(nice_of(this_thread()), 0);
    }}.join();
}

TEST(deferring, has_a_bound) {
    const device d;
    const registered_thread winner{d};
    winner.begin(1);
    const loser l{d, {winner.number()}};
    l.wait_until_nice_is(0);
}

TEST(deferring, ends_when_the_loser_resumes) {
    const device d;
    const registered_thread winner{d};
    winner.begin(1);
    loser l{d, {winner.number()}};
    l.resume();
    l.wait_until_nice_is(0);
}

TEST(deferring, ends_with_the_winners_thread) {
    const device d;
    std::atomic<int> number{-1};
    std::atomic<bool> go{false};
    std::thread winner{[&] {
        registered_thread me{d};
        me.begin(1);
        me.abandon();
        number = static_cast<int>(me.number());
        while (!go) std::this_thread::yield();
    }};
    while (number < 0) std::this_thread::yield();
    const loser l{d, {static_cast<unsigned>(number)}};
    go = true;
    winner.join();
    l.wait_until_nice_is(0);
}

// Catches a module that restores the former weight although the program has set another weight since then.
TEST(deferring, keeps_a_nice_value_set_by_others) {
    const device d;
    const registered_thread winner{d};
    winner.begin(1);
    const loser l{d, {winner.number()}};
    if (::setpriority(PRIO_PROCESS, static_cast<id_t>(l.id()), 15) != 0) GTEST_SKIP() << "may not set priorities";
    winner.end();
    // The call set the nice value 15 while the module had lowered the weight, or after the module had restored it. In
    // both cases, the nice value stays 15.
    EXPECT_EQ(l.nice(), 15);
}

// A loser of two winners: the end of the first winner does not end the deferral. If the bound were much shorter than
// the wait, the end of the bound would look like a fault.
TEST(deferring, lasts_until_all_winners_have_ended) {
    const device d;
    const registered_thread first{d};
    first.begin(1);
    std::atomic<int> second{-1};
    std::atomic<bool> stop{false};
    std::thread other{[&] {
        const registered_thread me{d};
        me.begin(1);
        second = static_cast<int>(me.number());
        while (!stop) ::usleep(500);
        me.end();
    }};
    while (second < 0) std::this_thread::yield();
    // If the guest is too slow, the bound ends the deferral before the first winner ends. Then the test tries again.
    bool seen = false;
    for (int i = 0; i < 20 && !seen; ++i) {
        first.begin(1);
        const loser l{d, {first.number(), static_cast<unsigned>(second)}};
        first.end();
        seen = l.nice() == TUTTI_DEFER_NICE;
    }
    EXPECT_TRUE(seen);
    stop = true;
    other.join();
}

// The deferral needs no privilege: a thread gets its priority back even if its user may not raise a priority.
TEST(deferring, needs_no_privilege) {
    const device d;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const device own;
        if (::setresuid(1000, 1000, 1000) != 0) ::_exit(2);
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_NICE, &none);
        const registered_thread winner{own};
        winner.begin(1);
        {
            const loser l{own, {winner.number()}};
            winner.end();
            if (l.nice() != 0) ::_exit(3);
        }
        errno = 0;
        ::_exit(::nice(-1) == -1 && errno == EPERM && !::testing::Test::HasFailure() ? 0 : 4);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace kernel_test
