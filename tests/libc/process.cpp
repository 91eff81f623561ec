// Global state of a process: the environment, random numbers and the end of the process. Also covers wake-ups of other
// threads.
#include <pthread.h>
#include <semaphore.h>
#include <stdio_ext.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <string>

#include "libc/blocks.hpp"
#include "libc/files.hpp"

namespace {

void environment() {
    for (const ending e : every_ending) {
        static char put[] = "TUTTI_C=put";
        ::setenv("TUTTI_A", "old", 1);
        ::unsetenv("TUTTI_B");
        ::setenv("TUTTI_C", "before", 1);
        char* const a = ::getenv("TUTTI_A");
        char* const c = ::getenv("TUTTI_C");
        int result = -2;
        char* seen = nullptr;
        run(e, [&] {
            result = CALL(setenv, "TUTTI_A", "new", 0) + CALL(setenv, "TUTTI_A", "newer", 1) +
                     CALL(setenv, "TUTTI_B", "b", 1) + CALL(unsetenv, "TUTTI_A") + CALL(setenv, "TUTTI_A", "last", 1) +
                     CALL(putenv, put);
            seen = CALL(getenv, "TUTTI_A");
        });
        if (e == ending::cancel) {
            EXPECT(::getenv("TUTTI_A") == a && std::strcmp(a, "old") == 0 && ::getenv("TUTTI_B") == nullptr);
            EXPECT(::getenv("TUTTI_C") == c && std::strcmp(c, "before") == 0);
        } else {
            EXPECT(result == 0 && seen == ::getenv("TUTTI_A") && std::strcmp(seen, "last") == 0);
            EXPECT(std::strcmp(::getenv("TUTTI_B"), "b") == 0 && ::getenv("TUTTI_C") == put + 8);
        }
    }
    int result = 0;
    errno = 0;
    run(ending::commit, [&] { result = CALL(setenv, "A=B", "", 1); });
    EXPECT(result == -1 && errno == EINVAL);
    run(ending::commit, [&] { result = CALL(unsetenv, ""); });
    EXPECT(result == -1 && errno == EINVAL);
}

/// Random numbers in a block, and the next one after it.
void random_numbers() {
    for (const ending e : every_ending) {
        ::srandom(42);
        const long expected[] = {::random(), ::random(), ::random(), ::random()};
        ::srandom(42);
        EXPECT(::random() == expected[0]);
        long x = 0;
        long y = 0;
        run(e, [&] {
            x = CALL(random);
            y = CALL(rand);
        });
        if (e == ending::cancel) EXPECT(::random() == expected[1]);
        else EXPECT(x == expected[1] && y == expected[2] && ::random() == expected[3]);
        run(e, [&] {
            CALL(srand, 42);
            x = CALL(rand);
        });
        if (e == ending::cancel) EXPECT(::random() == expected[2]);
        else EXPECT(x == expected[0] && ::random() == expected[1]);
        // A state in the program's own buffer.
        static char state[256];
        char* const old = ::initstate(7, state, sizeof state);
        ::setstate(state);
        const long own = ::random();
        ::initstate(7, state, sizeof state);
        run(e, [&] { x = CALL(random); });
        if (e == ending::cancel) EXPECT(::random() == own);
        else EXPECT(x == own);
        ::setstate(old);
        unsigned seed = 5;
        unsigned copy = 5;
        run(e, [&] { x = CALL(rand_r, &seed); });
        if (e == ending::cancel) EXPECT(seed == 5);
        else EXPECT(x == ::rand_r(&copy) && seed == copy);
    }
}

void numbers_of_48_bits() {
    for (const ending e : every_ending) {
        unsigned short a[3] = {1, 2, 3};
        unsigned short b[3] = {1, 2, 3};
        ::srand48(42);
        const double u = ::drand48();
        const long v = ::lrand48();
        const long w = ::mrand48();
        const double x = ::erand48(a);
        const long y = ::nrand48(a);
        const long z = ::jrand48(a);
        const double next = ::drand48();
        ::srand48(7);
        const double other = ::drand48();
        ::srand48(7);
        double d[2]{};
        long l[4]{};
        run(e, [&] {
            CALL(srand48, 42);
            d[0] = CALL(drand48);
            l[0] = CALL(lrand48);
            l[1] = CALL(mrand48);
            d[1] = CALL(erand48, b);
            l[2] = CALL(nrand48, b);
            l[3] = CALL(jrand48, b);
        });
        if (e == ending::cancel) {
            EXPECT(::drand48() == other && b[0] == 1 && b[2] == 3);
        } else {
            EXPECT(d[0] == u && l[0] == v && l[1] == w && d[1] == x && l[2] == y && l[3] == z && ::drand48() == next);
            EXPECT(std::memcmp(a, b, sizeof a) == 0);
        }
    }
}

void telling() {
    sem_t s;
    EXPECT(::sem_init(&s, 0, 0) == 0);
    for (const ending e : every_ending) {
        int value = -1;
        int result = -2;
        pthread_cond_t c = PTHREAD_COND_INITIALIZER;
        run(e, [&] {
            result = CALL(sem_post, &s) + CALL(pthread_cond_signal, &c) + CALL(pthread_cond_broadcast, &c);
            CALL(sem_post, &s);
        });
        ::sem_getvalue(&s, &value);
        EXPECT(value == (e == ending::cancel ? 0 : 2));
        if (e != ending::cancel) EXPECT(result == 0 && ::sem_trywait(&s) == 0 && ::sem_trywait(&s) == 0);
    }
    ::sem_destroy(&s);
    EXPECT(::sem_init(&s, 0, SEM_VALUE_MAX) == 0);
    int result = 0;
    run(ending::commit, [&] { result = CALL(sem_post, &s); });
    EXPECT(result == -1 && errno == EOVERFLOW);
}

bool is_told = false;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

/// The woken thread finds the values that the transaction has written.
void woken() {
    pthread_t waiter;
    is_told = false;
    const auto wait = [](void*) -> void* {
        ::pthread_mutex_lock(&mutex);
        bool now = false;
        while (!now) {
            run(ending::commit, [&] {
#ifdef TUTTI_TEST_LIBRARY
                now = tutti::load(*tutti::detail::current_transaction, &is_told);
#else
                now = is_told;
#endif
            });
            if (!now) ::pthread_cond_wait(&condition, &mutex);
        }
        ::pthread_mutex_unlock(&mutex);
        return nullptr;
    };
    EXPECT(::pthread_create(&waiter, nullptr, wait, nullptr) == 0);
    ::pthread_mutex_lock(&mutex);
    run(ending::restarts, [&] {
        CALL(pthread_cond_signal, &condition);
#ifdef TUTTI_TEST_LIBRARY
        tutti::store(*tutti::detail::current_transaction, &is_told, true);
#else
        is_told = true;
#endif
    });
    ::pthread_mutex_unlock(&mutex);
    EXPECT(::pthread_join(waiter, nullptr) == 0);
}

void the_rest() {
    char* locale = nullptr;
    const lconv* conventions = nullptr;
    run(ending::commit, [&] {
        locale = CALL(setlocale, LC_ALL, nullptr);
        conventions = CALL(localeconv);
    });
    EXPECT(std::strcmp(locale, "C") == 0 && conventions->decimal_point[0] == '.');
    run(ending::commit, [&] { locale = CALL(setlocale, LC_ALL, "no such locale"); });
    EXPECT(locale == nullptr);
    run(ending::commit, [&] { locale = CALL(setlocale, LC_ALL, "C"); });
    EXPECT(std::strcmp(locale, "C") == 0);
    const timespec short_time{0, 1000};
    const timespec wrong{0, -1};
    int result = -2;
    run(ending::commit, [&] { result = CALL(nanosleep, &short_time, nullptr); });
    EXPECT(result == 0);
    run(ending::commit, [&] { result = CALL(nanosleep, &wrong, nullptr); });
    EXPECT(result == -1 && errno == EINVAL);
    run(ending::commit, [&] { result = CALL(usleep, 1); });
    unsigned left = 1;
    run(ending::commit, [&] { left = CALL(sleep, 0); });
    EXPECT(result == 0 && left == 0);
}

#ifndef TUTTI_TEST_LIBRARY
/// The C library's errno behaves like a variable of the program: a roll-back restores it.
void errors() {
    errno = 7;
    run(ending::restarts, [&] {
        if (attempts_left == 2) CALL(access, "/none", F_OK);
    });
    EXPECT(errno == 7);
    run(ending::cancel, [&] { CALL(access, "/none", F_OK); });
    EXPECT(errno == 7);
    // A nested block rolls back its own changes of errno.
    run(ending::commit, [&] {
        CALL(setenv, "", "", 1);
        run_block(ending::cancel, call_body<decltype([] { CALL(access, "/none", F_OK); })>, "");
    });
    EXPECT(errno == EINVAL);
}
#endif

void ends() {
    for (const bool at_once : {false, true}) {
        const pid_t child = ::fork();
        EXPECT(child >= 0);
        if (child == 0) {
            run(ending::commit, [&] {
                CALL(atexit, [] { ::_exit(9); });
                if (at_once) CALL(_exit, 3);
                CALL(exit, 4);
            });
        }
        int status = -1;
        EXPECT(::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == (at_once ? 3 : 9));
    }
}

int is_written = 0;
#ifndef TUTTI_TEST_LIBRARY
[[gnu::transaction_pure, gnu::noinline]]
#endif
void stay() {
    __atomic_store_n(&is_written, 1, __ATOMIC_RELEASE);
    for (;;) ::pause();
}

FILE* shared_stream = nullptr;

void write_and_stay() {
    run(ending::cancel, [] {
        CALL(fputs, "not committed\n", shared_stream);
        stay();
    });
}
/// Runs after more output than the buffer holds, a seek, and input.
void write_back_and_forth_and_stay() {
    run(ending::cancel, [] {
        CALL(fputs, "not committed\n", shared_stream);
        CALL(rewind, shared_stream);
        CALL(fgetc, shared_stream);
        CALL(fseek, shared_stream, 0, SEEK_CUR);
        CALL(fputs, "not this, either\n", shared_stream);
        stay();
    });
}
#ifndef TUTTI_TEST_LIBRARY
/// The compiler may compile such a block without barriers when it runs alone.
[[gnu::noinline]] void write_without_cancel_and_stay() {
    __transaction_atomic {
        std::fputs("not committed\n", shared_stream);
        stay();
    }
}
#endif

/// At the end of the process, output that another thread's block has produced but not committed is not written. The
/// same applies to a child with a copy of the buffer. Output that was committed earlier is written.
void ends_beside_a_block(void (*write_and_wait)(), bool in_a_child) {
    const folder here;
    is_written = 0;
    const pid_t child = ::fork();
    EXPECT(child >= 0);
    if (child == 0) {
        shared_stream = std::fopen("out", "w+");
        std::fputs("committed\n", shared_stream);
        const auto write = [](void* of) -> void* {
            reinterpret_cast<void (*)()>(of)();
            return nullptr;
        };
        pthread_t other;
        // A thread that has ended passes its context to the next one.
        const auto nothing = [] { run(ending::commit, [] {}); };
        EXPECT(::pthread_create(&other, nullptr, write, reinterpret_cast<void*>(+nothing)) == 0);
        EXPECT(::pthread_join(other, nullptr) == 0);
        EXPECT(::pthread_create(&other, nullptr, write, reinterpret_cast<void*>(write_and_wait)) == 0);
        while (__atomic_load_n(&is_written, __ATOMIC_ACQUIRE) == 0) ::sched_yield();
        const pid_t copy = in_a_child ? ::fork() : 0;
        if (copy == 0) std::exit(0);
        int status = -1;
        ::_exit(::waitpid(copy, &status, 0) == copy && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    int status = -1;
    EXPECT(::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT(contents("out") == "committed\n");
}

/// Flushes all streams outside of blocks, beside a block that owns one stream and opens another. The flush waits for
/// the owned stream without holding a lock that the block needs, and writes nothing that is rolled back.
void flush_beside_a_block(int (*flush_them)()) {
    const folder here;
    static FILE* f = nullptr;
    static pthread_t flusher;
    f = std::fopen("out", "w");
    std::fputs("pending ", f);
    static int is_flushing = 0;
    static int is_done = 0;
    const auto flush = [](void* of) -> void* {
        while (__atomic_load_n(&is_done, __ATOMIC_ACQUIRE) == 0) {
            EXPECT(reinterpret_cast<int (*)()>(of)() == 0);
            __atomic_store_n(&is_flushing, 1, __ATOMIC_RELEASE);
        }
        return nullptr;
    };
    is_flushing = is_done = 0;
    EXPECT(::pthread_create(&flusher, nullptr, flush, reinterpret_cast<void*>(flush_them)) == 0);
    while (__atomic_load_n(&is_flushing, __ATOMIC_ACQUIRE) == 0) ::sched_yield();
    for (int i = 0; i != 2000; ++i) {
        run(ending::restarts, [] {
            CALL(fputs, "x", f);
            let_others_run();
            FILE* const other = CALL(fopen, "out", "r");
            CALL(fclose, other);
        });
    }
    __atomic_store_n(&is_done, 1, __ATOMIC_RELEASE);
    EXPECT(::pthread_join(flusher, nullptr) == 0 && std::fclose(f) == 0);
    EXPECT(contents("out") == "pending " + std::string(2000, 'x'));
}

/// fcloseall as in glibc: it writes pending output, and later output is written immediately.
void closes_all() {
    for (const bool in_a_block : {false, true}) {
        const folder here;
        fill("in", "input");
        FILE* const f = std::fopen("out", "w");
        FILE* const in = std::fopen("in", "r");
        EXPECT(std::fputs("pending ", f) >= 0 && std::fgetc(in) == 'i');
        int result = -2;
        if (in_a_block) run(ending::commit, [&] { result = CALL(fcloseall); });
        else result = ::fcloseall();
        EXPECT(result == 0 && contents("out") == "pending " && std::fgetc(in) == 'n');
        EXPECT(std::fputs("at once", f) >= 0 && contents("out") == "pending at once");
        EXPECT(::lseek(::fileno(in), 0, SEEK_CUR) == 2);
        EXPECT(std::fclose(f) == 0 && std::fclose(in) == 0);
    }
}

int is_closed = 0;
#ifndef TUTTI_TEST_LIBRARY
[[gnu::transaction_pure, gnu::noinline]]
#endif
void let_it_close(pthread_t* closer) {
    const auto close = [](void*) -> void* {
        EXPECT(::fcloseall() == 0);
        __atomic_store_n(&is_closed, 1, __ATOMIC_RELEASE);
        return nullptr;
    };
    EXPECT(::pthread_create(closer, nullptr, close, nullptr) == 0);
    constexpr int many = 1000;
    for (int i = 0; i != many && __atomic_load_n(&is_closed, __ATOMIC_ACQUIRE) == 0; ++i) ::sched_yield();
}

/// fcloseall of another thread writes committed output, but not the output of a block that is cancelled later.
void closes_all_beside_a_block() {
    const folder here;
    FILE* const f = std::fopen("out", "w");
    std::fputs("committed", f);
    static pthread_t closer;
    run(ending::cancel, [&] {
        CALL(fputs, "not committed", f);
        let_it_close(&closer);
    });
    EXPECT(::pthread_join(closer, nullptr) == 0 && contents("out") == "committed" && std::fclose(f) == 0);
}

}  // namespace

int main() {
    environment();
    random_numbers();
    numbers_of_48_bits();
    telling();
    woken();
    the_rest();
#ifndef TUTTI_TEST_LIBRARY
    errors();
#endif
    ends();
    for (const auto write : {write_and_stay, write_back_and_forth_and_stay}) {
        ends_beside_a_block(write, false);
#ifdef TUTTI_TEST_LIBRARY
        ends_beside_a_block(write, true);  // a fork waits for the end of blocks of the language
#endif
    }
#ifndef TUTTI_TEST_LIBRARY
    ends_beside_a_block(write_without_cancel_and_stay, false);
#endif
    flush_beside_a_block([] { return std::fflush(nullptr); });
    flush_beside_a_block([] { return ::_flushlbf(), 0; });
    closes_all();
    closes_all_beside_a_block();
}
