// Translates code addresses to names, with addr2line and objdump of binutils, which come with GCC. If these tools find
// no name, the result is the symbol that the running program knew, or the address.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report_file.hpp"
#include "safe_functions.hpp"

namespace tutti::tools {

struct code_name {
    std::string function;  ///< demangled; never empty
    std::string source;    ///< "file.cpp:12", or empty
};

struct call_site {
    std::string function;  ///< demangled; empty if the call is through a register
    bool foreign = false;  ///< defined in another object
    code_address at;       ///< place of the call
};

class symbols {
public:
    /// Looks up many addresses at once, with only one process for each object file.
    void look_up(const std::vector<code_address>& places);
    /// Returns the name of a code address. REQUIRES: the address was looked up.
    [[nodiscard]] const code_name& operator[](const code_address& p) const;

    /// Returns the calls that made a block irrevocable at `p`: on each path through the code after `p`, the first call
    /// of a function that is not safe. The compiler switches as soon as every path leads to an unsafe operation, so
    /// safe calls can come first. Returns at most three calls, or none if the followed paths end before an unsafe call.
    [[nodiscard]] std::vector<call_site> unsafe_calls(const code_address& p) const;
    /// For a block without instrumented code: returns the unsafe functions that the block calls by name in the machine
    /// code between its begin and its commit. Each function is returned once, and at most a few functions.
    [[nodiscard]] std::vector<call_site> calls_of_block(const code_address& begin) const;

private:
    std::map<std::pair<std::string, std::uint64_t>, code_name> known_;
    safe_functions safe_;
};

/// Returns an address within the previous instruction, which is the call if a call returns to `p`.
inline code_address previous_instruction(const code_address& p) {
    return {p.object, p.offset == 0 ? 0 : p.offset - 1, p.symbol};
}

}  // namespace tutti::tools
