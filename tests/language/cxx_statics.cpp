// Local statics that atomic blocks initialise: once, by the thread that commits, and not at all after a roll-back.
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <utility>

#include "cxx.hpp"

extern "C" [[gnu::transaction_pure]] void add_commit_action(void (*)(void*), std::uint64_t, void*) noexcept
    __asm__("_ITM_addUserCommitAction");
extern "C" void unsafe_sum(int);

namespace {

int source = 0;
int made = 0;  // restored by a roll-back

int make_number() {
    ++made;
    return source;
}

/// Has a static of its own for each N.
template <int N>
int& number() {
    static int value = make_number();
    return value;
}

int seen = 0;

template <int N>
void by_ending(ending e) {
    source = N;
    made = 0;
    cxx::run_beside(e, [] { seen = ++number<N>(); });
    if (e == ending::cancel) {
        EXPECT(made == 0);
        source = 1000 + N;
        EXPECT(number<N>() == 1000 + N && made == 1);  // plain code in this thread has initialised it
        cxx::run_beside(ending::commit, [] { seen = ++number<N>(); });
        EXPECT(seen == 1001 + N && made == 1);
        return;
    }
    EXPECT(seen == N + 1 && made == 1);
    source = -1;
    EXPECT(number<N>() == N + 1 && made == 1);
    cxx::run_beside(ending::cancel, [] { ++number<N>(); });
    EXPECT(number<N>() == N + 1 && made == 1);
}

/// One thread initialises the static after the block of the other thread has been rolled back.
template <int N>
void by_another_thread() {
    source = N;
    made = 0;
    cxx::run_beside(ending::cancel, [] { ++number<N>(); });
    std::thread{[] { EXPECT(number<N>() == N && made == 1); }}.join();
    cxx::run_beside(ending::commit, [] { seen = number<N>(); });
    EXPECT(seen == N && made == 1);
}

int destroyed = 0;

struct owner {
    explicit owner(int n) : owned{new int{n}} {}
    ~owner() {
        delete owned;
        ++destroyed;
    }
    int* owned;
};

template <int N>
owner& an_owner() {
    static owner value{N};
    return value;
}

/// Registered first, so it is called last.
void look_at_exit() {
    if (destroyed == 3) return;
    std::fprintf(stderr, "%d destroyed\n", destroyed);
    std::_Exit(1);
}

void with_destructors() {
    std::atexit(look_at_exit);
    cxx::run_beside(ending::commit, [] { ++*an_owner<40>().owned; });
    EXPECT(*an_owner<40>().owned == 41);
    cxx::run_beside(ending::restarts, [] { ++*an_owner<50>().owned; });
    EXPECT(*an_owner<50>().owned == 51);
    cxx::run_beside(ending::nested, [] { ++*an_owner<60>().owned; });
    EXPECT(*an_owner<60>().owned == 61);
    cxx::run_beside(ending::cancel, [] { ++*an_owner<70>().owned; });  // nothing to destroy
}

bool fails = true;

struct may_fail {
    may_fail() : value{7} {
        if (fails) throw std::runtime_error("not now");
    }
    int value;
};

may_fail& failing_static() {
    static may_fail object;
    return object;
}

void with_exceptions() {
    // The exception commits, and the next thread can initialise the static.
    for (int i = 0; i != 2; ++i) {
        bool caught = false;
        try {
            cxx::run_beside(ending::commit, [] { seen = failing_static().value; });
        } catch (const std::runtime_error&) {
            caught = true;
        }
        EXPECT(caught);
    }
    // The same within one block. Its nested block acquires the guard, and the nested cancel releases the guard.
    bool caught = false;
    try {
        failing_static();
    } catch (const std::runtime_error&) {
        caught = true;
    }
    EXPECT(caught);
    fails = false;
    cxx::run_beside(ending::nested, [] { seen = failing_static().value; });
    EXPECT(seen == 7 && failing_static().value == 7);
}

std::atomic<int> stage{0};

[[gnu::transaction_pure, gnu::noinline]] int slow_number() {
    stage = 1;
    while (stage != 2) std::this_thread::yield();
    return 17;
}
int& slow_static() {
    static int value = slow_number();
    return value;
}

int tries = 0;
[[gnu::transaction_pure, gnu::noinline]] void note_try() {
    if (++tries == 3) stage = 2;
}
void wait_for_slow() {
    __transaction_atomic {
        note_try();
        seen = slow_static();
        cxx::expect_not_alone();
        if (seen == 0) __transaction_cancel;
    }
}

/// While another thread initialises a static, a block that needs it starts over.
void beside_an_initialiser() {
    std::thread other{[] { EXPECT(slow_static() == 17); }};
    while (stage != 1) std::this_thread::yield();
    wait_for_slow();
    other.join();
    EXPECT(seen == 17 && tries >= 3);
}

[[gnu::transaction_pure, gnu::noinline]] void expect_plain_look() { EXPECT(number<700>() == 6); }
void look_in_action(void*) { seen = number<700>(); }

/// Code without barriers, in the thread whose block has initialised a static but not committed yet.
void within_itself() {
    source = 5;
    made = 0;
    cxx::run_beside(ending::commit, [] {
        // Registered before the static, so that it runs before the commit reaches the static.
        add_commit_action(look_in_action, 1, nullptr);
        ++number<700>();
        expect_plain_look();
    });
    EXPECT(seen == 6 && made == 1);
}

/// A block that continues alone after it has initialised a static.
void then_alone() {
    source = 5;
    made = 0;
    __transaction_relaxed {
        ++number<800>();
        unsafe_sum(1);
        ++number<800>();
    }
    EXPECT(number<800>() == 7 && made == 1);
    std::thread{[] { EXPECT(number<800>() == 7); }}.join();
}

std::atomic<int> initialisations{0};
[[gnu::transaction_pure, gnu::noinline]] void count_initialisation(void*) { ++initialisations; }

int counted_number() {
    add_commit_action(count_initialisation, 1, nullptr);
    return 1;
}
template <int N>
int& counted() {
    static int value = counted_number();
    return value;
}
template <int... N>
void race(std::integer_sequence<int, N...>) {
    std::atomic<int> ready{0};
    const auto work = [&ready](bool backwards) {
        void (*const each[])() = {+[] { cxx::run_beside(ending::commit, [] { ++counted<N>(); }); }...};
        void (*const lost[])() = {+[] { cxx::run_beside(ending::cancel, [] { ++counted<N>(); }); }...};
        ++ready;
        while (ready != 2) std::this_thread::yield();
        for (std::size_t i = 0; i != sizeof...(N); ++i) {
            const std::size_t at = backwards ? sizeof...(N) - 1 - i : i;
            lost[at]();
            each[at]();
        }
    };
    std::thread other{work, true};
    work(false);
    other.join();
    EXPECT(initialisations == sizeof...(N));
    EXPECT(((counted<N>() == 3) && ...));
}

}  // namespace

int unsafe_total = 0;
extern "C" [[gnu::noinline]] void unsafe_sum(int by) {
    __asm__ volatile("" ::: "memory");
    unsafe_total += by;
}

void cxx::try_statics() {
    by_ending<100>(ending::commit);
    by_ending<200>(ending::restarts);
    by_ending<300>(ending::cancel);
    by_ending<400>(ending::nested);
    by_another_thread<500>();
    with_destructors();
    with_exceptions();
    beside_an_initialiser();
    within_itself();
    then_alone();
    race(std::make_integer_sequence<int, 64>{});
}
