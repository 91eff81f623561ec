#include "preempt/procedures.hpp"

#include <x86intrin.h>

namespace tutti_bench {

void run_long(void* of_long_transaction) noexcept {
    auto& l = *static_cast<long_transaction*>(of_long_transaction);
    tutti::atomically([&](tutti::tx& t) {
        const std::uint64_t begin = __rdtsc();
        long sum = 0;
        while (__rdtsc() - begin < l.ticks) {
            if (l.reads) {
                for (int i = 0; i < 20; ++i) l.on.set(t, ++sum);
            } else {
                for (int i = 0; i < 200; ++i) asm volatile("" : "+r"(sum));
            }
        }
        l.on.set(t, sum);
    });
    l.done.store(true);
}

void run_probe(void* of_probe) noexcept {
    auto& p = *static_cast<probe*>(of_probe);
    p.started = __rdtsc();
    tutti::atomically([&](tutti::tx& t) { p.on->set(t, p.on->get(t) + 1); });
    p.ended = __rdtsc();
    p.done.store(true, std::memory_order_release);
}

void run_nothing(void*) noexcept {}

void run_interrupted(void* of_interrupted) noexcept {
    auto& i = *static_cast<interrupted*>(of_interrupted);
    const std::uint64_t begin = __rdtsc();
    for (std::uint64_t n = 0; n < i.times; ++n) i.interrupt();
    i.ticks = __rdtsc() - begin;
}

}  // namespace tutti_bench
