// Streams, and a tree with malloc, in blocks of the language, whose calls go to the transactional clones. Also the same
// blocks made irrevocable at their start, the only way without clones.
#include "workloads/allocating_tree.hpp"
#include "workloads/streams.hpp"

namespace bench {
namespace {

// Not marked as safe for transactions: a block that calls it runs alone.
[[gnu::noinline]] void run_alone() { asm volatile(""); }

struct transactional {
    static constexpr const char* name = "tutti-libc";
    static constexpr bool concurrent = true;
    struct session {};

    template <class Body>
    static auto run(FILE*, Body body) {
        // clang-format off
        __transaction_atomic { return body(); }
        // clang-format on
    }
};

struct irrevocable {
    static constexpr const char* name = "irrevocable";
    static constexpr bool concurrent = true;
    struct session {};

    template <class Body>
    static auto run(FILE*, Body body) {
        // clang-format off
        __transaction_relaxed { run_alone(); return body(); }
        // clang-format on
    }
};

/// glibc's lock of the stream, held during the calls for a record.
struct locked {
    static constexpr const char* name = "flockfile";
    static constexpr bool concurrent = true;
    struct session {};

    struct guard {
        explicit guard(FILE* f) noexcept : locked{f} { ::flockfile(locked); }
        ~guard() { ::funlockfile(locked); }
        guard(const guard&) = delete;
        guard& operator=(const guard&) = delete;
        FILE* locked;
    };

    template <class Body>
    static auto run(FILE* f, Body body) {
        const guard whole{f};
        return body();
    }
};

template <class Engine>
void add_both() {
    add_streams<Engine>("libc");
    add_allocating_trees<Engine>("libc");
}

[[maybe_unused]] const bool added = (add_both<transactional>(), add_both<irrevocable>(), add_both<locked>(), true);

}  // namespace
}  // namespace bench
