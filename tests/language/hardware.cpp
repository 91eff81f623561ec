// Blocks of the language in hardware, beside other activity: blocks of the library, blocks that run alone, sleepers,
// plain code. One case a run: hardware <case>. Without RTM all of them run in software, and the program reports that.
//
// Catches an attempt that does not check the token, or checks it before its begin, and a begin that leaves `still` set.
// Catches a hardware phase that starts beside a thread that runs alone or sleeps.
#include <cpuid.h>
#include <unistd.h>

#include <tutti/tutti.h>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>
#include <tutti/tutti.hpp>
#include <vector>

#include "expect.hpp"

#define TUTTI_PURE [[gnu::transaction_pure]]

extern "C" {
TUTTI_PURE void _ITM_addUserCommitAction(void (*)(void*), std::uint64_t, void*);
TUTTI_PURE int _ITM_inTransaction();
}

int certainly = 1;  // hidden from the compiler

namespace {

bool processor_has_rtm() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & 1U << 11) != 0 && (d & 1U << 11) == 0;
}
// Asked once: a virtual machine traps every CPUID, which takes some 50 us.
const bool may_ask = processor_has_rtm();
bool expects_hardware() {
    const char* const value = std::getenv("TUTTI_HARDWARE");
    return may_ask && value != nullptr && std::string_view{value} == "auto";
}

TUTTI_PURE bool runs_in_hardware() {
    bool running = false;
    if (may_ask) asm volatile("xtest" : "=@ccnz"(running) : : "memory");
    return running;
}

template <class F>
void run_threads(unsigned threads, F work) {
    std::vector<std::thread> all;
    for (unsigned i = 0; i < threads; ++i) all.emplace_back([&work, i] { work(i); });
    for (std::thread& t : all) t.join();
}
[[gnu::noinline]] void unsafe_step() { asm volatile("" ::: "memory"); }

void say(long in_hardware, long all) {
    std::printf("%ld of %ld blocks ran in hardware\n", in_hardware, all);
    if (!may_ask) std::printf("this processor has no RTM\n");
    EXPECT((in_hardware > 0) == expects_hardware());
}

// clang-format off

// ---- pairs whose sum is 0

struct alignas(64) pair { long here = 0; long there = 0; };
constexpr unsigned pairs = 16;
pair table[pairs];

/// Delays a block, so that an earlier and a later block overlap.
TUTTI_PURE [[gnu::noinline]] void await_close() {
    for (int i = 0; i < 500; ++i) asm volatile("");
}

[[gnu::noinline]] bool move_by_language(unsigned at, bool& hardware) {
    bool good = true;
    __transaction_atomic {
        hardware = runs_in_hardware();
        await_close();
        const long a = table[at].here;
        table[at].here = a + 1;
        good = a + table[at].there == 0;
        table[at].there -= 1;
    }
    return good;
}
[[gnu::noinline]] bool move_alone(unsigned at) {
    bool good = true;
    synchronized {
        const long a = table[at].here;
        table[at].here = a + 1;
        unsafe_step();
        await_close();
        good = a + table[at].there == 0;
        table[at].there -= 1;
    }
    return good;
}
bool move_by_library(unsigned at) {
    return tutti::atomically([&](tutti::tx& t) {
        const long a = tutti::load(t, &table[at].here);
        tutti::store(t, &table[at].here, a + 1);
        await_close();
        const long b = tutti::load(t, &table[at].there);
        tutti::store(t, &table[at].there, b - 1);
        return a + b == 0;
    });
}

void meets() {
    constexpr unsigned threads = 4;
    constexpr long rounds = 40000;
    std::atomic<long> in_hardware{0}, torn{0};
    run_threads(threads, [&](unsigned me) {
        std::uint32_t dice = me + 1;
        for (long i = 0; i < rounds; ++i) {
            dice = dice * 1664525 + 1013904223;
            const unsigned at = dice >> 28;
            bool hardware = false, good = true;
            // These blocks are rare enough to leave hardware phases in between.
            if (dice % 521 == 0) good = move_by_library(at);
            else if (dice % 67 == 0) good = move_alone(at);
            else good = move_by_language(at, hardware);
            in_hardware += hardware ? 1 : 0;
            torn += good ? 0 : 1;
        }
    });
    long moved = 0;
    for (const pair& p : table) {
        EXPECT(p.here + p.there == 0);
        moved += p.here;
    }
    EXPECT(torn == 0);
    EXPECT(moved == threads * rounds);
    say(in_hardware, moved);
}

// ---- sleepers

alignas(64) long ball = 0;

/// A block in hardware changes no orec, so no thread may sleep while one runs.
void wakes() {
    constexpr long turns = 20000;
    long in_hardware = 0;
    std::thread other{[] {
        for (long i = 0; i < turns; ++i) {
            tutti::atomically([&](tutti::tx& t) {
                if (tutti::load(t, &ball) != 2 * i + 1) tutti::retry(t);
                tutti::store(t, &ball, 2 * i + 2);
            });
        }
    }};
    long apart = 0;
    for (long i = 0; i < turns;) {
        bool hardware = false, mine = false;
        __transaction_atomic {
            hardware = runs_in_hardware();
            ++apart;
            mine = ball == 2 * i;
            if (mine) ball = 2 * i + 1;
        }
        in_hardware += hardware ? 1 : 0;
        if (mine) ++i;
    }
    other.join();
    EXPECT(ball == 2 * turns);
    std::printf("%ld of %ld blocks ran in hardware\n", in_hardware, apart); // as many as found no thread asleep
}

// ---- blocks that fail in hardware

constexpr std::size_t large = 1 << 20;
struct wide { std::array<long, large> of{}; };
std::unique_ptr<wide> first, second;

/// Larger than the hardware's capacity, beside small blocks that look at both ends.
void large_blocks() {
    first = std::make_unique<wide>();
    second = std::make_unique<wide>();
    std::atomic<bool> stop{false};
    std::atomic<long> in_hardware{0}, torn{0}, seen{0};
    std::thread looks{[&] {
        while (!stop) {
            bool hardware = false, same = true;
            __transaction_atomic {
                hardware = runs_in_hardware();
                same = first->of[0] == second->of[large - 1];
            }
            in_hardware += hardware ? 1 : 0;
            torn += same ? 0 : 1;
            ++seen;
        }
    }};
    const std::atomic<long>& due = expects_hardware() ? in_hardware : seen;
    for (long i = 1; i <= 20 || due == 0; ++i) {
        __transaction_atomic {
            for (long& l : first->of) l = i;
            for (long& l : second->of) l = i;
        }
    }
    stop = true;
    looks.join();
    EXPECT(torn == 0);
    say(in_hardware, seen);
}

// ---- features that only software has

std::vector<long> actions;
TUTTI_PURE void act_on_commit(long value) {
    _ITM_addUserCommitAction([](void* v) { actions.push_back(reinterpret_cast<long>(v)); }, 1,
                             reinterpret_cast<void*>(value));
}
TUTTI_PURE long add_by_library(long& to) {
    return tutti::atomically([&](tutti::tx& t) {
        tutti::store(t, &to, tutti::load(t, &to) + 1);
        t.on_commit([&to] { actions.push_back(to); });
        return tutti::load(t, &to);
    });
}

long number = 0;

/// Runs blocks until one has run in hardware, so that the next one begins there.
void come_to_hardware() {
    bool hardware = false;
    for (int i = 0; !hardware && i < 200000 && expects_hardware(); ++i) {
        __transaction_atomic { hardware = runs_in_hardware(); ++number; }
    }
    EXPECT(hardware == expects_hardware());
    number = 0;
}

[[gnu::noinline]] void act_in_block() { __transaction_atomic { act_on_commit(number); ++number; } }
[[gnu::noinline]] void cancel_inside() {
    __transaction_atomic {
        ++number;
        __transaction_atomic {
            number += 100;
            if (certainly != 0) __transaction_cancel;
        }
    }
}
[[gnu::noinline]] long library_inside() {
    long seen = 0;
    __transaction_atomic { ++number; seen = add_by_library(number); ++number; }
    return seen;
}
[[gnu::noinline]] int block_inside(bool& hardware) {
    int inside = 0;
    __transaction_atomic {
        ++number;
        __transaction_atomic { ++number; }
        inside = _ITM_inTransaction();
        hardware = runs_in_hardware();
    }
    return inside;
}
[[gnu::noinline]] void throw_out() { __transaction_atomic { ++number; throw 7; } }
TUTTI_PURE bool finds_current() {
    if (tutti_current() == nullptr) return false;
    return true;
}
[[gnu::noinline]] bool current_inside() {
    bool found = false;
    __transaction_atomic { ++number; found = finds_current(); }
    return found;
}

/// Each block begins in hardware, and has the same effect as in software. The test repeats it, because in the first run
/// the dynamic linker's symbol lookup ends the attempt anyway.
void leaves() {
    for (int i = 0; i < 5; ++i) {
        actions.clear();
        actions.reserve(2);
        come_to_hardware();
        act_in_block(); // an action runs once, after the whole block
        EXPECT(number == 1 && (actions == std::vector<long>{0}));
        come_to_hardware();
        cancel_inside();
        EXPECT(number == 1);
        come_to_hardware();
        const long seen = library_inside();
        EXPECT(seen == 2 && number == 3 && (actions == std::vector<long>{0, 3})); // after the whole block
        come_to_hardware();
        bool hardware = false;
        const int inside = block_inside(hardware);
        EXPECT(number == 2 && inside != 0 && _ITM_inTransaction() == 0);
        come_to_hardware();
        try {
            throw_out();
        } catch (int seven) {
            EXPECT(seven == 7);
        }
        EXPECT(number == 1 && std::uncaught_exceptions() == 0 && _ITM_inTransaction() == 0);
        come_to_hardware();
        const bool found = current_inside();
        EXPECT(found && number == 1);
    }
    long inside_in_hardware = 0;
    do {
        come_to_hardware();
        bool hardware = false;
        EXPECT(block_inside(hardware) != 0 && number == 2);
        inside_in_hardware += hardware ? 1 : 0;
    } while (inside_in_hardware == 0 && expects_hardware());
    say(inside_in_hardware, 1);
}

// ---- blocks that fail in hardware for a while

enum class ending { acts, calls, runs };
TUTTI_PURE [[gnu::noinline]] void call_system() { (void)getppid(); }
[[gnu::noinline]] bool end_as(ending how) {
    bool hardware = false;
    __transaction_atomic {
        hardware = runs_in_hardware();
        if (how == ending::acts) act_on_commit(number);
        if (how == ending::calls) call_system();
        ++number;
    }
    return hardware;
}

/// A block fails in hardware many times, for one of two reasons, and then stops failing. After another block has run in
/// hardware, the block runs in hardware each time.
void comes_back() {
    constexpr int fails = 300, enough = 2000000;
    long in_hardware = 0;
    for (const ending how : {ending::acts, ending::calls}) {
        for (int i = 0; i < fails; ++i) {
            actions.clear();
            actions.reserve(1);
            EXPECT(!end_as(how));
            EXPECT(actions.size() == (how == ending::acts ? 1 : 0));
        }
        come_to_hardware();
        int in_a_row = 0;
        for (int i = 0; in_a_row < 100 && i < enough; ++i) in_a_row = end_as(ending::runs) ? in_a_row + 1 : 0;
        EXPECT((in_a_row == 100) == expects_hardware());
        in_hardware += in_a_row;
    }
    say(in_hardware, 200);
}

// ---- private memory

struct alignas(64) node { long value = 0; node* next = nullptr; };
node* shared_node = nullptr;

/// A node that a block has taken out belongs to its thread as soon as the block has committed.
void privatizes() {
    constexpr long rounds = 10000;
    node only;
    shared_node = &only;
    std::atomic<bool> stop{false};
    std::atomic<long> torn{0};
    long in_hardware = 0;
    std::thread others{[&] {
        while (!stop) {
            bool same = true;
            __transaction_atomic {
                if (shared_node != nullptr) {
                    const long was = shared_node->value;
                    await_close();
                    shared_node->value = was + 2;
                    same = was % 2 == 0;
                }
            }
            torn += same ? 0 : 1;
        }
    }};
    for (long i = 0; i < rounds; ++i) {
        node* mine = nullptr;
        bool hardware = false;
        __transaction_atomic {
            hardware = runs_in_hardware();
            mine = shared_node;
            shared_node = nullptr;
        }
        in_hardware += hardware ? 1 : 0;
        const long before = ++mine->value; // odd while it is private
        await_close();
        torn += mine->value == before ? 0 : 1;
        ++mine->value;
        __transaction_atomic { shared_node = mine; }
        // One of 5003 blocks runs in software.
        if (i % 5003 == 0) {
            tutti::atomically([&](tutti::tx& t) { tutti::store(t, &mine->next, tutti::load(t, &mine->next)); });
        }
    }
    stop = true;
    others.join();
    EXPECT(torn == 0);
    say(in_hardware, rounds);
}

// clang-format on

struct named {
    std::string_view name;
    void (*run)();
};
constexpr named cases[] = {
    {"meets", meets},   {"wakes", wakes},           {"large-blocks", large_blocks},
    {"leaves", leaves}, {"comes-back", comes_back}, {"privatizes", privatizes},
};

}  // namespace

int main(int argc, char** argv) {
    const std::string_view which = argc > 1 ? argv[1] : "";
    for (const named& c : cases) {
        if (c.name != which) continue;
        c.run();
        return 0;
    }
    return 2;
}
