// Memory in transactions: results as from glibc, and an unchanged heap after a roll-back.
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "libc/blocks.hpp"

namespace {

std::size_t in_use() { return mallinfo2().uordblks; }
bool is_aligned(const void* p, std::size_t to) { return reinterpret_cast<std::uintptr_t>(p) % to == 0; }

void every_form() {
    for (const ending e : every_ending) {
        void* p[8]{};
        int result = -2;
        std::size_t usable = 0;
        run(e, [&] {
            p[0] = CALL(malloc, 100);
            p[1] = CALL(calloc, 10, 10);
            p[2] = CALL(reallocarray, nullptr, 10, 10);
            result = CALL(posix_memalign, &p[3], 256, 100);
            p[4] = CALL(aligned_alloc, 512, 1024);
            p[5] = CALL(memalign, 1024, 100);
            p[6] = CALL(valloc, 100);
            usable = CALL(malloc_usable_size, p[0]);
        });
        if (e == ending::cancel) {
            EXPECT(p[3] == nullptr);
            continue;
        }
        EXPECT(result == 0 && usable == malloc_usable_size(p[0]));
        for (int i = 0; i != 7; ++i) EXPECT(p[i] != nullptr && malloc_usable_size(p[i]) >= 100);
        EXPECT(is_aligned(p[3], 256) && is_aligned(p[4], 512) && is_aligned(p[5], 1024) && is_aligned(p[6], 4096));
        for (int i = 0; i != 100; ++i) EXPECT(static_cast<char*>(p[1])[i] == 0);
        for (int i = 0; i != 7; ++i) std::free(p[i]);
    }
}

/// A reallocated block keeps its bytes; a roll-back restores the old memory.
void growing() {
    for (const ending e : every_ending) {
        auto* const old = static_cast<char*>(std::malloc(6));
        std::strcpy(old, "hello");
        char* now = old;
        run(e, [&] {
            now = static_cast<char*>(CALL(realloc, old, 5000));
            now = static_cast<char*>(CALL(reallocarray, now, 3, 1));
        });
        if (e == ending::cancel) now = old;
        EXPECT(std::memcmp(now, "hello", 3) == 0);
        if (e == ending::cancel) EXPECT(std::strcmp(now, "hello") == 0);
        run(e, [&] { CALL(free, now); });
        if (e == ending::cancel) std::free(now);
    }
}

void nothing_is_lost() {
    for (const ending e : every_ending) {
        void* seen = nullptr;  // prevents the compiler from removing an allocation that is freed at once
        const auto round = [&] {
            run(e, [&] {
                void* p = CALL(malloc, 1000);
                p = CALL(realloc, p, 2000);
                void* const q = CALL(aligned_alloc, 64, 1024);
                seen = q;
                CALL(free, p);
                CALL(free, q);
            });
        };
        for (int i = 0; i != 100; ++i) round();
        const std::size_t before = in_use();
        for (int i = 0; i != 10'000; ++i) round();
        // Memory that commits have freed is returned in batches of hundreds, out of forty million requested bytes.
        if (e == ending::cancel) EXPECT(in_use() == before);
        else EXPECT(in_use() < before + 3'000'000);
    }
}

#define SAYS_NO(error, expression)                       \
    do {                                                 \
        void* p_ = &p_;                                  \
        errno = 0;                                       \
        run(ending::commit, [&] { p_ = (expression); }); \
        EXPECT(p_ == nullptr && errno == (error));       \
    } while (false)

void errors() {
    volatile std::size_t hidden = SIZE_MAX / 2 + 100;  // hides the size from the compiler
    const std::size_t all = hidden;
    SAYS_NO(ENOMEM, CALL(malloc, all));
    SAYS_NO(ENOMEM, CALL(calloc, all, 4));
    SAYS_NO(ENOMEM, CALL(realloc, nullptr, all));
    SAYS_NO(ENOMEM, CALL(reallocarray, nullptr, all, 4));
    SAYS_NO(EINVAL, CALL(aligned_alloc, all, 8));
    SAYS_NO(ENOMEM, CALL(memalign, 64, all));
    SAYS_NO(ENOMEM, CALL(valloc, all));
    void* p = nullptr;
    int result = 0;
    errno = 0;
    run(ending::commit, [&] { result = CALL(posix_memalign, &p, 3, 8); });
    EXPECT(result == EINVAL && p == nullptr && errno == 0);
    run(ending::commit, [&] { result = CALL(posix_memalign, &p, 8, all); });
    EXPECT(result == ENOMEM && p == nullptr);
}

/// A process with a memory limit: a failed call leaves the old memory unchanged.
void memory_runs_out() {
    const pid_t child = ::fork();
    EXPECT(child >= 0);
    if (child == 0) {
        auto* text = static_cast<char*>(std::malloc(6));
        std::strcpy(text, "hello");
        run(ending::commit, [&] { CALL(free, CALL(malloc, 10)); });
        const rlimit little{std::size_t{64} << 20, std::size_t{64} << 20};
        EXPECT(::setrlimit(RLIMIT_AS, &little) == 0);
        void* p = &p;
        int error = 0;
        errno = 0;
        run(ending::commit, [&] { p = CALL(realloc, text, std::size_t{1} << 30); });
        error = errno;
        EXPECT(p == nullptr && error == ENOMEM && std::strcmp(text, "hello") == 0);
        std::free(text);
        std::_Exit(0);
    }
    int status = -1;
    EXPECT(::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace

int main() {
    every_form();
    growing();
    nothing_is_lost();
    errors();
    memory_runs_out();
}
