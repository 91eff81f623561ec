#include "server/journal/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tutti::server::journal {

std::uint64_t checksum(std::string_view bytes, checksum_kind how) noexcept {
    if (how == checksum_kind::xxh3) return XXH3_64bits(bytes.data(), bytes.size());
    std::uint64_t sum = 0xcbf29ce484222325;
    for (const char c : bytes) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return sum;
}

}  // namespace tutti::server::journal
