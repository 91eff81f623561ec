// The transactional word of a var<T>: the value and, beside it, its ownership record (orec).
#pragma once

#include "tutti/detail/shared.hpp"

namespace tutti::detail {

using word = std::uint64_t;

/// Sixteen bytes, so that one cache line holds both. `src/memory/orec.hpp` defines what an orec may hold; here it
/// matters only that an unlocked, unmarked orec is a version, and that anything else is larger than every bound.
struct alignas(16) cell {
    constexpr cell() noexcept = default;
    constexpr explicit cell(word initial) noexcept : value{initial} {}

    shared<word> value;
    mutable shared<word> orec;
};

}  // namespace tutti::detail
