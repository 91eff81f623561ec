// From code addresses to names: by addr2line and objdump of binutils, which come with GCC. What they cannot tell, the
// symbol that the running program knew, or the address, stands for.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report_file.hpp"

namespace tutti::tools {

struct named_code {
    std::string function;  ///< demangled; never empty
    std::string source;    ///< "file.cpp:12", or empty
};

struct called_code {
    std::string function;  ///< demangled; empty: nothing is called before the code jumps away, or nothing by name
    bool foreign = false;  ///< it is in another object
};

class symbols {
public:
    /// Asks for many addresses at once: a process for each object file.
    void look_up(const std::vector<place>& places);
    /// REQUIRES: it was looked up.
    [[nodiscard]] const named_code& operator[](const place& p) const;

    /// What the code at `p` calls next.
    [[nodiscard]] static called_code next_call(const place& p);
    /// What the block calls by name, each once, a few at most: what stands in the machine code between its begin and
    /// its commit, but for the runtime's functions. For a block without instrumented code.
    [[nodiscard]] static std::vector<called_code> calls_of_block(const place& begin);

private:
    std::map<std::pair<std::string, std::uint64_t>, named_code> known_;
};

/// The place of the instruction before: where a call that returns to `p` stands.
inline place before(const place& p) { return {p.object, p.offset == 0 ? 0 : p.offset - 1, p.symbol}; }

}  // namespace tutti::tools
