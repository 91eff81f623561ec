// From code addresses to names: by addr2line and objdump of binutils, which come with GCC. What they cannot tell, the
// symbol that the running program knew, or the address, stands for.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report_file.hpp"
#include "safe_functions.hpp"

namespace tutti::tools {

struct named_code {
    std::string function;  ///< demangled; never empty
    std::string source;    ///< "file.cpp:12", or empty
};

struct called_code {
    std::string function;  ///< demangled; empty: it is called by a register
    bool foreign = false;  ///< it is in another object
    place at;              ///< the call
};

class symbols {
public:
    /// Asks for many addresses at once: a process for each object file.
    void look_up(const std::vector<place>& places);
    /// REQUIRES: it was looked up.
    [[nodiscard]] const named_code& operator[](const place& p) const;

    /// Returns the calls that made a block irrevocable at `p`: on each way through the code behind `p`, the first call
    /// of a function that is not safe. The compiler switches as soon as every way on leads to an unsafe operation, so
    /// safe calls can come first. Empty: the ways that were followed end before such a call. At most three.
    [[nodiscard]] std::vector<called_code> unsafe_calls(const place& p) const;
    /// Returns the unsafe functions that the block calls by name, each once, a few at most: what stands in the machine
    /// code between its begin and its commit. For a block without instrumented code.
    [[nodiscard]] std::vector<called_code> calls_of_block(const place& begin) const;

private:
    std::map<std::pair<std::string, std::uint64_t>, named_code> known_;
    safe_functions safe_;
};

/// The place of the instruction before: where a call that returns to `p` stands.
inline place before(const place& p) { return {p.object, p.offset == 0 ? 0 : p.offset - 1, p.symbol}; }

}  // namespace tutti::tools
