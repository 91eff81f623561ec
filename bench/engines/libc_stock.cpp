// Streams in relaxed blocks on the system's libitm.
#include "workloads/streams.hpp"

namespace bench {
namespace {

struct libitm {
    static constexpr const char* name = "libitm";
    static constexpr bool concurrent = true;
    struct session {};

    template <class Body>
    static void run(FILE*, Body body) {
        // clang-format off
        __transaction_relaxed { body(); }
        // clang-format on
    }
};

[[maybe_unused]] const bool added = (add_streams<libitm>("libc"), true);

}  // namespace
}  // namespace bench
