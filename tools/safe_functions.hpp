// Determines which functions an atomic block can call without becoming irrevocable, as far as an object file shows
// this.
#pragma once

#include <map>
#include <set>
#include <string>

namespace tutti::tools {

/// The functions of which libtutti-c has clones, or which it declares pure. CMakeLists.txt generates this set from its
/// lists.
extern const std::set<std::string, std::less<>> functions_of_libc;

class safe_functions {
public:
    /// Returns true if blocks of the object file can safely call `function` (demangled). That is the case if the
    /// compiler or libitm knows the function, or if the object has its transactional clone. It is also the case if the
    /// object needs libtutti-c and libtutti-c has a clone. The first call for an object runs nm and objdump. Returns
    /// false for a pure function of the program, because the object file does not show that a function is pure.
    [[nodiscard]] bool contains(const std::string& object, const std::string& function) const;

private:
    struct object_symbols {
        std::set<std::string> cloned;
        bool uses_libc_clones = false;
    };
    static object_symbols read_symbols(const std::string& object);

    mutable std::map<std::string, object_symbols> known_;
};

}  // namespace tutti::tools
