// Code without barriers: of a thread that is alone, and of blocks that become irrevocable.
#include "programs.hpp"

#include <atomic>
#include <cstring>
#include <string>

extern "C" TUTTI_PURE void _ITM_changeTransactionMode(int);

namespace language {

// clang-format off

/// Blocks lose their barriers while only one thread runs any. Other threads join, and no update is lost.
void turns() {
    static long count = 0;
    std::atomic<int> turn{0};
    run_threads(3, [&](int me) {
        for (int seen = turn; seen < me; seen = turn) turn.wait(seen);
        for (int i = 0; i != 40000; ++i) {
            if (i == 20000) {
                turn = me + 1;
                turn.notify_all();
            }
            __transaction_atomic { ++count; }
        }
    });
    EXPECT(count == 3 * 40000);
}

namespace {

std::string text;
long pair_a = 0;
long pair_b = 0;
[[gnu::noinline]] void unsafe_step() { asm volatile("" ::: "memory"); ++pair_a; }
[[gnu::transaction_safe, gnu::noinline]] void safe_step() { ++pair_a; ++pair_b; }

}  // namespace

/// Code without clones runs alone: no other block sees or changes its intermediate states.
void synchronized_blocks() {
    run_threads(4, [](int me) {
        for (int i = 0; i != 300; ++i) {
            if ((i + me) % 3 == 0) {
                synchronized {
                    text += "some letters ";
                    unsafe_step();
                    ++pair_b;
                }
            } else {
                bool same = false;
                __transaction_atomic { safe_step(); same = pair_a == pair_b; }
                EXPECT(same);
            }
        }
    });
    EXPECT(pair_a == 1200 && pair_b == 1200);
    EXPECT(text.size() == 400 * std::strlen("some letters "));
}

namespace {

struct made_once {
    std::string name;
    made_once() : name(100, 'x') {}
};
made_once& the_one() {
    static made_once one;
    return one;
}

}  // namespace

void static_initialisation() {
    std::atomic<long> letters{0};
    run_threads(4, [&](int) {
        long here = 0;
        synchronized { here = static_cast<long>(the_one().name.size()); }
        letters += here;
    });
    EXPECT(letters == 400);
}

/// The nested block can be cancelled although the block around it is irrevocable.
void cancel_inside_irrevocable() {
    long value = 1;
    long* const v = &value;
    synchronized {
        unsafe_step();
        *v = 2;
        __transaction_atomic { *v = 3; __transaction_cancel; }
    }
    EXPECT(value == 2);
}

namespace {

long late = 0;

}  // namespace

void cancel_too_late() {
    __transaction_atomic {
        late = 1;
        _ITM_changeTransactionMode(0);
        __transaction_cancel;
    }
}

// clang-format on

}  // namespace language
