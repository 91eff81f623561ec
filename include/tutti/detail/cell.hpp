// The transactional word of a var<T>: the value and, beside it, its ownership record.
#pragma once

#include "tutti/detail/shared.hpp"

namespace tutti::detail {

using word = std::uint64_t;

/// Sixteen bytes, so that one cache line holds both. `src/memory/record.hpp` defines what a record may hold; here it
/// matters only that an unlocked, unmarked record is a version, and that anything else is larger than every bound.
struct alignas(16) cell {
    constexpr cell() noexcept = default;
    constexpr explicit cell(word initial) noexcept : value{initial} {}

    shared<word> value;
    mutable shared<word> record;
};

}  // namespace tutti::detail
