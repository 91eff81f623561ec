// Records code addresses for a report. Each address is resolved to its object file when it is recorded, because the
// object may be unloaded before the report is written. If another object is loaded at the same address later, the
// report uses the names of the first object.
//
// Thread safety: any thread may call these functions. The list of code addresses only grows, at its head, without a
// lock, because a child of fork may read the list at any time. Resolving allocates memory and acquires a lock of the
// dynamic linker.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::itm {

struct code_address {
    std::string object;        ///< the file from which the code was loaded; empty: unknown
    std::uint64_t offset = 0;  ///< the address in that file, as in its symbol table and debug information
    std::string symbol;        ///< the exported function at that address, mangled, or empty
};

/// Resolves and records an address. If memory runs out, the address is not recorded.
void record_address(const void* address) noexcept;

/// Returns the description of an address. If the address was not recorded, resolves the address now.
code_address resolve_address(const void* address);

}  // namespace tutti::itm
