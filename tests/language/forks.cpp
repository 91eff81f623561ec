// The state of a child when other threads were in the middle of an operation at the fork, one case a run: forks <case>.
// Each case ends with status 0, or prints the error.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <tutti/tutti.hpp>
#include <vector>

#include "another_context.hpp"
#include "expect.hpp"
#include "processes.hpp"

#define TUTTI_PURE [[gnu::transaction_pure]]

extern "C" {
TUTTI_PURE void _ITM_addUserCommitAction(void (*)(void*), std::uint64_t, void*);
TUTTI_PURE int _ITM_inTransaction();
}

int certainly = 1;  // hidden from the compiler

namespace {

// clang-format off

long runs_of_another = 0;
void another() {
    __transaction_atomic { ++runs_of_another; }
}
[[gnu::noinline]] void unsafe_step() { asm volatile("" ::: "memory"); }

// ---- in a block

long pair_a = 0;
long pair_b = 0;

void busy() {
    std::atomic<bool> stop{false};
    std::thread other{[&] { while (!stop) { __transaction_atomic { ++pair_a; ++pair_b; } } }};
    for (int i = 0; i != 30; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            bool same = false;
            __transaction_atomic { ++pair_a; ++pair_b; same = pair_a == pair_b; }
            _exit(same ? 0 : 1);
        }
        EXPECT(ended_well(child));
    }
    stop = true;
    other.join();
}

// ---- after a commit

struct alignas(64) apart { long value; };
apart of_other{};
apart read_in_child{};
std::atomic<pid_t> other_commits{0}; // the thread's number
std::thread other;
TUTTI_PURE void note_commit_later() {
    _ITM_addUserCommitAction([](void*) { other_commits = gettid(); }, 1, nullptr);
}

/// Another thread commits while this thread's block runs. It then waits for the end of that block, because its commit
/// may have made memory private.
TUTTI_PURE void let_another_commit() {
    if (other_commits != 0) return;
    other = std::thread{[] {
        __transaction_atomic { of_other.value = 1; note_commit_later(); }
    }};
    while (other_commits == 0 || !sleeps(other_commits)) std::this_thread::yield();
}

/// The child must not wait for a thread that it does not have.
void quiescent() {
    const another_context there{another};
    pid_t child = -1;
    synchronized {
        let_another_commit();
        if (certainly != 0) child = fork();
    }
    if (child == 0) {
        end_with_parent();
        long seen = 0;
        __transaction_atomic { seen = read_in_child.value; }
        synchronized { seen += read_in_child.value; }
        __transaction_atomic { read_in_child.value = seen + 1; }
        std::thread{[] { __transaction_atomic { ++read_in_child.value; } }}.join();
        _exit(read_in_child.value == 2 ? 0 : 1);
    }
    EXPECT(ended_well(child));
    other.join();
    EXPECT(of_other.value == 1);
}

// ---- in retry

bool ran_without_barriers = false;
TUTTI_PURE void look_for_barriers() {
    if (_ITM_inTransaction() == 2) ran_without_barriers = true;
}

[[gnu::noinline]] void overwrite_stack() {
    unsigned char all[65536];
    std::memset(all, 0xff, sizeof all);
    asm volatile("" : : "r"(all) : "memory");
}

/// In the child no thread sleeps. A wake-up would use a stack that has other frames now. Blocks keep their barriers
/// while another thread sleeps, and therefore lose them in the child.
void asleep() {
    tutti::var<bool> rung{false};
    std::atomic<pid_t> sleeper{0};
    other = std::thread{[&] {
        tutti::atomically([&](tutti::tx& t) {
            if (rung.get(t)) return;
            sleeper = gettid();
            tutti::retry(t);
        });
    }};
    while (sleeper == 0 || !sleeps(sleeper)) std::this_thread::yield();
    const pid_t child = fork();
    if (child == 0) {
        end_with_parent();
        std::thread{[] { overwrite_stack(); synchronized { unsafe_step(); } }}.join();
        rung.store(true);
        for (int i = 0; i != 30000 && !ran_without_barriers; ++i) {
            __transaction_atomic { ++pair_a; look_for_barriers(); }
        }
        _exit(ran_without_barriers ? 0 : 1);
    }
    EXPECT(ended_well(child));
    rung.store(true);
    other.join();
}

/// The child's thread is the one that is about to sleep. Its registrations no longer exist, so it checks again, and
/// later sleepers are counted from zero.
void on_its_way_to_sleep() {
    tutti::var<bool> rung{false};
    pid_t child = -1;
    tutti::atomically([&](tutti::tx& t) {
        if (child == 0 || rung.get(t)) return;
        t.on_abort([&](tutti::abort_cause) {
            child = fork();
            if (child == 0) end_with_parent();
            else rung.store(true);
        });
        tutti::retry(t);
    });
    if (child == 0) {
        std::atomic<pid_t> sleeper{0};
        other = std::thread{[&] {
            tutti::atomically([&](tutti::tx& t) {
                sleeper = gettid();
                if (!rung.get(t)) tutti::retry(t);
            });
        }};
        while (sleeper == 0 || !sleeps(sleeper)) std::this_thread::yield();
        rung.store(true);
        other.join();
        _exit(0);
    }
    EXPECT(ended_well(child));
}

// ---- with an abstract lock

/// A fork makes other threads roll back, and their undo actions wait until the fork is over. In the child, the locks of
/// those threads are free.
void holding() {
    static const tutti::abstract_lock name{.of = &pair_a, .key = 7};
    tutti::var<long> inserted{0};
    tutti::var<long> looked_at{0};
    std::atomic<bool> held{false};
    std::atomic<bool> stop{false};
    other = std::thread{[&] {
        tutti::atomically([&](tutti::tx& t) {
            if (stop) return;
            tutti::open_nested(
                t, {name}, [&](tutti::tx& inner) { inserted.set(inner, inserted.get(inner) + 1); },
                [&](tutti::tx& undo) { inserted.set(undo, inserted.get(undo) - 1); });
            held = true;
            while (!stop) static_cast<void>(looked_at.get(t));
        });
    }};
    while (!held) std::this_thread::yield();
    const pid_t child = fork();
    if (child == 0) {
        end_with_parent();
        tutti::atomically([&](tutti::tx& t) { tutti::acquire(t, name); });
        _exit(0);
    }
    EXPECT(ended_well(child));
    stop = true;
    other.join();
}

// ---- at a lower priority

std::atomic<bool> forked{false};
std::atomic<bool> loses{false};
std::atomic<bool> lowers{false};

TUTTI_PURE void let_another_lose() {
    loses = true;
    other = std::thread{[] {
        __transaction_atomic { ++pair_a; }
    }};
    while (!lowers) std::this_thread::yield();
}

std::atomic<int> attempts{0};
TUTTI_PURE void note_attempt() { ++attempts; }
std::thread beaten;
TUTTI_PURE void beat_another() {
    if (beaten.joinable()) return;
    beaten = std::thread{[] {
        __transaction_atomic { note_attempt(); ++pair_b; }
    }};
    while (attempts < 2) std::this_thread::yield();
}

/// Another thread loses to this one and is about to lower its priority. The child does not have this loser. A thread
/// that loses in the child lowers its priority in the usual way.
void lowers_its_priority() {
    const another_context there{another};
    pid_t child = -1;
    synchronized {
        ++pair_a;
        let_another_lose();
        if (certainly != 0) child = fork();
    }
    forked = true;
    if (child == 0) {
        end_with_parent();
        __transaction_atomic { ++pair_b; beat_another(); }
        beaten.join();
        _exit(pair_b == 2 ? 0 : 1);
    }
    EXPECT(ended_well(child));
    other.join();
    EXPECT(pair_a == 2);
}

/// Returns true if a thread can restore its priority here; otherwise the library never lowers it.
bool may_return_to_priority() {
    const id_t me = static_cast<id_t>(gettid());
    const int nice = getpriority(PRIO_PROCESS, me);
    return setpriority(PRIO_PROCESS, me, nice + 1) == 0 && setpriority(PRIO_PROCESS, me, nice) == 0;
}

// ---- at its exit

constexpr std::size_t handed_on = 200; // fewer than a commit examines
thread_local bool leaving = false;
std::atomic<bool> hands_on{false};

/// Another thread that exits hands over objects that it cannot free yet, because this one may see them.
TUTTI_PURE void let_another_leave() {
    if (other.joinable()) return;
    other = std::thread{[] {
        std::vector<long*> all;
        for (std::size_t i = 0; i != handed_on; ++i) all.push_back(new long);
        tutti::atomically({.privatization = tutti::privatization::waived}, [&](tutti::tx& t) {
            for (long* each : all) tutti::destroy(t, each);
        });
        leaving = true;
    }};
    while (!hands_on) std::this_thread::yield();
}

/// In the child, threads may exit as well.
void leaves() {
    const another_context there{another};
    pid_t child = -1;
    synchronized {
        let_another_leave();
        if (certainly != 0) child = fork();
    }
    forked = true;
    if (child == 0) {
        end_with_parent();
        std::thread{[] { __transaction_atomic { ++pair_a; } }}.join();
        _exit(0);
    }
    EXPECT(ended_well(child));
    other.join();
}

// clang-format on

}  // namespace

extern "C" {

void* __libc_realloc(void* old, std::size_t size) noexcept;

/// Replaces the C library's realloc. The exiting thread stays in the middle of the hand-over as long as a fork that
/// does not wait for it could take.
void* realloc(void* old, std::size_t size) noexcept {
    if (leaving && size == handed_on * 2 * sizeof(void*)) {
        hands_on = true;
        for (int i = 0; i != 100 && !forked; ++i) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return __libc_realloc(old, size);
}

/// Replaces the system call. The losing thread stays in the middle of it as long as a fork could take.
int setpriority(__priority_which_t which, id_t who, int nice) noexcept {
    if (loses && !lowers.exchange(true)) {
        for (int i = 0; i != 100 && !forked; ++i) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return static_cast<int>(syscall(SYS_setpriority, which, who, nice));
}

}  // extern "C"

int main(int argc, char** argv) {
    const std::string_view which = argc > 1 ? argv[1] : "";
    if (which == "busy") busy();
    else if (which == "quiescent") quiescent();
    else if (which == "asleep") asleep();
    else if (which == "on-its-way-to-sleep") on_its_way_to_sleep();
    else if (which == "holding") holding();
    else if (which == "leaves") leaves();
    else if (which == "lowers-its-priority" && !may_return_to_priority()) return 77;
    else if (which == "lowers-its-priority") lowers_its_priority();
    else return 2;
    return 0;
}
