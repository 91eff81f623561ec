// One lock for lists that change rarely: clone tables and sites. fork holds it, so that no child inherits it locked.
//
// Who holds it asks for no lock but the heap's: a constructor takes it while its thread holds that of the dynamic linker.
#pragma once

#include <mutex>

namespace tutti::itm {

inline constinit std::mutex changes;

}  // namespace tutti::itm
