// A restart normally unwinds the body, so that its locals are destroyed. A body without destructors can declare this.
// Then a restart is a jump, which is tens of times cheaper. This program prints both costs.
#include <chrono>
#include <cstdio>
#include <tutti/tutti.hpp>

/// Runs a block that restarts itself `restarts` times. Returns the nanoseconds of each restart.
template <class... How>
double cost(unsigned restarts, tutti::var<unsigned>& attempts, How... how) {
    const auto start = std::chrono::steady_clock::now();
    tutti::atomically(how..., [&](tutti::tx& t) {
        attempts.set(t, t.attempt());
        if (t.attempt() <= restarts) tutti::restart(t);
    });
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    return took.count() / restarts;
}

int main() {
    constexpr unsigned restarts = 1000;
    tutti::var<unsigned> unwound{0}, jumped{0};
    const double by_unwinding = cost(restarts, unwound);
    const double by_jumping = cost(restarts, jumped, tutti::no_unwind);
    std::printf("a restart by unwinding: %.0f ns, by jumping: %.0f ns\n", by_unwinding, by_jumping);
    return unwound.load() == restarts + 1 && jumped.load() == restarts + 1 ? 0 : 1;
}
