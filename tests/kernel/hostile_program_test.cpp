// A program that does anything to the device and to its page harms only itself. Another program beside it continues to
// tick, unharmed.
#include <sys/wait.h>

#include <csignal>
#include <iterator>
#include <random>
#include <thread>
#include <vector>

#include "kernel/device.hpp"
#include "kernel/registered_thread.hpp"
#include "support/effort.hpp"

namespace kernel_test {
namespace {

void scribble_on(tutti_transaction& t, std::mt19937_64& random, __u64 value) {
    switch (random() % 8) {
        case 0: write_once<__u64>(t.running, value % 4); break;
        case 1: write_once<__u64>(t.awaited, value % 4); break;
        case 2: write_once<__u32>(t.awaits, static_cast<__u32>(random() % 3 == 0 ? value : value % 8)); break;
        case 3: write_once<__u64>(t.deadline_ns, value); break;
        case 4: write_once<__u32>(t.waiters, static_cast<__u32>(value)); break;
        case 5: write_once<__u32>(t.deferring, static_cast<__u32>(value)); break;
        case 6: write_once<__u64>(t.extend_from_ns, value); break;
        default: write_once<__u32>(t.slept, static_cast<__u32>(value)); break;
    }
}

/// Writes garbage into every entry until it is stopped.
void scribble(const device& d, const std::atomic<bool>& stop, std::uint64_t seed) {
    std::mt19937_64 random{seed};
    while (!stop) {
        tutti_tick_entry& e = d.entry(static_cast<unsigned>(random() % TUTTI_THREADS));
        const __u64 value = random() % 3 == 0 ? random() : random() % 2 == 0 ? ~__u64{0} << (random() % 64) : 0;
        if (random() % 2 == 0) {
            scribble_on(d.transaction(static_cast<unsigned>(random() % TUTTI_THREADS)), random, value);
            continue;
        }
        switch (random() % 6) {
            case 0: write_once<__u32>(e.wanted, static_cast<__u32>(value)); break;
            case 1: write_once<__u64>(e.pending_at, value); break;
            case 2: write_once<__u64>(e.stack_begin, value); break;
            case 3: write_once<__u64>(e.stack_end, value); break;
            case 4: write_once<__u64>(e.redirected, value); break;
            // Not `preemptable`: with a random stack, the redirection would end the program too soon.
            default: write_once<__u64>(e.deferred, value); break;
        }
    }
}

/// Makes calls with random commands, and known commands with random arguments.
void call_at_random(const device& d, std::uint64_t seed, std::size_t calls) {
    std::mt19937_64 random{seed};
    constexpr unsigned long commands[] = {TUTTI_VERSION, TUTTI_ALLOW,       TUTTI_TICK_REGISTER, TUTTI_TICK_UNREGISTER,
                                          TUTTI_KICK,    TUTTI_TX_REGISTER, TUTTI_TX_UNREGISTER, TUTTI_AWAIT,
                                          TUTTI_DEFER,   TUTTI_RESUME,      TUTTI_WAKE_WAITERS};
    for (std::size_t i = 0; i < calls; ++i) {
        const unsigned long command = random() % 4 == 0 ? random() : commands[random() % std::size(commands)];
        tutti_tick_register how = tick_registration(random() % 2 == 0 ? 0 : TUTTI_MIN_PERIOD_NS);
        auto* const bytes = reinterpret_cast<unsigned char*>(&how);
        for (std::uint64_t k = random() % 4; k != 0; --k)
            bytes[random() % sizeof how] = static_cast<unsigned char>(random());
        how.signal = 0;  // so that a signal does not end this thread
        switch (random() % 5) {
            case 4: d.call_with(command, random() % 200'000); break;
            case 0: d.call(command, reinterpret_cast<const void*>(random())); break;
            case 1: d.kick(random() % (2 * TUTTI_THREADS)); break;
            default: d.call(command, &how); break;
        }
    }
}

/// Acts as `user`, who could not open the device but has inherited it open.
[[noreturn]] void be_hostile(std::uint64_t seed, uid_t user) {
    device d;
    if (::setresuid(user, user, user) != 0) ::_exit(1);
    std::atomic<bool> stop{false};
    std::thread writer{[&] { scribble(d, stop, seed); }};
    std::thread others[3];
    for (std::thread& t : others)
        t = std::thread{[&d, s = ++seed] { call_at_random(d, s, tutti::support::rounds(6000)); }};
    for (std::thread& t : others) t.join();
    stop = true;
    writer.join();
    ::_exit(0);
}

TEST(hostile_program, harms_no_other_program) {
    device d;
    ASSERT_EQ(d.allow_grind(), 0);
    ticking_thread bystander{d, tick_registration(100'000)};
    winner_and_loser beside{d};
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) be_hostile(1000 * seed, seed % 2 == 0 ? 1000 : 0);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        // The program may have let pending_at point into its own memory, which only affects itself.
        EXPECT_TRUE((WIFEXITED(status) && WEXITSTATUS(status) == 0) || WIFSIGNALED(status));
        const __u64 before = read_once(bystander.entry().redirected);
        const std::uint64_t rounds = beside.rounds();
        while (read_once(bystander.entry().redirected) < before + 10) std::this_thread::yield();
        while (beside.rounds() < rounds + 10) std::this_thread::yield();
    }
    beside.stop();
    EXPECT_EQ(beside.errors(), 0u);
    bystander.stop();
    EXPECT_EQ(bystander.damage, 0u);
}

// A hostile program may write anything into the page. The threads of the
// program still sleep at most as long as requested, and SIGKILL ends the program.
TEST(hostile_program, blocks_none_of_its_losers_for_long) {
    const device d;
    std::atomic<bool> stop{false};
    std::thread writer{[&] { scribble(d, stop, 11); }};
    std::vector<std::thread> losers;
    for (int i = 0; i < 4; ++i) {
        losers.emplace_back([&d] {
            const registered_thread m{d};
            for (int k = 0; k < 300; ++k) {
                const int error = d.call_with(k % 4 == 0 ? TUTTI_DEFER : TUTTI_AWAIT, 1'000'000);
                EXPECT_TRUE(error == 0 || error == ETIMEDOUT || error == EINVAL) << error;
                d.call(TUTTI_WAKE_WAITERS);
            }
        });
    }
    for (std::thread& t : losers) t.join();
    stop = true;
    writer.join();
}

// Redirected to a random address with a random stack, the program ends by a signal or survives. Nothing else happens.
TEST(hostile_program, may_redirect_itself_anywhere) {
    std::mt19937_64 random{7};
    for (int i = 0; i < 40; ++i) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            ::ualarm(50'000, 0);  // the child may get into a loop
            device d;
            tutti_tick_register how = tick_registration(TUTTI_MIN_PERIOD_NS);
            how.handler = random() % 2 == 0 ? random() >> 17 : address(&handler_entry) + random() % 64;
            how.handler_end = how.handler;
            const tutti_range everything{0, (__u64{1} << 47) - 4096};
            if (d.call(TUTTI_ALLOW, &everything) != 0 || d.call(TUTTI_TICK_REGISTER, &how) != 0) ::_exit(0);
            tutti_tick_entry& e = d.entry(how.number);
            handler_entry_of_thread = &e;
            write_once<__u64>(e.stack_end, ~__u64{0});
            write_once<__u32>(e.preemptable, 1);
            std::atomic<bool> stop{false};
            ::_exit(grind(&stop) == 0 ? 0 : 1);
        }
        static_cast<void>(random());
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
    }
}

}  // namespace
}  // namespace kernel_test
