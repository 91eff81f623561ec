#include "memory/record.hpp"

namespace tutti::memory {

// Raw zeros, which is what a record starts as, so that the pages come from the kernel when they are first touched. (As
// an array of records it would need a million constant evaluations, which clang refuses.)
alignas(128) constinit unsigned char record_table[sizeof(record) << record_table_bits] = {};

record& record_of(const void* address) noexcept { return record_in(record_table, address); }

}  // namespace tutti::memory
