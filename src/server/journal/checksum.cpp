#include "server/journal/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/fnv1a.hpp"

namespace tutti::server::journal {

std::uint64_t checksum(std::string_view bytes, checksum_kind how) noexcept {
    if (how == checksum_kind::xxh3) return XXH3_64bits(bytes.data(), bytes.size());
    return base::fnv1a(bytes);
}

}  // namespace tutti::server::journal
