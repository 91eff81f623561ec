// Signals that find a block of the language that a jump cannot leave. An exception runs a destructor, or a block of the
// library is around it, possibly on another descriptor. One case a run: signal_forwarding <case>.
#include <unistd.h>

#include <atomic>
#include <exception>
#include <string_view>
#include <thread>
#include <tutti/tutti.hpp>
#include <utility>

#include "expect.hpp"
#include "processes.hpp"

#define TUTTI_PURE [[gnu::transaction_pure]]

namespace {

// clang-format off

alignas(64) long left = 0;
alignas(64) long right = 0;
std::thread other;
[[gnu::noinline]] long read_right() { __transaction_atomic { return right; } }
[[gnu::noinline]] void unsafe_step() { asm volatile("" ::: "memory"); }

// ---- from a destructor

/// Returns when another thread has killed this thread's transaction and sleeps until that transaction has ended.
TUTTI_PURE void let_another_kill() {
    if (other.joinable()) return;
    static std::atomic<pid_t> killer{0};
    other = std::thread{[] {
        static_cast<void>(read_right()); // the runtime already knows the thread when it sleeps
        killer = gettid();
        synchronized { unsafe_step(); }
    }};
    while (killer == 0 || !sleeps(killer)) std::this_thread::yield();
}

struct on_the_way_out {
    [[gnu::transaction_safe]] on_the_way_out() noexcept {}
    [[gnu::transaction_safe]] ~on_the_way_out() {
        let_another_kill();
        left += 10;
    }
};

[[gnu::transaction_safe, gnu::noinline]] void throw_past_destructor() {
    const on_the_way_out here;
    throw 1;
}

[[gnu::noinline]] void leave_by_exception() {
    __transaction_atomic {
        ++left;
        throw_past_destructor();
    }
}

/// The attempt is doomed in the destructor. The exception continues, and ends the block of the language on its way to
/// the library's block. That block starts over, and then contains no other block.
void doomed_by_destructor() {
    left = 100;
    int attempts = 0;
    const bool kept = tutti::try_atomically([&](tutti::tx& t) {
        if (++attempts == 2) tutti::cancel(t);
        leave_by_exception();
    });
    other.join();
    EXPECT(!kept && attempts == 2 && left == 100);
    EXPECT(std::uncaught_exceptions() == 0);
}

/// The same, but the exception is caught before it leaves the block of the library.
void doomed_by_destructor_and_caught() {
    left = 100;
    int attempts = 0;
    tutti::atomically([&](tutti::tx& t) {
        ++attempts;
        try {
            leave_by_exception();
        } catch (const int&) {
            const long seen = tutti::load(t, &left);
            EXPECT(attempts == 2 && seen == 111);
        }
    });
    other.join();
    EXPECT(attempts == 2 && left == 111);
    EXPECT(std::uncaught_exceptions() == 0);
}

bool overtaken = false;

/// Another thread changes a value that this one has read, and one that it is about to read.
TUTTI_PURE void overtake_once() {
    if (std::exchange(overtaken, true)) return;
    std::thread{[] {
        tutti::atomically({.privatization = tutti::privatization::waived}, [](tutti::tx& t) {
            tutti::store(t, &left, tutti::load(t, &left) + 10);
            tutti::store(t, &right, tutti::load(t, &right) + 10);
        });
    }}.join();
}

struct reads_on_the_way_out {
    long& sum;
    [[gnu::transaction_safe]] explicit reads_on_the_way_out(long& into) noexcept : sum{into} {}
    [[gnu::transaction_safe]] ~reads_on_the_way_out() {
        overtake_once();
        sum += right;
    }
};

[[gnu::transaction_safe, gnu::noinline]] void throw_past_reader(long& sum) {
    const reads_on_the_way_out here{sum};
    throw 1;
}

[[gnu::noinline]] void leave_by_exception_with(long& sum) {
    __transaction_atomic {
        sum = left;
        throw_past_reader(sum);
    }
}

/// The destructor itself finds a conflict: its frame is dropped, together with the exception.
void doomed_in_destructor() {
    left = 1;
    right = -1;
    int attempts = 0;
    long sum = 7;
    tutti::atomically([&](tutti::tx&) {
        ++attempts;
        try {
            leave_by_exception_with(sum);
        } catch (const int&) {
        }
    });
    EXPECT(attempts == 2 && sum == 20);
    EXPECT(std::uncaught_exceptions() == 0);
}

[[gnu::transaction_safe, gnu::noinline]] void throw_number() { throw 1; }
[[gnu::transaction_safe, gnu::noinline]] long read_overtaken() {
    overtake_once();
    return right;
}

template <bool here>
[[gnu::noinline]] long handle() {
    long seen = 0;
    __transaction_atomic {
        try {
            throw_number();
        } catch (...) {
            if constexpr (here) {
                overtake_once();
                seen = right;
            } else {
                seen = read_overtaken();
            }
        }
    }
    return seen;
}

/// A handler ends with its block, whether its frame is dropped (for a barrier of its own) or unwound (for a barrier of
/// a callee). A handler around the library's block stays.
void conflict_in_handler() {
    for (const auto in_handler : {handle<true>, handle<false>}) {
        left = 1;
        right = -1;
        overtaken = false;
        int attempts = 0;
        long sum = 0;
        try {
            throw 'a';
        } catch (char) {
            tutti::atomically([&](tutti::tx& t) {
                ++attempts;
                sum = tutti::load(t, &left);
                sum += in_handler();
            });
            const std::exception_ptr handled = std::current_exception();
            EXPECT(handled != nullptr);
            try {
                std::rethrow_exception(handled);
            } catch (char a) {
                EXPECT(a == 'a');
            }
        }
        EXPECT(attempts == 2 && sum == 20);
        EXPECT(std::uncaught_exceptions() == 0 && std::current_exception() == nullptr);
    }
}

// ---- from a handler of an open nested block, on a descriptor of its own

/// Runs `handler` in a running transaction, after the commit of an open nested block inside it.
template <class F>
void run_on_commit_apart(tutti::tx& t, F handler) {
    tutti::open_nested(t, [&](tutti::tx& i) { i.on_commit(handler); }, [](tutti::tx&) {});
}

int overtaken_times = 0;
TUTTI_PURE void overtake_while_due() {
    if (++overtaken_times > 16) return;
    std::thread{[] {
        tutti::atomically({.privatization = tutti::privatization::waived},
                          [](tutti::tx& t) { tutti::store(t, &right, tutti::load(t, &right) + 10); });
    }}.join();
}

[[gnu::noinline]] void raise_overtaken() {
    __transaction_atomic {
        const long seen = right;
        overtake_while_due();
        right = seen + 1;
    }
}

/// A block with a conflict makes the transaction around it start over, although that transaction has no block of the
/// language that could receive the signal.
void overtaken_in_handler() {
    tutti::var<long> around{0};
    int attempts = 0;
    int handled = 0;
    tutti::atomically([&](tutti::tx& t) {
        ++attempts;
        around.set(t, around.get(t) + 1);
        run_on_commit_apart(t, [&] {
            raise_overtaken();
            ++handled;
        });
    });
    EXPECT(attempts == 2 && handled == 1 && overtaken_times == 17);
    EXPECT(around.load() == 1 && right == 161);
    EXPECT(std::uncaught_exceptions() == 0 && std::current_exception() == nullptr);
}

/// Another thread runs irrevocably and waits for this one's transaction.
void let_another_wait_irrevocably(tutti::var<long>& for_this) {
    if (other.joinable()) return;
    static std::atomic<bool> has_seat{false};
    other = std::thread{[&for_this] {
        tutti::atomically({.mode = tutti::mode::irrevocable}, [&](tutti::tx& t) {
            has_seat = true;
            for_this.set(t, for_this.get(t) + 10);
        });
    }};
    while (!has_seat) std::this_thread::yield();
}

[[gnu::noinline]] void run_alone() { synchronized { unsafe_step(); ++left; } }

/// The same for a block that has to run alone before it begins.
void alone_in_handler() {
    tutti::var<long> around{0};
    int attempts = 0;
    int handled = 0;
    tutti::atomically([&](tutti::tx& t) {
        ++attempts;
        around.set(t, around.get(t) + 1);
        run_on_commit_apart(t, [&] {
            let_another_wait_irrevocably(around);
            run_alone();
            ++handled;
        });
    });
    other.join();
    EXPECT(attempts >= 2 && handled == 1); // more if the other thread is slow to wake
    EXPECT(around.load() == 11 && left == 1);
}

/// A fork does not wait: the transaction around it stays open, and other threads may be in the middle of any operation.
void fork_in_handler() {
    tutti::var<long> around{0};
    tutti::atomically([&](tutti::tx& t) {
        around.set(t, around.get(t) + 1);
        run_on_commit_apart(t, [&] {
            let_another_wait_irrevocably(around);
            const std::string here(100, 'x'); // no exception from fork could pass this string
            const pid_t child = fork();
            if (child == 0) _exit(here.size() == 100 ? 0 : 1);
            EXPECT(ended_well(child));
        });
    });
    other.join();
    EXPECT(around.load() == 11);
}

// ---- from a block that was about to run again

std::atomic<bool> may_end{false};

/// Another thread owns the orec of `right` until the test ends it.
TUTTI_PURE void let_another_own() {
    if (other.joinable()) return;
    static std::atomic<bool> owns{false};
    other = std::thread{[] {
        tutti::atomically({.privatization = tutti::privatization::waived}, [](tutti::tx& t) {
            tutti::store(t, &right, 5L);
            owns = true;
            while (!may_end) std::this_thread::yield();
        });
    }};
    while (!owns) std::this_thread::yield();
}

[[gnu::noinline]] long read_owned() {
    __transaction_atomic {
        let_another_own();
        return right;
    }
}

/// The awaited orec stays busy, and the library's block owns an orec itself, so that block has to start over.
void busy_for_long() {
    int attempts = 0;
    long seen = 0;
    tutti::atomically([&](tutti::tx& t) {
        ++attempts;
        t.on_abort([] { may_end = true; }); // before it waits for the owner
        tutti::store(t, &left, 1L);
        seen = read_owned();
    });
    other.join();
    EXPECT(attempts >= 2 && seen == 5 && left == 1);
}

// ---- signals to a block with barriers inside a block without barriers

struct alignas(64) one_stripe { long first; long second; };
one_stripe written{};
int runs = 0;

/// Changes a value that the block around it has read, and one that it is about to read, in a committed transaction.
TUTTI_PURE void change_apart_once(tutti::tx& t) {
    if (++runs != 1) return;
    tutti::open_nested(
        t,
        [](tutti::tx& i) {
            tutti::store(i, &left, 10L);
            tutti::store(i, &right, 10L);
        },
        [](tutti::tx&) {});
}

[[gnu::noinline]] long write_after_conflict(tutti::tx& t) {
    long sum = 0;
    __transaction_atomic {
        sum = left;
        change_apart_once(t);
        sum += right;
        written.first = 1;
        written.second = 2;
    }
    return sum;
}

TUTTI_PURE void cancel_in_library() {
    const bool kept = tutti::try_atomically([](tutti::tx& t) {
        EXPECT(t.irrevocable());
        EXPECT(write_after_conflict(t) == 20);
        tutti::cancel(t);
    });
    EXPECT(!kept);
}

/// A block that keeps its barriers because the library may roll it back keeps them when it runs again.
void rolled_back_in_part() {
    __transaction_atomic { ++left; cancel_in_library(); }
    EXPECT(runs == 2 && written.first == 0 && written.second == 0);
}

// clang-format on

}  // namespace

int main(int argc, char** argv) {
    const std::string_view which = argc > 1 ? argv[1] : "";
    if (which == "destructor") doomed_by_destructor();
    else if (which == "destructor-and-caught") doomed_by_destructor_and_caught();
    else if (which == "conflict-in-destructor") doomed_in_destructor();
    else if (which == "conflict-in-handler") conflict_in_handler();
    else if (which == "overtaken-in-handler") overtaken_in_handler();
    else if (which == "alone-in-handler") alone_in_handler();
    else if (which == "fork-in-handler") fork_in_handler();
    else if (which == "rolled-back-in-part") rolled_back_in_part();
    else if (which == "busy") busy_for_long();
    else return 2;
    return 0;
}
