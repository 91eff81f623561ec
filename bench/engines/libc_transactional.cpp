// Streams in blocks of the language, whose calls go to the transactional clones; and the same blocks made irrevocable
// at their begin, which is all that can be done without clones.
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
    static void run(FILE*, Body body) {
        // clang-format off
        __transaction_atomic { body(); }
        // clang-format on
    }
};

struct irrevocable {
    static constexpr const char* name = "irrevocable";
    static constexpr bool concurrent = true;
    struct session {};

    template <class Body>
    static void run(FILE*, Body body) {
        // clang-format off
        __transaction_relaxed { run_alone(); body(); }
        // clang-format on
    }
};

/// glibc's lock of the stream, around the calls of a record.
struct locked {
    static constexpr const char* name = "flockfile";
    static constexpr bool concurrent = true;
    struct session {};

    template <class Body>
    static void run(FILE* f, Body body) {
        ::flockfile(f);
        body();
        ::funlockfile(f);
    }
};

[[maybe_unused]] const bool added =
    (add_streams<transactional>("libc"), add_streams<irrevocable>("libc"), add_streams<locked>("libc"), true);

}  // namespace
}  // namespace bench
