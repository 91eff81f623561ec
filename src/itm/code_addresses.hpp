// Code addresses that a report will name. Each is resolved to its object file early, because the object may be unloaded
// before the report is written. If another object is loaded at the same address later, it gets the names of the first
// one.
//
// Thread safety: any thread. The list of code addresses only grows, at its head, without a lock, because a child of
// fork may read it at any time. Resolving allocates and takes a lock of the dynamic linker.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::itm {

struct code_address {
    std::string object;        ///< the file that the code was loaded from; empty: unknown
    std::uint64_t offset = 0;  ///< the address in that file, as in its symbol table and debug information
    std::string symbol;        ///< the exported function there, mangled, or empty
};

/// Resolves and keeps an address. If memory runs out, the address is lost.
void record_address(const void* address) noexcept;

/// Returns the description of an address. An address that was not recorded is resolved now.
code_address resolve_address(const void* address);

}  // namespace tutti::itm
