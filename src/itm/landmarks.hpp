// Code addresses that a report will name. Each is resolved to its object file early, because the object may be unloaded
// before the report is written; what is loaded in its place later keeps the names of the first.
//
// Thread safety: any thread. The list of landmarks only grows, at its head, without a lock: a child of fork may find it
// at any time. Resolving allocates and takes a lock of the dynamic linker.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::itm {

struct landmark {
    std::string object;        ///< the file that the code was loaded from; empty: not known
    std::uint64_t offset = 0;  ///< the address in that file, as its symbol table and debug information have it
    std::string symbol;        ///< the exported function there, mangled, or empty
};

/// Memory that runs out loses the landmark.
void remember(const void* address) noexcept;

/// What is known of an address: one that was not remembered is resolved now.
landmark landmark_of(const void* address);

}  // namespace tutti::itm
