// Code addresses that a report will name. Each is resolved to its object file when it is first seen, because the object
// may be unloaded before the report is written. Thread-safe; may allocate and take locks, so only for first sights.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::itm {

struct landmark {
    std::string object;        ///< the file that the code was loaded from; empty: not known
    std::uint64_t offset = 0;  ///< the address in that file, as its symbol table and debug information have it
    std::string symbol;        ///< the exported function there, mangled, or empty
};

/// Null is remembered as nothing. Memory that runs out loses the landmark.
void remember(const void* address) noexcept;

/// What is known of an address: one that was not remembered is resolved now.
landmark landmark_of(const void* address);

/// The file of the running program; empty if the system does not say.
std::string path_of_program();

}  // namespace tutti::itm
