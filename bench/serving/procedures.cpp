// The procedures for the comparison with Redis's scripts: a trivial one, and one that computes for a given time.
#include <chrono>

#include <tutti/server/procedure.hpp>
#include <tutti/tutti.hpp>

namespace {

using clock = std::chrono::steady_clock;

struct numbers {
    tutti::var<long> calls{0};
    tutti::var<long> basis{1};
};

/// A transaction that reads now and then. The result keeps compilers from removing the work.
long compute(const numbers& n, long steps) {
    return tutti::atomically({.read_only = true}, [&](tutti::tx& t) {
        auto x = static_cast<unsigned long>(n.basis.get(t));
        for (long i = 0; i < steps; ++i) {
            x = x * 6364136223846793005U + 1442695040888963407U;
            if (i % 256 == 0) x += static_cast<unsigned long>(n.basis.get(t));
        }
        return static_cast<long>(x >> 60);
    });
}

/// Returns the steps in a microsecond, by the fastest of several tries: the other tries were disturbed.
double measure_speed(const numbers& n) {
    constexpr long steps = 1'000'000;
    auto best = clock::duration::max();
    for (int i = 0; i < 10; ++i) {
        const auto start = clock::now();
        static_cast<void>(compute(n, steps));
        best = std::min(best, clock::now() - start);
    }
    return steps / std::chrono::duration<double, std::micro>{best}.count();
}

}  // namespace

TUTTI_PROCEDURES(server) {
    const auto n = std::make_shared<numbers>();
    const double speed = measure_speed(*n);
    server.add("increment", {.priority = 5}, [n] {
        return tutti::atomically([&](tutti::tx& t) {
            const long now = n->calls.get(t) + 1;
            n->calls.set(t, now);
            return now;
        });
    });
    server.add("compute", {.priority = 1},
               [n, speed](double microseconds) { return compute(*n, static_cast<long>(microseconds * speed)); });
}
