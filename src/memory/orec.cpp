#include "memory/orec.hpp"

namespace tutti::memory {

// Raw zeros, which is what an orec starts as, so that the pages come from the kernel when they are first touched. (As
// an array of orecs it would need a million constant evaluations, which clang refuses.)
alignas(128) constinit unsigned char orec_table[sizeof(orec) << orec_table_bits] = {};

orec& orec_of(const void* address) noexcept { return orec_in(orec_table, address); }

}  // namespace tutti::memory
