#include "base/panic.hpp"

#include <cstdlib>

#include "base/last_words.hpp"

namespace tutti::base {

void panic(const char* message) noexcept {
    for (const char* const part : {"tutti: ", message, "\n"}) say_last_words(part);
    std::abort();
}

}  // namespace tutti::base
