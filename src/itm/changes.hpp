// One lock for lists that change rarely: clone tables and sites. fork holds it, so that no child inherits it locked.
//
// Its holder asks for no lock but the heap's and, to retire a list, those of the registry of descriptors, which fork
// takes in the same order: never for that of the dynamic linker, which a thread holds whose constructor takes this one.
#pragma once

#include <mutex>

namespace tutti::itm {

inline constinit std::mutex changes;

}  // namespace tutti::itm
