#include "memory/orec.hpp"

namespace tutti::memory {

// The orecs are raw zeros, the initial state of an orec, so that the kernel provides the pages when they are first
// touched. (An array of orecs would need a million constant evaluations, which clang rejects.)
alignas(128) constinit unsigned char orec_table[sizeof(orec) << orec_table_bits] = {};

orec& orec_of(const void* address) noexcept { return orec_in(orec_table, address); }

}  // namespace tutti::memory
