#include "safe_functions.hpp"

#include <sstream>
#include <string_view>

#include "subprocess.hpp"

namespace tutti::tools {
namespace {

/// The functions that have barriers or clones in libitm, regardless of what the program is linked with.
const std::set<std::string, std::less<>> of_runtime{
    "malloc",
    "calloc",
    "free",
    "memcpy",
    "memmove",
    "memset",
    "operator new(unsigned long)",
    "operator new[](unsigned long)",
    "operator delete(void*)",
    "operator delete[](void*)",
    "operator delete(void*, unsigned long)",
    "operator delete[](void*, unsigned long)",
    "__cxa_allocate_exception",
    "__cxa_throw",
    "__cxa_begin_catch",
    "__cxa_end_catch",
};

}  // namespace

safe_functions::object_symbols safe_functions::read_symbols(const std::string& object) {
    object_symbols found;
    constexpr std::string_view mark = "transaction clone for ";
    std::istringstream names{output_of({"nm", "-C", object}).value_or("")};
    for (std::string line; std::getline(names, line);) {
        if (const std::size_t at = line.find(mark); at != std::string::npos) {
            std::string name = line.substr(at + mark.size());
            found.cloned.insert(name.substr(0, name.find('@')));
        }
    }
    const std::string header = output_of({"objdump", "-p", object}).value_or("");
    found.uses_libc_clones = header.find("libtutti-c.so") != std::string::npos;
    return found;
}

bool safe_functions::contains(const std::string& object, const std::string& function) const {
    if (of_runtime.contains(function)) return true;
    auto known = known_.find(object);
    if (known == known_.end()) known = known_.emplace(object, read_symbols(object)).first;
    return known->second.cloned.contains(function) ||
           (known->second.uses_libc_clones && functions_of_libc.contains(function));
}

}  // namespace tutti::tools
