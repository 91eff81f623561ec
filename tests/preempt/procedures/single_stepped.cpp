#include "preempt/procedures/single_stepped.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace procedures {
namespace {

constexpr std::uint64_t trap_flag = 0x100;

[[gnu::noinline]] void raise_trap_flag() noexcept {
    asm volatile("lea -128(%%rsp), %%rsp\n pushfq\n orq %0, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::"i"(trap_flag)
                 : "memory", "cc");
}
[[gnu::noinline]] void lower_trap_flag() noexcept {
    asm volatile("lea -128(%%rsp), %%rsp\n pushfq\n andq %0, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::"i"(~trap_flag)
                 : "memory", "cc");
}

using lanes = double __attribute__((vector_size(32)));

/// A leaf function whose variables are in registers, vectors and the red zone.
[[gnu::always_inline]] inline std::uint64_t mix_body(std::uint64_t seed) noexcept {
    volatile std::uint64_t below[6] = {seed, 2, 3, 4, 5, 6};
    lanes v = {1.25, 2.25, 3.25, static_cast<double>(seed % 9)};
    std::uint64_t x = seed, y = ~seed;
    for (int i = 0; i < 6; ++i) {
        x = x * 6364136223846793005U + y;
        y ^= x >> 7;
        v = v * v + 0.5;
        below[i] = below[i] + x;
    }
    std::uint64_t bits[4];
    std::memcpy(bits, &v, sizeof bits);
    std::uint64_t sum = x ^ y;
    for (int i = 0; i < 4; ++i) sum = sum * 31 + bits[i] + below[i];
    return sum;
}

[[gnu::noinline, gnu::target("avx2")]] std::uint64_t mix_wide(std::uint64_t seed) noexcept { return mix_body(seed); }
[[gnu::noinline]] std::uint64_t mix_narrow(std::uint64_t seed) noexcept { return mix_body(seed); }
std::uint64_t mix(std::uint64_t seed) noexcept {
    return __builtin_cpu_supports("avx2") != 0 ? mix_wide(seed) : mix_narrow(seed);
}

struct oops {
    std::uint64_t what;
};

// Other procedures never take this mutex, so a procedure that preempts this one never waits for the mutex.
std::mutex heap_of_bytes_mutex;

void work(single_stepped& s) {
    errno = 42;
    s.result = mix(s.seed);
    for (int turn = 1; turn < s.turns; ++turn) s.result = mix(s.result);
    auto* const bytes = static_cast<unsigned char*>(std::malloc(1 + s.seed % 100));
    bytes[0] = 7;
    {
        const std::lock_guard hold{heap_of_bytes_mutex};
        s.got_mutex = bytes[0] == 7;
    }
    tutti::atomically([&](tutti::tx& t) { s.shared->set(t, s.shared->get(t) + 1); });
    try {
        throw oops{s.result};
    } catch (const oops& o) {
        s.caught = o.what == s.result;
    }
    std::free(bytes);
    s.error = errno;
}

}  // namespace

void run_without_steps(void* of_single_stepped) noexcept { work(*static_cast<single_stepped*>(of_single_stepped)); }

void run_stepped(void* of_single_stepped) noexcept {
    raise_trap_flag();
    work(*static_cast<single_stepped*>(of_single_stepped));
    lower_trap_flag();
}

void disturb(void* of_variable) noexcept {
    errno = 99;
    auto* const bytes = static_cast<unsigned char*>(std::malloc(64));
    std::memset(bytes, 0xff, 64);
    asm volatile(
        "mov $-1, %%rax\n mov %%rax, %%rcx\n mov %%rax, %%rdx\n mov %%rax, %%rsi\n mov %%rax, %%rdi\n mov %%rax, %%r8\n"
        "mov %%rax, %%r9\n mov %%rax, %%r10\n mov %%rax, %%r11\n" ::
            : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory");
    if (__builtin_cpu_supports("avx2")) {
        asm volatile(
            "vpcmpeqd %%ymm0, %%ymm0, %%ymm0\n vmovdqa %%ymm0, %%ymm1\n vmovdqa %%ymm0, %%ymm2\n"
            "vmovdqa %%ymm0, %%ymm3\n vmovdqa %%ymm0, %%ymm4\n vmovdqa %%ymm0, %%ymm5\n vmovdqa %%ymm0, %%ymm6\n"
            "vmovdqa %%ymm0, %%ymm7\n vmovdqa %%ymm0, %%ymm8\n vmovdqa %%ymm0, %%ymm15\n vzeroupper" ::
                : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm15");
    }
    tutti::atomically([&](tutti::tx& t) {
        auto& v = *static_cast<tutti::var<long>*>(of_variable);
        v.set(t, v.get(t) + 1);
    });
    std::free(bytes);
}

}  // namespace procedures
