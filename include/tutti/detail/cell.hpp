// The transactional word of a var<T>: the value and, beside it, its ownership record (orec).
#pragma once

#include "tutti/detail/shared.hpp"

namespace tutti::detail {

using word = std::uint64_t;

/// The value and its orec, sixteen bytes together, so that one cache line holds both. `src/memory/orec.hpp` defines the
/// contents of an orec. Here only this matters: an unlocked, unmarked orec is a version, and any other orec is larger
/// than every bound.
struct alignas(16) cell {
    constexpr cell() noexcept = default;
    constexpr explicit cell(word initial) noexcept : value{initial} {}

    shared<word> value;
    mutable shared<word> orec;
};

}  // namespace tutti::detail
