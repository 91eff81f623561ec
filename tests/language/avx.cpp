// Barriers of 32 bytes, which the compiler calls with AVX: aligned, across two stripes and two cache lines, and read
// after write. Their blocks are also cancelled in part and as a whole, and restarted. Exits with 77 if the processor
// has no AVX.
#include <immintrin.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>

extern "C" {
[[gnu::transaction_pure]] void _ITM_abortTransaction(int why);
}

namespace {

// clang-format off

int failures = 0;
long begun = 0;

alignas(64) unsigned char memory[192];

__m256 vector_of(float first) {
    return _mm256_set_ps(first + 7, first + 6, first + 5, first + 4, first + 3, first + 2, first + 1, first);
}

/// A vector at any address: the compiler's own type would let it assume alignment.
typedef float loose __attribute__((vector_size(32), aligned(1), may_alias));
static_assert(sizeof(loose) == 32);

int restarts_left = 0;
[[gnu::transaction_pure]] void restart_some_times() {
    if (restarts_left == 0) return;
    --restarts_left;
    _ITM_abortTransaction(4);
}

void expect(bool condition, const char* what, std::size_t offset) {
    if (condition) return;
    std::fprintf(stderr, "at %zu: not so: %s\n", offset, what);
    ++failures;
}

bool is(const void* there, const __m256& value) { return std::memcmp(there, &value, sizeof value) == 0; }

[[gnu::noinline]] void vectors_at(std::size_t offset) {
    auto* const place = reinterpret_cast<loose*>(memory + offset);
    const loose one = vector_of(1);
    const loose two = vector_of(100);
    const loose three = vector_of(1000);
    __transaction_atomic { ++begun; *place = one; }
    expect(is(place, vector_of(1)), "committed", offset);
    __transaction_atomic { ++begun; *place = two; __transaction_cancel; }
    expect(is(place, vector_of(1)), "cancelled", offset);
    loose seen = three;
    __transaction_atomic {
        ++begun;
        *place = two;
        __transaction_atomic { *place = three; __transaction_cancel; }
        seen = *place;
    }
    expect(is(place, vector_of(100)), "what the outer block wrote stays", offset);
    expect(std::memcmp(&seen, &two, sizeof seen) == 0, "and is read back", offset);
    restarts_left = 3;
    __transaction_atomic {
        ++begun;
        *place = *place + one;
        restart_some_times();
    }
    expect(is(place, vector_of(100) + vector_of(1)), "written once, however often it ran", offset);
}

// clang-format on

}  // namespace

int main() {
    if (!__builtin_cpu_supports("avx")) return 77;
    // Blocks need their barriers while another thread has used transactions.
    std::atomic<bool> ready{false};
    std::atomic<bool> done{false};
    std::thread other{[&] {
        __transaction_atomic { ++begun; }
        ready = true;
        ready.notify_one();
        done.wait(false);
    }};
    ready.wait(false);
    for (std::size_t offset = 0; offset <= 96; ++offset) {
        std::memset(memory, 0xa5, sizeof memory);
        vectors_at(offset);
        for (std::size_t i = 0; i != sizeof memory; ++i) {
            if (i < offset || i >= offset + 32) expect(memory[i] == 0xa5, "bytes around it are untouched", offset);
        }
    }
    done = true;
    done.notify_one();
    other.join();
    return failures == 0 ? 0 : 1;
}
