// Streams, and a tree with malloc, in relaxed blocks on the system's libitm.
#include "workloads/allocating_tree.hpp"
#include "workloads/streams.hpp"

namespace bench {
namespace {

struct libitm {
    static constexpr const char* name = "libitm";
    static constexpr bool concurrent = true;
    struct session {};

    template <class Body>
    static auto run(FILE*, Body body) {
        // clang-format off
        __transaction_relaxed { return body(); }
        // clang-format on
    }
};

[[maybe_unused]] const bool added = (add_streams<libitm>("libc"), add_allocating_trees<libitm>("libc"), true);

}  // namespace
}  // namespace bench
