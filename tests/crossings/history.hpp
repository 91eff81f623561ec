// The transactions of a program, read from its trace, and the search for an order that explains them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model.hpp"
#include "program.hpp"
#include "trace.hpp"

namespace crossings {

struct action {
    enum class kind : std::uint8_t {
        does,    ///< a data step
        opens,   ///< a nested block that is rolled back later begins
        undoes,  ///< the nested block is rolled back
    };
    kind is;
    step what{};
    int first = 0;
    int second = 0;
    long result = 0;
};

struct transaction {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    bool committed = false;
    int thread = 0;
    std::vector<action> actions;
};

/// The strictness of the check.
struct strictness {
    bool alone = true;         ///< one thread: only the program itself rolls a block back
    bool in_hardware = false;  ///< a hardware transaction may also fail, for any reason
};

/// Parses the trace of a thread. Returns the first error in the outcomes of its blocks or in the hooks that ran.
[[nodiscard]] std::optional<std::string> read_trace(const trace& of, int thread, const strictness& how,
                                                    std::vector<transaction>& found);

/// Searches for a serial order of the transactions that respects real time and gives every step its result. `after`
/// gets the final state of the places. If the search takes too long, it reports no error.
[[nodiscard]] std::optional<std::string> find_no_order(const std::vector<transaction>& all, model& after);

}  // namespace crossings
