// Queries about the process and its threads, thread-specific values, locks of streams, and conversions of numbers and
// addresses to text.
#include <arpa/inet.h>
#include <fnmatch.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "libc/blocks.hpp"
#include "libc/files.hpp"

namespace {

struct text {
    char bytes[512];
};
struct numbers {
    unsigned at[64];
};
struct place {
    int point, sign;
    char bytes[256];
};
/// Clears the bytes past the end, where glibc leaves further digits.
void tidy(place& p) {
    char* const end = static_cast<char*>(std::memchr(p.bytes, 0, sizeof p.bytes));
    if (end != nullptr) std::memset(end, 0, static_cast<std::size_t>(p.bytes + sizeof p.bytes - end));
}
template <class Answer>
void tidy(Answer&) {}

/// Compares the calls that write an answer to `in_block` with glibc's own, which write to `right`.
template <class Answer, class InBlock, class Plain>
void same(InBlock in_block, Plain plain) {
    static Answer nothing, right, made;
    std::memset(&nothing, '#', sizeof nothing);
    for (const ending e : every_ending) {
        std::memcpy(&right, &nothing, sizeof right);
        std::memcpy(&made, &nothing, sizeof made);
        const long expected = static_cast<long>(plain(&right));
        const int error = errno;
        long result = -2;
        run(e, [&] { result = static_cast<long>(in_block(&made)); });
        tidy(right);
        tidy(made);
        EXPECT(std::memcmp(&made, e == ending::cancel ? &nothing : &right, sizeof made) == 0);
        if (e != ending::cancel) EXPECT(result == expected && (result != -1 || errno == error));
    }
}
// Compares a call whose last memory argument is `m`, the answer.
#define SAME(answer, function, ...)                                                       \
    same<answer>([&]([[maybe_unused]] answer* m) { return CALL(function, __VA_ARGS__); }, \
                 [&]([[maybe_unused]] answer* m) { return ::function(__VA_ARGS__); })

void answers() {
    SAME(utsname, uname, m);
    SAME(rlimit, getrlimit, RLIMIT_NOFILE, m);
    SAME(text, gethostname, m->bytes, sizeof m->bytes);
    SAME(text, getdomainname, m->bytes, sizeof m->bytes);
    SAME(text, confstr, _CS_PATH, m->bytes, sizeof m->bytes);
    SAME(text, confstr, _CS_PATH, nullptr, 0);
    SAME(text, ttyname_r, 999, m->bytes, sizeof m->bytes);
    SAME(numbers, getresuid, m->at, m->at + 1, m->at + 2);
    SAME(numbers, getresgid, m->at, m->at + 1, m->at + 2);
    SAME(numbers, getgroups, 64, m->at);
    SAME(numbers, getgroups, 0, m->at);
    for (const ending e : every_ending) {
        tms now{};
        rusage usage{};
        double loads[3] = {-1, -1, -1};
        unsigned char random[2][64]{};
        int results = -2;
        clock_t at = 0;
        run(e, [&] {
            at = CALL(times, &now);
            results = CALL(getrusage, RUSAGE_SELF, &usage) + CALL(getentropy, random[0], 64);
            results += CALL(getrandom, random[1], 64, 0) == 64 ? 0 : 1;
            results += CALL(getloadavg, loads, 3) < 0 ? 1 : 0;
        });
        const unsigned char none[64]{};
        for (auto& r : random) EXPECT((std::memcmp(r, none, 64) == 0) == (e == ending::cancel));
        EXPECT((loads[0] < 0) == (e == ending::cancel) && (usage.ru_maxrss == 0) == (e == ending::cancel));
        if (e != ending::cancel) EXPECT(results == 0 && at > 0);
    }
}

void texts() {
    SAME(place, ecvt_r, 1234.5678, 6, &m->point, &m->sign, m->bytes, sizeof m->bytes);
    SAME(place, fcvt_r, -0.00125, 4, &m->point, &m->sign, m->bytes, sizeof m->bytes);
    SAME(place, qecvt_r, 98.75L, 9, &m->point, &m->sign, m->bytes, sizeof m->bytes);
    SAME(place, qfcvt_r, 98.75L, 9, &m->point, &m->sign, m->bytes, sizeof m->bytes);
    SAME(text, strfromd, m->bytes, sizeof m->bytes, "%.3f", 2.5);
    SAME(text, strfromd, m->bytes, 3, "%.3f", 2.5);
    SAME(text, strfromf, m->bytes, sizeof m->bytes, "%g", 2.5F);
    SAME(text, strfroml, m->bytes, sizeof m->bytes, "%a", 2.5L);
    const auto first = [](const char* s) { return s != nullptr ? 1L : 0L; };
    same<text>([&](text* m) { return first(CALL(gcvt, 12.5, 5, m->bytes)); },
               [&](text* m) { return first(::gcvt(12.5, 5, m->bytes)); });
    same<text>([&](text* m) { return first(CALL(qgcvt, 12.5L, 5, m->bytes)); },
               [&](text* m) { return first(::qgcvt(12.5L, 5, m->bytes)); });
    for (const char* const address : {"127.0.0.1", "1.2.3", "::1", "fe80::12:3", "none"}) {
        SAME(text, inet_addr, address);
        SAME(in_addr, inet_aton, address, m);
        SAME(in6_addr, inet_pton, AF_INET, address, m);
        SAME(in6_addr, inet_pton, AF_INET6, address, m);
        SAME(in6_addr, inet_pton, 999, address, m);
        SAME(text, fnmatch, "*.[0-9]*", address, 0);
    }
    static const unsigned char bytes[16] = {1, 2, 3, 4, 5};
    for (const int family : {AF_INET, AF_INET6, 999}) {
        for (const socklen_t size : {64U, 4U}) {
            same<text>([&](text* m) { return first(CALL(inet_ntop, family, bytes, m->bytes, size)); },
                       [&](text* m) { return first(::inet_ntop(family, bytes, m->bytes, size)); });
        }
    }
    same<text>([&](text* m) { return CALL(swab, "abcdefg", m->bytes, 7), CALL(memfrob, m->bytes, 9), 0L; },
               [&](text* m) { return ::swab("abcdefg", m->bytes, 7), ::memfrob(m->bytes, 9), 0L; });
}

void values_of_threads() {
    for (const ending e : every_ending) {
        static int old, made;
        pthread_key_t key;
        pthread_key_t other = 12345;
        EXPECT(::pthread_key_create(&key, nullptr) == 0 && ::pthread_setspecific(key, &old) == 0);
        int result = -2;
        run(e, [&] { result = CALL(pthread_setspecific, key, &made) + CALL(pthread_key_create, &other, nullptr); });
        EXPECT(::pthread_getspecific(key) == (e == ending::cancel ? &old : &made));
        EXPECT((other == 12345) == (e == ending::cancel));
        if (e != ending::cancel) EXPECT(result == 0 && ::pthread_key_delete(other) == 0);
        run(e, [&] { result = CALL(pthread_key_delete, key); });
        EXPECT((::pthread_key_delete(key) == 0) == (e == ending::cancel));
        sem_t s;
        int value = -1;
        EXPECT(::sem_init(&s, 0, 1) == 0);
        run(e, [&] { result = CALL(sem_trywait, &s) + CALL(sem_getvalue, &s, &value); });
        if (e != ending::cancel) EXPECT(result == 0 && value == 0);
        ::sem_getvalue(&s, &value);
        EXPECT(value == (e == ending::cancel ? 1 : 0));
    }
}

/// Returns true if another thread can lock the stream.
bool is_free(FILE* f) {
    bool free = false;
    std::thread{[&] {
        free = ::ftrylockfile(f) == 0;
        if (free) ::funlockfile(f);
    }}.join();
    return free;
}

void locks_of_streams() {
    for (const ending e : every_ending) {
        const folder here;
        FILE* const f = std::fopen("file", "w+");
        run(e, [&] { CALL(flockfile, f); });
        EXPECT(is_free(f) == (e == ending::cancel));
        if (e != ending::cancel) ::funlockfile(f);
        run(e, [&] {
            CALL(ftrylockfile, f);
            CALL(putw, 7, f);
            CALL(funlockfile, f);
        });
        EXPECT(is_free(f));
        std::fclose(f);
        EXPECT(contents("file").size() == (e == ending::cancel ? 0 : sizeof(int)));
    }
}

void seeds() {
    for (const ending e : every_ending) {
        unsigned short seed[7] = {1, 2, 3, 4, 5, 6, 7};
        ::seed48(seed);
        const double of_seed = ::drand48();
        ::lcong48(seed);
        const double of_parameters = ::drand48();
        ::srand48(9);
        const double other = ::drand48();
        ::srand48(9);
        double x = -1;
        drand48_data data{};
        long y = -1;
        run(e, [&] {
            CALL(lcong48, seed);
            x = CALL(drand48);
            CALL(seed48, seed);
            CALL(srand48_r, 9, &data);
            CALL(lrand48_r, &data, &y);
        });
        drand48_data right{};
        long z = -1;
        ::srand48_r(9, &right);
        ::lrand48_r(&right, &z);
        EXPECT(::drand48() == (e == ending::cancel ? other : of_seed));
        if (e != ending::cancel) EXPECT(x == of_parameters && y == z);
    }
    static char state[64];
    char* old = nullptr;
    run(ending::commit, [&] { old = CALL(initstate, 5, state, sizeof state); });
    const long first = ::random();
    run(ending::commit, [&] { CALL(setstate, old); });
    ::initstate(5, state, sizeof state);
    EXPECT(::random() == first);
}

}  // namespace

int main() {
    answers();
    texts();
    values_of_threads();
    locks_of_streams();
    seeds();
}
