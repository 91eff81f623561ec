#include "base/panic.hpp"

#include <cstdio>
#include <cstdlib>

namespace tutti::base {

void panic(const char* message) noexcept {
    std::fprintf(stderr, "tutti: %s\n", message);
    std::fflush(stderr);
    std::abort();
}

}  // namespace tutti::base
