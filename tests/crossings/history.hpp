// The transactions of a program, as their trace tells them, and whether there is an order that explains them.
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
        opens,   ///< a nested block begins that was rolled back
        undoes,  ///< and is rolled back
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

/// How strictly a trace is read.
struct strictness {
    bool alone = true;         ///< one thread: nothing but the program itself rolls a block back
    bool in_hardware = false;  ///< except a hardware transaction, for any reason
};

/// Takes the trace of a thread apart. Returns what is wrong with how its blocks ended and which hooks ran.
[[nodiscard]] std::optional<std::string> read_trace(const trace& of, int thread, const strictness& how,
                                                    std::vector<transaction>& found);

/// Whether there is a serial order of the transactions that respects real time and gives every step its result. Leaves
/// the places as they are then in `after`. Where the search takes too long there is no verdict, and nothing is wrong.
[[nodiscard]] std::optional<std::string> find_no_order(const std::vector<transaction>& all, model& after);

}  // namespace crossings
