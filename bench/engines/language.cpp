#include "engines/libitm.hpp"
#include "workloads/alone.hpp"
#include "workloads/plain.hpp"
#include "workloads/standard.hpp"

namespace bench {
namespace {

/// The same blocks as those of engine `libitm`, in a program with Tutti's runtime.
struct language : libitm {
    static constexpr const char* name = "language";
};

[[maybe_unused]] const bool added = (add_standard<language>(), add_plain<language>(), add_alone<language>(), true);

}  // namespace
}  // namespace bench
