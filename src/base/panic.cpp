#include "base/panic.hpp"

#include <cstdlib>

#include "base/emergency_output.hpp"

namespace tutti::base {

void panic(const char* message) noexcept {
    for (const char* const part : {"tutti: ", message, "\n"}) write_emergency_message(part);
    std::abort();
}

}  // namespace tutti::base
