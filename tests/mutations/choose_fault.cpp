// Activates the fault in TUTTI_FAULT when the library is loaded.
#include <cstdlib>
#include <string_view>

#include "base/panic.hpp"
#include "core/state/fault_injection.hpp"

namespace tutti::core {
namespace {

[[gnu::constructor]] void choose_fault() {
    const char* const given = std::getenv("TUTTI_FAULT");
    const std::string_view name = given != nullptr ? given : "none";
#define TUTTI_FAULT(fault_name) \
    if (name == #fault_name) injected_fault = fault::fault_name;
#include "core/state/faults.def"
#undef TUTTI_FAULT
    if (injected_fault == fault::none && name != "none") base::panic("TUTTI_FAULT names no fault of faults.def");
}

}  // namespace
}  // namespace tutti::core
