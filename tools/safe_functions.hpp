// Which functions an atomic block can call without becoming irrevocable, as far as an object file shows.
#pragma once

#include <map>
#include <set>
#include <string>

namespace tutti::tools {

/// Functions that libtutti-c has clones of, or declares pure. CMakeLists.txt writes them from its lists.
extern const std::set<std::string, std::less<>> functions_of_libc;

class safe_functions {
public:
    /// Returns true if blocks of the object file can call `function` (demangled). Either the compiler or libitm knows
    /// the function, or the object has its transactional clone, or the object needs libtutti-c, which has a clone. The
    /// first call for an object runs nm and objdump. Returns false for a pure function of the program, which leaves no
    /// trace in the object.
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
