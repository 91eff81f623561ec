// A site: one atomic block of the source, or one name given to blocks.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "tutti/detail/operations.hpp"

namespace tutti::observe {

struct site {
    std::uint32_t id;
    std::string name;
    std::string file;
    std::string function;
    unsigned line;
    const char* given_name;  // the pointer that was given, which spares comparing the text
    std::atomic<const char*> irrevocable_reason{nullptr};
};

/// The site of a call; makes it at the first call. The call's slot remembers the first one, so that a block with one
/// name, or none, is found by two loads. Throws std::bad_alloc.
site& site_of(const detail::call_site& where, const char* given_name);

/// REQUIRES: id < sites().
[[nodiscard]] const site& site_number(std::uint32_t id);
[[nodiscard]] std::uint32_t sites();

}  // namespace tutti::observe
