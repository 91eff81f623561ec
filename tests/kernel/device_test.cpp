// The module alone: the destination of ticks, the state that they leave behind, and refused calls.
#include <sys/rseq.h>
#include <sys/wait.h>

#include <cstring>
#include <deque>
#include <vector>

#include "kernel/device.hpp"
#include "kernel/registered_thread.hpp"
#include "support/effort.hpp"

namespace kernel_test {
namespace {

TEST(device, has_the_version_of_the_tests) {
    const device d;
    __u32 version = 0;
    EXPECT_EQ(d.call(TUTTI_VERSION, &version), 0);
    EXPECT_EQ(version, __u32{TUTTI_ABI});
}

// Catches a kick that is lost, and one that redirects more than once.
TEST(ticks, arrive_once) {
    device d;
    ASSERT_EQ(d.allow_grind(), 0);
    ticking_thread g{d};
    const __u64 ticks = tutti::support::rounds(1000);
    for (__u64 i = 0; i < ticks; ++i) {
        ASSERT_EQ(read_once(g.entry().redirected), i);
        ASSERT_EQ(g.kick(), 0);
        wait_for_more(g.entry().redirected, i);
    }
    g.stop();
    EXPECT_EQ(g.handled, ticks);
    EXPECT_EQ(g.damage, 0u);
}

// Covers registers, flags, a vector and the red zone.
TEST(ticks, leave_no_trace) {
    device d;
    ASSERT_EQ(d.allow_grind(), 0);
    ticking_thread g{d, tick_registration(50'000)};
    wait_for_more(g.entry().redirected, tutti::support::rounds(5000));
    const __u64 seen = read_once(g.entry().redirected);
    g.stop();
    EXPECT_EQ(g.damage, 0u);
    EXPECT_GE(g.handled, seen);
}

/// Checks that the tick stays pending, repeatedly, and redirects as soon as it may.
template <class F, class G>
void is_deferred_while(F&& forbid, G&& permit) {
    device d;
    ASSERT_EQ(d.allow_grind(), 0);
    ticking_thread g{d};
    forbid(g.entry());
    ASSERT_EQ(g.kick(), 0);
    wait_for_more(g.entry().deferred, 3);
    EXPECT_EQ(read_once(g.entry().redirected), 0u);
    EXPECT_EQ(g.pending, 1);
    permit(g.entry());
    wait_for_more(g.entry().redirected, 0);
    g.stop();
    EXPECT_EQ(g.handled, 1u);
    EXPECT_EQ(g.damage, 0u);
}

TEST(ticks, are_deferred_while_not_preemptable) {
    is_deferred_while([](tutti_tick_entry& e) { write_once<__u32>(e.preemptable, 0); },
                      [](tutti_tick_entry& e) { write_once<__u32>(e.preemptable, 1); });
}

TEST(ticks, are_deferred_on_another_stack) {
    is_deferred_while([](tutti_tick_entry& e) { write_once<__u64>(e.stack_end, 4096); },
                      [](tutti_tick_entry& e) { write_once<__u64>(e.stack_end, ~__u64{0}); });
}

TEST(ticks, are_deferred_on_a_full_stack) {
    is_deferred_while([](tutti_tick_entry& e) { write_once<__u64>(e.stack_begin, ~__u64{0} - 1); },
                      [](tutti_tick_entry& e) { write_once<__u64>(e.stack_begin, 0); });
}

TEST(ticks, are_deferred_outside_of_allowed_code) {
    device d;
    ticking_thread g{d};
    ASSERT_EQ(g.kick(), 0);
    wait_for_more(g.entry().deferred, 3);
    EXPECT_EQ(read_once(g.entry().redirected), 0u);
    ASSERT_EQ(d.allow_grind(), 0);
    wait_for_more(g.entry().redirected, 0);
}

TEST(ticks, are_deferred_in_the_handler) {
    device d;
    ASSERT_EQ(d.allow_grind(), 0);
    tutti_tick_register how = tick_registration();
    how.handler = reinterpret_cast<std::uintptr_t>(&grind);
    how.handler_end = address(&grind_end);
    ticking_thread g{d, how};
    ASSERT_EQ(g.kick(), 0);
    wait_for_more(g.entry().deferred, 3);
    EXPECT_EQ(read_once(g.entry().redirected), 0u);
}

// Catches a module that redirects out of a restartable sequence, which the kernel would then not restart.
TEST(ticks, are_deferred_in_a_restartable_sequence) {
    const device d;
    const tutti_range code{address(&restartable_begin), address(&restartable_end)};
    ASSERT_EQ(d.call(TUTTI_ALLOW, &code), 0);
    ASSERT_GT(__rseq_size, 0u) << "the C library has none";
    tutti_tick_register how = tick_registration();
    std::atomic<bool> stop{false}, registered{false};
    std::thread t{[&] {
        ASSERT_EQ(d.call(TUTTI_TICK_REGISTER, &how), 0);
        tutti_tick_entry& e = d.entry(how.number);
        handler_entry_of_thread = &e;
        write_once<__u64>(e.stack_end, ~__u64{0});
        write_once<__u32>(e.preemptable, 1);
        registered = true;
        char* const thread = static_cast<char*>(__builtin_thread_pointer());
        restartable(reinterpret_cast<struct rseq*>(thread + __rseq_offset), &stop);
        EXPECT_EQ(d.call(TUTTI_TICK_UNREGISTER), 0);
    }};
    while (!registered) std::this_thread::yield();
    ASSERT_EQ(d.kick(how.number), 0);
    wait_for_more(d.entry(how.number).deferred, 20);
    EXPECT_EQ(read_once(d.entry(how.number).redirected), 0u);
    stop = true;
    t.join();
}

// The thread continues where it was, with a tick that was requested while it slept.
TEST(ticks, reach_sleeping_threads) {
    device d;
    ASSERT_EQ(d.allow_grind(), 0);
    tutti_tick_register how = tick_registration();
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    std::atomic<bool> registered{false}, stop{false};
    std::uint64_t damage = 1;
    std::thread t{[&] {
        ASSERT_EQ(d.call(TUTTI_TICK_REGISTER, &how), 0);
        tutti_tick_entry& e = d.entry(how.number);
        handler_entry_of_thread = &e;
        write_once<__u64>(e.stack_end, ~__u64{0});
        write_once<__u32>(e.preemptable, 1);
        registered = true;
        char byte = 0;
        EXPECT_EQ(::read(ends[0], &byte, 1), 1);
        damage = grind(&stop);
        EXPECT_EQ(d.call(TUTTI_TICK_UNREGISTER), 0);
    }};
    while (!registered) std::this_thread::yield();
    ASSERT_EQ(d.kick(how.number), 0);
    ASSERT_EQ(::write(ends[1], "x", 1), 1);
    wait_for_more(d.entry(how.number).redirected, 0);
    stop = true;
    t.join();
    EXPECT_EQ(damage, 0u);
    ::close(ends[0]);
    ::close(ends[1]);
}

// Most of the threads sleep, so that the busy threads get to run.
TEST(ticks, reach_the_maximum_number_of_threads) {
    device d;
    ASSERT_EQ(d.allow_grind(), 0);
    constexpr unsigned busy = 4;
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    std::atomic<unsigned> registered{0};
    std::vector<std::thread> sleepers;
    for (unsigned i = 0; i < TUTTI_THREADS - busy; ++i) {
        sleepers.emplace_back([&] {
            tutti_tick_register how = tick_registration();
            EXPECT_EQ(d.call(TUTTI_TICK_REGISTER, &how), 0);
            ++registered;
            char byte = 0;
            EXPECT_EQ(::read(ends[0], &byte, 1), 0);
            EXPECT_EQ(d.call(TUTTI_TICK_UNREGISTER), 0);
        });
    }
    while (registered != TUTTI_THREADS - busy) std::this_thread::yield();
    std::deque<ticking_thread> all;
    for (unsigned i = 0; i < busy; ++i) all.emplace_back(d);
    tutti_tick_register how = tick_registration();
    EXPECT_EQ(d.call(TUTTI_TICK_REGISTER, &how), ENOSPC);
    for (unsigned i = 0; i < TUTTI_THREADS; ++i) EXPECT_EQ(d.kick(i), 0);
    for (ticking_thread& g : all) wait_for_more(g.entry().redirected, 0);
    for (ticking_thread& g : all) {
        g.stop();
        EXPECT_EQ(g.damage, 0u);
        EXPECT_EQ(g.handled, 1u);
    }
    EXPECT_EQ(d.call(TUTTI_TICK_REGISTER, &how), 0) << "there is room again";
    EXPECT_EQ(d.call(TUTTI_TICK_UNREGISTER), 0);
    ::close(ends[1]);
    for (std::thread& t : sleepers) t.join();
    ::close(ends[0]);
}

TEST(device, refuses_invalid_arguments) {
    const device d;
    const auto joining = [&d](auto&& change) {
        tutti_tick_register how = tick_registration();
        change(how);
        return d.call(TUTTI_TICK_REGISTER, &how);
    };
    EXPECT_EQ(joining([](tutti_tick_register& h) { h.handler = ~__u64{0}; }), EINVAL);
    EXPECT_EQ(joining([](tutti_tick_register& h) { h.handler = __u64{1} << 63; }), EINVAL);
    EXPECT_EQ(joining([](tutti_tick_register& h) { h.handler_end = h.handler - 1; }), EINVAL);
    EXPECT_EQ(joining([](tutti_tick_register& h) { h.period_ns = TUTTI_MIN_PERIOD_NS - 1; }), EINVAL);
    EXPECT_EQ(joining([](tutti_tick_register& h) { h.pause_ns = 0; }), EINVAL);
    EXPECT_EQ(joining([](tutti_tick_register& h) { h.max_pause_ns = TUTTI_MAX_PERIOD_NS + 1; }), EINVAL);
    EXPECT_EQ(joining([](tutti_tick_register& h) { h.signal = 65; }), EINVAL);
    EXPECT_EQ(d.call(TUTTI_TICK_UNREGISTER), ESRCH);
    EXPECT_EQ(joining([](tutti_tick_register&) {}), 0);
    EXPECT_EQ(joining([](tutti_tick_register&) {}), EBUSY);
    EXPECT_EQ(d.call(TUTTI_TICK_UNREGISTER), 0);
    EXPECT_EQ(d.kick(0), ESRCH);
    EXPECT_EQ(d.kick(TUTTI_THREADS), EINVAL);
    EXPECT_EQ(d.call(TUTTI_TICK_REGISTER, nullptr), EFAULT);
    EXPECT_EQ(d.call(_IO('T', 99)), ENOTTY);

    const tutti_range empty{4096, 4096}, of_kernel{4096, ~__u64{0}};
    EXPECT_EQ(d.call(TUTTI_ALLOW, &empty), EINVAL);
    EXPECT_EQ(d.call(TUTTI_ALLOW, &of_kernel), EINVAL);
    for (int i = 0; i < TUTTI_RANGES; ++i) ASSERT_EQ(d.allow_grind(), 0);
    EXPECT_EQ(d.allow_grind(), ENOSPC);

    EXPECT_EQ(::mmap(nullptr, 8192, PROT_READ, MAP_SHARED, d.fd(), 0), MAP_FAILED);
    EXPECT_EQ(::mmap(nullptr, 8192, PROT_READ, MAP_SHARED, d.fd(), TUTTI_TRANSACTIONS_PAGE), MAP_FAILED);
    EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, d.fd(), 8192), MAP_FAILED);
}

// A child has the descriptor, but another address space: it may not use the device, and is not registered.
TEST(device, serves_only_the_program_that_opened_it) {
    device d;
    ASSERT_EQ(d.allow_grind(), 0);
    ticking_thread g{d};
    for (int i = 0; i < 8; ++i) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            tutti_tick_register how = tick_registration();
            bool refused =
                d.call(TUTTI_TICK_REGISTER, &how) == EPERM && d.kick(g.number()) == EPERM && d.allow_grind() == EPERM;
            for (const unsigned long what :
                 std::initializer_list<unsigned long>{TUTTI_TX_REGISTER, TUTTI_TX_UNREGISTER, TUTTI_AWAIT, TUTTI_DEFER,
                                                      TUTTI_RESUME, TUTTI_WAKE_WAITERS}) {
                refused = refused && d.call(what, &how) == EPERM;
            }
            for (const long page : {TUTTI_TICKS_PAGE, TUTTI_TRANSACTIONS_PAGE}) {
                refused = refused && ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, d.fd(), page) == MAP_FAILED;
            }
            ::_exit(refused ? 0 : 1);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
        const __u64 before = read_once(g.entry().redirected);
        ASSERT_EQ(g.kick(), 0);
        wait_for_more(g.entry().redirected, before);
    }
    g.stop();
    EXPECT_EQ(g.damage, 0u);
}

/// Runs processes whose threads tick, also at the time when `end` ends each process in its own way.
template <class F>
void end_while_ticking(F&& end, int expected) {
    for (int i = 0; i < 4; ++i) {
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            // The descriptor survives exec, but the handler does not exist in the new program.
            auto* const d = new device{0};
            static_cast<void>(d->allow_grind());
            std::deque<ticking_thread> all;
            for (int k = 0; k < 2; ++k) all.emplace_back(*d, tick_registration(TUTTI_MIN_PERIOD_NS));
            for (ticking_thread& g : all) wait_for_more(g.entry().redirected, 10);
            tutti_tick_register how = tick_registration(TUTTI_MIN_PERIOD_NS);
            const tutti_range everything{4096, (__u64{1} << 47) - 4096};
            if (d->call(TUTTI_ALLOW, &everything) != 0 || d->call(TUTTI_TICK_REGISTER, &how) != 0) ::_exit(3);
            tutti_tick_entry& e = d->entry(how.number);
            handler_entry_of_thread = &e;
            write_once<__u64>(e.stack_end, ~__u64{0});
            write_once<__u32>(e.preemptable, 1);
            if (::write(ends[1], "x", 1) != 1) ::_exit(4);
            end();
            ::pause();
        }
        char byte = 0;
        ASSERT_EQ(::read(ends[0], &byte, 1), 1);
        if (expected == SIGKILL) ::kill(child, SIGKILL);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, expected);
        ::close(ends[0]);
        ::close(ends[1]);
    }
}

TEST(ticking_threads, may_be_killed_while_they_tick) {
    end_while_ticking([] {}, SIGKILL);
}
TEST(ticking_threads, may_exit_while_others_tick) {
    end_while_ticking([] { ::_exit(0); }, 0);
}
TEST(ticking_threads, may_execute_another_program_while_they_tick) {
    end_while_ticking([] { ::execl("/bin/busybox", "busybox", "true", nullptr); }, 0);
}

// The thread does not unregister, but its entry becomes free for the next thread, repeatedly.
TEST(ticking_threads, may_end_without_unregistering) {
    device d;
    ASSERT_EQ(d.allow_grind(), 0);
    for (unsigned i = 0; i < 4 * TUTTI_THREADS; ++i) {
        std::thread{[&d] {
            tutti_tick_register how = tick_registration(TUTTI_MIN_PERIOD_NS);
            int error = 0;
            do error = d.call(TUTTI_TICK_REGISTER, &how);
            while (error == ENOSPC);  // until the kernel has cleaned up the ended threads
            EXPECT_EQ(error, 0);
        }}.join();
    }
}

// The device closes first.
TEST(ticking_threads, may_outlive_the_device) {
    std::atomic<bool> stop{false};
    std::vector<std::thread> all;
    for (int i = 0; i < 5; ++i) {
        auto d = std::make_unique<device>();
        ASSERT_EQ(d->allow_grind(), 0);
        std::atomic<bool> registered{false};
        all.emplace_back([&d, &registered, &stop] {
            tutti_tick_register how = tick_registration(TUTTI_MIN_PERIOD_NS);
            EXPECT_EQ(d->call(TUTTI_TICK_REGISTER, &how), 0);
            registered = true;
            EXPECT_EQ(grind(&stop), 0u);
        });
        while (!registered) std::this_thread::yield();
        d.reset();
    }
    stop = true;
    for (std::thread& t : all) t.join();
}

}  // namespace
}  // namespace kernel_test

/// With --ticking or --asleep, runs threads that tick, or that sleep for a winner, until this process is killed.
int main(int count, char** words) {
    if (count == 2 && std::strcmp(words[1], "--ticking") == 0) {
        kernel_test::device d;
        if (d.allow_grind() != 0) return 1;
        std::deque<kernel_test::ticking_thread> all;
        for (int i = 0; i < 4; ++i) all.emplace_back(d, kernel_test::tick_registration(TUTTI_MIN_PERIOD_NS));
        std::puts("ticking");
        std::fflush(stdout);
        for (;;) ::pause();
    }
    if (count == 2 && std::strcmp(words[1], "--asleep") == 0) kernel_test::sleep_until_killed("asleep");
    ::testing::InitGoogleTest(&count, words);
    return RUN_ALL_TESTS();
}
