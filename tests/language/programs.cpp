// What programs do with language-level transactions beyond reads and writes, one case a run: programs <case> [<argument>].
// Each ends with status 0, or says what is wrong.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "another_context.hpp"
#include "barriers.hpp"

extern "C" {
TUTTI_PURE void _ITM_addUserCommitAction(void (*)(void*), std::uint64_t, void*);
TUTTI_PURE void _ITM_addUserUndoAction(void (*)(void*), void*);
TUTTI_PURE void _ITM_changeTransactionMode(int);
TUTTI_PURE int _ITM_inTransaction();
void _ITM_registerTMCloneTable(void*, std::size_t);
}

namespace {

#define EXPECT(condition)                                                                \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                                \
        }                                                                                \
    } while (false)

TUTTI_PURE void pure_exit(int status) { std::exit(status); }

template <class F>
void run_crew(int threads, F body) {
    std::vector<std::thread> crew;
    for (int t = 0; t != threads; ++t) crew.emplace_back(body, t);
    for (std::thread& t : crew) t.join();
}

}  // namespace

extern std::atomic<long> objects;  // counted_heap.cpp
int certainly = 1;                 // which the compiler does not know

namespace {

// clang-format off

long runs_of_another = 0;
void another() {
    __transaction_atomic { ++runs_of_another; }
}

// ---- exceptions

long thrown_from = 0;

[[gnu::transaction_safe]] void throw_number(int n) { throw n; }

/// An exception that leaves a block commits it; what a nested block did before it was cancelled is gone.
void exceptions() {
    for (int i = 1; i <= 1000; ++i) {
        bool caught = false;
        try {
            __transaction_atomic {
                thrown_from = i;
                __transaction_atomic { thrown_from = -1; __transaction_cancel; }
                throw_number(i);
            }
        } catch (int n) {
            caught = n == i;
        }
        EXPECT(caught && thrown_from == i);
        EXPECT(std::uncaught_exceptions() == 0);
        EXPECT(_ITM_inTransaction() == 0);
    }
}

/// An attempt that starts over while an exception is being handled leaves nothing behind.
int restarts_left = 0;
TUTTI_PURE void restart_some_times() {
    if (restarts_left == 0) return;
    --restarts_left;
    _ITM_abortTransaction(4);
}

void restarted_exceptions() {
    const another_context there{another};
    long handled = 0;
    restarts_left = 50;
    __transaction_atomic {
        try {
            throw_number(7);
        } catch (...) {
            restart_some_times();
            ++handled;
        }
    }
    EXPECT(handled == 1);
    EXPECT(std::uncaught_exceptions() == 0 && std::current_exception() == nullptr);
}

[[gnu::transaction_safe]] void throw_text() { throw std::logic_error("a text that is too long to be kept in place"); }

/// libstdc++'s own clones: objects with memory, thrown and caught by threads that restart each other.
void exceptions_under_contention() {
    static long count = 0;
    std::atomic<long> caught{0};
    run_crew(4, [&](int) {
        for (int i = 0; i != 500; ++i) {
            try {
                __transaction_atomic { ++count; throw_text(); }
            } catch (const std::logic_error& e) {
                if (std::string_view{e.what()}.starts_with("a text")) ++caught;
            }
            EXPECT(std::uncaught_exceptions() == 0);
            __transaction_atomic {
                try { ++count; throw_text(); } catch (...) { ++count; }
            }
        }
    });
    EXPECT(caught == 2000 && count == 6000);
}

// ---- code without barriers

/// Blocks of a thread whose like nobody else runs lose their barriers; others join in, and no update is lost.
void turns() {
    static long count = 0;
    std::atomic<int> turn{0};
    run_crew(3, [&](int me) {
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

// ---- irrevocable code

std::string text;
long pair_a = 0;
long pair_b = 0;
[[gnu::noinline]] void unsafe_step() { asm volatile("" ::: "memory"); ++pair_a; }
[[gnu::transaction_safe, gnu::noinline]] void safe_step() { ++pair_a; ++pair_b; }

/// Code without clones runs alone: nobody sees or disturbs the middle of it.
void synchronized_blocks() {
    run_crew(4, [](int me) {
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

struct made_once {
    std::string name;
    made_once() : name(100, 'x') {}
};
made_once& the_one() {
    static made_once one;
    return one;
}

void static_initialisation() {
    std::atomic<long> letters{0};
    run_crew(4, [&](int) {
        long here = 0;
        synchronized { here = static_cast<long>(the_one().name.size()); }
        letters += here;
    });
    EXPECT(letters == 400);
}

/// The nested block can be cancelled although the one around it is irrevocable.
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

long late = 0;
void cancel_too_late() {
    __transaction_atomic {
        late = 1;
        _ITM_changeTransactionMode(0);
        __transaction_cancel;
    }
}

// ---- user actions

std::vector<long> committed;
void note_committed(void* value) { committed.push_back(reinterpret_cast<long>(value)); }

/// Commit actions run in the order in which transactions that share data commit.
void commit_order() {
    constexpr int each = 5000;
    committed.reserve(4 * each);
    static long ticket = 0;
    run_crew(4, [](int) {
        for (int i = 0; i != each; ++i) {
            __transaction_atomic {
                const long mine = ++ticket;
                _ITM_addUserCommitAction(note_committed, 1, reinterpret_cast<void*>(mine));
            }
        }
    });
    EXPECT(committed.size() == 4 * each);
    for (std::size_t i = 0; i != committed.size(); ++i) EXPECT(committed[i] == static_cast<long>(i) + 1);
}

std::string undone;
void note_undone(void* letter) { undone += static_cast<char>(reinterpret_cast<long>(letter)); }
TUTTI_PURE void undo_later(char letter) { _ITM_addUserUndoAction(note_undone, reinterpret_cast<void*>(long{letter})); }

void undo_order() {
    __transaction_atomic {
        undo_later('a');
        __transaction_atomic { undo_later('b'); undo_later('c'); __transaction_cancel; }
        undo_later('d');
        __transaction_cancel;
    }
    EXPECT(undone == "cbda");
}

long left_by_undos = 0;
void undo_by_block(void*) { __transaction_atomic { ++left_by_undos; } }
TUTTI_PURE void undo_by_block_later() { _ITM_addUserUndoAction(undo_by_block, nullptr); }

/// An undo of an outermost block may run blocks of its own, on the same descriptor, before that one begins again.
void undo_by_blocks() {
    const another_context there{another};
    static long count = 0;
    restarts_left = 3;
    __transaction_atomic {
        undo_by_block_later();
        ++count;
        restart_some_times();
    }
    EXPECT(count == 1 && left_by_undos == 3);
    __transaction_atomic {
        undo_by_block_later();
        count = 7;
        if (certainly != 0) __transaction_cancel;
    }
    EXPECT(count == 1 && left_by_undos == 4);
}

// ---- memory

struct node { long value; node* next; };
node* list = nullptr;

void allocation() {
    __transaction_atomic { list = nullptr; }  // the runtime makes its own
    const long before = objects;
    for (int i = 0; i != 1000; ++i) {
        __transaction_atomic {
            node* const n = new node{i, list};
            list = n;
            if (i % 2 == 1) __transaction_cancel;
        }
    }
    EXPECT(objects == before + 500);
    long sum = 0;
    __transaction_atomic {
        while (list != nullptr) {
            node* const n = list;
            sum += n->value;
            list = n->next;
            delete n;
        }
    }
    EXPECT(sum == 998 * 500 / 2);
}

/// A delete that is rolled back leaves nothing behind, the size that it was told neither.
void cancelled_deletes() {
    static node* kept = new node{1, nullptr};
    __transaction_atomic { kept->value = 2; }
    const long before = objects;
    for (int i = 0; i != 100; ++i) {
        __transaction_atomic { delete kept; __transaction_cancel; }
    }
    EXPECT(objects == before);
}

thread_local long private_to_thread = 0;
[[gnu::transaction_safe, gnu::noinline]] void write_through(long* where, long value) { *where = value; }

/// The compiler reads thread-local memory directly, also what a callee wrote through a barrier.
void thread_local_memory() {
    long seen = 0;
    __transaction_atomic {
        write_through(&private_to_thread, 5);
        seen = private_to_thread;
        private_to_thread = 6;
    }
    EXPECT(seen == 5 && private_to_thread == 6);
    __transaction_atomic {
        private_to_thread = 7;
        write_through(&private_to_thread, 8);
        private_to_thread = 9;
        __transaction_cancel;
    }
    EXPECT(private_to_thread == 6);
}

struct flags { unsigned a : 8; unsigned char c; unsigned d : 9; unsigned e : 23; };
flags bits[4]{};

/// Neighbours in one word, bit fields among them. (GCC 12 reads fields that share a byte without a barrier.)
void bit_fields() {
    run_crew(2, [](int me) {
        for (unsigned i = 0; i != 20000; ++i) {
            __transaction_atomic {
                if (me == 0) { bits[1].d = (bits[1].d + 1) & 511; }
                else { bits[1].c = static_cast<unsigned char>(bits[1].c + 1); bits[1].e = (bits[1].e + 1) & 0x7fffff; }
            }
        }
    });
    EXPECT(bits[1].c == (20000 & 255) && bits[1].d == (20000 & 511) && bits[1].e == 20000);
}

// ---- the process

long shared_count = 0;
pthread_key_t at_exit_key;

void thread_exits() {
    EXPECT(pthread_key_create(&at_exit_key, [](void*) { __transaction_atomic { ++shared_count; } }) == 0);
    for (int i = 0; i != 50; ++i) {
        pthread_t t;
        EXPECT(pthread_create(&t, nullptr, [](void*) -> void* {
            pthread_setspecific(at_exit_key, &shared_count);
            __transaction_atomic { ++shared_count; }
            pthread_exit(nullptr);
        }, nullptr) == 0);
        pthread_join(t, nullptr);
    }
    EXPECT(shared_count == 100);
}

void forks() {
    std::atomic<bool> stop{false};
    std::thread busy{[&] { while (!stop) { __transaction_atomic { ++pair_a; ++pair_b; } } }};
    for (int i = 0; i != 30; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            bool same = false;
            __transaction_atomic { ++pair_a; ++pair_b; same = pair_a == pair_b; }
            _exit(same ? 0 : 1);
        }
        int status = 0;
        EXPECT(waitpid(child, &status, 0) == child);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    stop = true;
    busy.join();
}

struct alignas(64) apart { long value; };
apart of_other{};
apart read_in_child{};
std::atomic<bool> other_commits{false};
std::thread other;
TUTTI_PURE void note_commit_later() {
    _ITM_addUserCommitAction([](void*) { other_commits = true; }, 1, nullptr);
}

/// Another thread commits while this one runs, and waits for its end, because it may have made memory private.
TUTTI_PURE void let_another_commit() {
    if (other_commits) return;
    other = std::thread{[] {
        __transaction_atomic { of_other.value = 1; note_commit_later(); }
    }};
    while (!other_commits) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds{20});  // it is likely to be waiting by now
}

/// In the child nobody waits for those who are not there.
void forks_while_another_waits() {
    const another_context there{another};
    pid_t child = -1;
    synchronized {
        let_another_commit();
        if (certainly != 0) child = fork();
    }
    if (child == 0) {
        alarm(30);
        long seen = 0;
        __transaction_atomic { seen = read_in_child.value; }
        synchronized { seen += read_in_child.value; }
        __transaction_atomic { read_in_child.value = seen + 1; }
        std::thread{[] { __transaction_atomic { ++read_in_child.value; } }}.join();
        _exit(read_in_child.value == 2 ? 0 : 1);
    }
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    other.join();
    EXPECT(of_other.value == 1);
}

typedef long (*adder)(long*, long) __attribute__((transaction_safe));

void plugins(const char* file) {
    std::atomic<bool> stop{false};
    std::thread busy{[&] { while (!stop) { __transaction_atomic { ++shared_count; } } }};
    for (int i = 0; i != 50; ++i) {
        void* const object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
        EXPECT(object != nullptr);
        const auto add = reinterpret_cast<adder>(dlsym(object, "plugin_add"));
        long sum = 0;
        __transaction_atomic { sum = 40; add(&sum, 2); if (sum != 42) pure_exit(1); }
        EXPECT(sum == 42 && _ITM_inTransaction() == 0);
        EXPECT(dlclose(object) == 0);
    }
    stop = true;
    busy.join();
}

void corrupt_table() {
    static void* entries[] = {nullptr, nullptr};
    _ITM_registerTMCloneTable(entries, 1);
}

// clang-format on

}  // namespace

int main(int argc, char** argv) {
    const std::string_view which = argc > 1 ? argv[1] : "";
    if (which == "exceptions") exceptions();
    else if (which == "restarted-exceptions") restarted_exceptions();
    else if (which == "exceptions-under-contention") exceptions_under_contention();
    else if (which == "turns") turns();
    else if (which == "synchronized") synchronized_blocks();
    else if (which == "static-initialisation") static_initialisation();
    else if (which == "cancel-inside-irrevocable") cancel_inside_irrevocable();
    else if (which == "cancel-too-late") cancel_too_late();
    else if (which == "commit-order") commit_order();
    else if (which == "undo-order") undo_order();
    else if (which == "undo-by-blocks") undo_by_blocks();
    else if (which == "allocation") allocation();
    else if (which == "cancelled-deletes") cancelled_deletes();
    else if (which == "thread-local") thread_local_memory();
    else if (which == "bit-fields") bit_fields();
    else if (which == "thread-exits") thread_exits();
    else if (which == "forks") forks();
    else if (which == "forks-while-another-waits") forks_while_another_waits();
    else if (which == "plugins" && argc > 2) plugins(argv[2]);
    else if (which == "corrupt-table") corrupt_table();
    else return 2;
    return 0;
}
