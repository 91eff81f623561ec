// Blocks of the library and of the language in one program: a nested one belongs to the transaction around it.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <tutti/tutti.hpp>
#include <utility>
#include <vector>

#include "expect.hpp"
#include "processes.hpp"

namespace {

tutti::var<long> left{0};
long right = 0;

// clang-format off

/// Thrown so that the library rolls back; the exception passes no block of the language.
struct refused {};

[[gnu::noinline]] void raise_right() { __transaction_atomic { ++right; } }
[[gnu::noinline]] void raise_right_in_vain() { __transaction_atomic { right += 100; __transaction_cancel; } }

void language_in_library() {
    tutti::atomically([](tutti::tx& t) {
        left.set(t, left.get(t) + 1);
        raise_right();
        raise_right_in_vain();
    });
    EXPECT(left.load() == 1 && right == 1);
    bool caught = false;
    try {
        tutti::atomically([](tutti::tx& t) {
            left.set(t, 50);
            raise_right();
            throw refused{};
        });
    } catch (const refused&) {
        caught = true;
    }
    EXPECT(caught && left.load() == 1 && right == 1);
}

struct marked {
    [[gnu::transaction_safe]] explicit marked(long n) : first{n}, second{n} {}
    long first, second;
};
[[gnu::transaction_safe]] void throw_marked() { throw marked{3}; }
[[gnu::noinline]] void raise_right_and_throw() { __transaction_atomic { ++right; throw_marked(); } }

/// An exception goes from a block of the language to the block of the library around it. The library's block starts
/// over after the exception was handled. The undo of writes to the exception must still find the exception's own
/// memory.
void exception_out_of_language_in_library() {
    constexpr std::size_t size = 128 + sizeof(marked); // with the header of the C++ runtime
    std::vector<std::unique_ptr<unsigned char[]>> taken;
    long sum = 0;
    tutti::atomically([&, restarts = 10](tutti::tx& t) mutable {
        sum = 0;
        try {
            raise_right_and_throw();
        } catch (const marked& e) {
            sum = e.first + e.second;
            if (restarts % 2 != 0 && restarts-- > 0) tutti::restart(t);
        }
        taken.push_back(std::make_unique<unsigned char[]>(size));
        std::memset(taken.back().get(), 0x55, size);
        if (restarts-- > 0) tutti::restart(t);
    });
    EXPECT(sum == 6 && right == 2);
    for (const auto& memory : taken) {
        for (std::size_t i = 0; i != size; ++i) EXPECT(memory[i] == 0x55);
    }
    right = 1;
}

void library_in_language() {
    synchronized {
        tutti::atomically([](tutti::tx& t) { left.set(t, left.get(t) + 1); });
        ++right;
    }
    EXPECT(left.load() == 2 && right == 2);
}

struct local {
    local() noexcept { ++alive; }
    ~local() { --alive; }
    static inline std::atomic<int> alive{0};
};

bool overtaken = false;

/// Another thread changes a value that the library's block has read and one that the language's block is about to read.
/// The whole transaction then starts over from inside the inner block.
[[gnu::transaction_pure]] void overtake_once() {
    if (std::exchange(overtaken, true)) return;
    std::thread{[] {
        tutti::atomically({.privatization = tutti::privatization::waived}, [](tutti::tx& t) {
            left.set(t, left.get(t) + 10);
            tutti::store(t, &right, tutti::load(t, &right) + 10);
        });
    }}.join();
}

/// A frame with a cleanup, around a barrier that the compiler treats as a call that cannot throw.
[[gnu::noinline]] long read_right() {
    const local here;
    long seen = 0;
    __transaction_atomic {
        overtake_once();
        seen = right;
    }
    return seen;
}

void restarted_from_inside() {
    const long sum = left.load() + right;
    int attempts = 0;
    for (int i = 0; i != 100; ++i) {
        overtaken = false;
        tutti::atomically([&](tutti::tx& t) {
            const local in_the_library;
            ++attempts;
            const long l = left.get(t);
            const long r = read_right();
            EXPECT(l + r == sum + 20 * (i + 1));
        });
    }
    EXPECT(attempts == 200);
    EXPECT(left.load() + right == sum + 2000);
}

void raise_left_by_ten() {
    tutti::atomically({.privatization = tutti::privatization::waived},
                      [](tutti::tx& t) { left.set(t, left.get(t) + 10); });
}

/// An open nested block that is overtaken so often that the block around it has to start over.
[[gnu::transaction_pure, gnu::noinline]] void add_apart(tutti::tx& t, int& attempts) {
    tutti::open_nested(
        t,
        [&](tutti::tx& i) {
            const long seen = left.get(i);
            if (++attempts < 17) std::thread{raise_left_by_ten}.join();
            left.set(i, seen + 1);
        },
        [](tutti::tx& u) { left.set(u, left.get(u) - 1); });
}

[[gnu::noinline]] void raise_right_around(tutti::tx& t, int& apart) {
    __transaction_atomic {
        ++right;
        add_apart(t, apart);
        ++right;
    }
}

void restarted_from_inside_an_open_nested_block() {
    left.store(0);
    const long before = right;
    int attempts = 0;
    int apart = 0;
    tutti::atomically([&](tutti::tx& t) {
        ++attempts;
        raise_right_around(t, apart);
    });
    EXPECT(attempts == 2 && apart == 17);
    EXPECT(left.load() == 161 && right == before + 2);
}

// ---- writes of a block of the language to frames that are gone

/// A local whose destructor reports whether another frame has written to it.
struct canary {
    static constexpr long sound = 0x2222;
    long words[256];
    canary() noexcept { for (long& w : words) w = sound; }
    ~canary() {
        for (const long& w : words) damaged += w != sound;
    }
    static inline int damaged = 0;
};

[[gnu::transaction_safe, gnu::noinline]] void write_through(long* where, long value) { *where = value; }

[[gnu::noinline]] void write_to_own_frame() {
    long words[64];
    for (long& w : words) w = 0x1111;
    asm volatile("" : : "r"(words) : "memory");
    __transaction_atomic {
        for (long& w : words) write_through(&w, 3);
    }
    asm volatile("" : : "r"(words) : "memory");
}

[[gnu::noinline]] void meet_conflict(tutti::tx& t) {
    const canary here;
    overtake_once();
    static_cast<void>(tutti::load(t, &right));
}
[[gnu::noinline]] void end_in_vain() {
    const canary here;
    throw refused{};
}

/// The old values must not be restored: other frames are at that place now.
void frames_that_are_gone() {
    overtaken = false;
    tutti::atomically([](tutti::tx& t) {
        static_cast<void>(left.get(t));
        write_to_own_frame();
        meet_conflict(t);
    });
    long outside = 5;
    for (int i = 0; i != 3; ++i) {
        bool caught = false;
        try {
            tutti::atomically([&](tutti::tx&) {
                write_through(&outside, 6);
                __transaction_atomic { write_through(&outside, 7); }
                write_to_own_frame();
                end_in_vain();
            });
        } catch (const refused&) {
            caught = true;
        }
        EXPECT(caught && outside == 6);
    }
    EXPECT(canary::damaged == 0);
}

// ---- running alone, in a block of the library

struct large { char bytes[100]; };
large bytes{}, ones{};
int certainly = 1;
[[gnu::noinline]] void unsafe_step() { asm volatile("" ::: "memory"); }
[[gnu::noinline]] void run_alone() { synchronized { unsafe_step(); } }

/// Running alone ends with the transaction of the library: later blocks are instrumented and can be cancelled.
void alone_in_library() {
    for (char& b : ones.bytes) b = 1;
    tutti::atomically([](tutti::tx&) { run_alone(); });
    tutti::atomically([](tutti::tx&) {
        __transaction_atomic { bytes = ones; if (certainly) __transaction_cancel; }
    });
    EXPECT(bytes.bytes[50] == 0);
    tutti::atomically([](tutti::tx&) { run_alone(); });
    __transaction_atomic { bytes = ones; if (certainly) __transaction_cancel; }
    EXPECT(bytes.bytes[50] == 0);
}

long beside = 0;
long noted = 0;
[[gnu::noinline]] void raise_noted() { __transaction_atomic { ++noted; } }
[[gnu::noinline]] void unsafe_raise() { unsafe_step(); ++beside; }
[[gnu::noinline]] void raise_alone() { synchronized { unsafe_raise(); } }

/// Uninstrumented code cannot be rolled back, whichever block of the library it is in; see docs/language.md.
/// Instrumented blocks of the language can be rolled back.
void library_cancelled_in_language() {
    left.store(1);
    const long before = right;
    long around = 0;
    bool kept = true;
    synchronized {
        unsafe_step();
        around = 1;
        kept = tutti::try_atomically([&](tutti::tx& t) {
            left.set(t, 70);
            tutti::store(t, &right, 70L);
            raise_noted();
            unsafe_raise();
            raise_alone();
            tutti::cancel(t);
        });
    }
    EXPECT(!kept && left.load() == 1 && right == before);
    EXPECT(around == 1 && beside == 2 && noted == 0);
    int refusals = 0;
    synchronized {
        unsafe_step();
        try {
            tutti::atomically([&](tutti::tx& t) {
                tutti::or_else(
                    t,
                    [&](tutti::tx& a) { left.set(a, 80); tutti::retry(a); },
                    [&](tutti::tx& b) { left.set(b, 90); });
            });
        } catch (const tutti::usage_error&) {
            ++refusals;
        }
    }
    EXPECT(refusals == 1 && left.load() == 1);
}

// ---- privatization

struct item { long value; };
item only_item{};
item* head = nullptr;
std::atomic<bool> unlinked{false};
std::atomic<bool> too_early{false};
std::thread remover;

/// While a block that has found the item continues, another thread takes the item out. The commit of that thread must
/// not return before the block has ended. The test gives a faulty commit enough time to return.
[[gnu::transaction_pure]] void let_another_unlink() {
    if (remover.joinable()) return;
    remover = std::thread{[] {
        tutti::atomically([](tutti::tx& t) { tutti::store(t, &head, static_cast<item*>(nullptr)); });
        unlinked = true;
    }};
    for (int i = 0; i != 50 && !unlinked; ++i) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    if (unlinked) too_early = true;
}

[[gnu::noinline]] void raise_item() {
    __transaction_atomic {
        if (head != nullptr) {
            let_another_unlink();
            ++only_item.value;
        }
    }
}

void private_beside_inner_block() {
    tutti::atomically([](tutti::tx&) { raise_item(); }); // the first reads of a context are out of line
    head = &only_item;
    tutti::atomically([](tutti::tx&) { raise_item(); });
    remover.join();
    EXPECT(unlinked && !too_early);
}

// ---- interrupted

tutti::var<long> opened{0};
std::atomic<int> looks{0};
[[gnu::transaction_pure]] void wait_until_opened() {
    ++looks;
    tutti::atomically([](tutti::tx& t) { if (opened.get(t) == 0) tutti::retry(t); });
}

/// An exception of the library must not leave a block of the language, so the block keeps waiting. Catches a block that
/// notices the interruption and polls instead of sleeping.
void interrupted_in_retry() {
    std::thread waiting{[] {
        tutti::interruption mine;
        mine.raise();
        __transaction_atomic {
            ++right;
            wait_until_opened();
            if (right < 0) __transaction_cancel; // so that it keeps its barriers
        }
    }};
    while (looks == 0) std::this_thread::yield();
    for (int i = 0; i != 1000; ++i) std::this_thread::yield();
    opened.store(1);
    waiting.join();
    EXPECT(looks <= 10); // two or three are needed; a block that does not sleep makes thousands
}

/// Transactions of one form do not see intermediate states of the other form's.
void side_by_side() {
    std::vector<std::thread> crew;
    for (int me = 0; me != 4; ++me) {
        crew.emplace_back([me] {
            for (int i = 0; i != 500; ++i) {
                if (me % 2 == 0) {
                    tutti::atomically([](tutti::tx& t) {
                        left.set(t, left.get(t) + 1);
                        tutti::store(t, &right, tutti::load(t, &right) + 1);
                    });
                } else {
                    synchronized {
                        const long there = left.load();
                        left.store(there + 1);
                        ++right;
                    }
                }
            }
        });
    }
    for (std::thread& t : crew) t.join();
    EXPECT(left.load() == 2002 && right == 2002);
}

// clang-format on

}  // namespace

/// Forks with an algorithm that cannot run blocks of the language, which a program without such blocks may choose.
void fork_with_other_algorithm() {
    const auto handles_overflow = [] {
        const pid_t child = fork();
        if (child == 0) {
            left.store(1);
            _exit(left.load() == 1 ? 0 : 1);
        }
        return ended_well(child);
    };
    EXPECT(handles_overflow());
    tutti::use_algorithm("norec");
    left.store(2);
    EXPECT(handles_overflow());
}

int main(int argc, char**) {
    if (argc > 1) {
        fork_with_other_algorithm();
        return 0;
    }
    language_in_library();
    exception_out_of_language_in_library();
    library_in_language();
    side_by_side();
    restarted_from_inside();
    restarted_from_inside_an_open_nested_block();
    frames_that_are_gone();
    alone_in_library();
    library_cancelled_in_language();
    private_beside_inner_block();
    interrupted_in_retry();
    return 0;
}
