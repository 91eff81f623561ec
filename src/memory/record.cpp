#include "memory/record.hpp"

namespace tutti::memory {
namespace {

constexpr std::size_t table_bits = 20;
constexpr unsigned stripe_bits = 5;

// Raw zeros, which is what a record starts as, so that the pages come from the kernel when they are first touched. (As
// an array of records it would need a million constant evaluations, which clang refuses.)
alignas(128) constinit unsigned char table[sizeof(record) << table_bits] = {};

}  // namespace

record& record_of(const void* address) noexcept {
    // Neighbouring stripes get neighbouring records (Fibonacci hashing would spread them over as many cache lines);
    // the upper bits are folded in so that arrays at a distance of the table's span do not collide stripe by stripe.
    const auto stripe = reinterpret_cast<std::uintptr_t>(address) >> stripe_bits;
    return reinterpret_cast<record*>(
        table)[(stripe ^ (stripe >> table_bits)) & ((std::uintptr_t{1} << table_bits) - 1)];
}

}  // namespace tutti::memory
