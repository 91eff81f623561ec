// The list of the curves: what grows, and how one point is measured. Each file of this folder adds its own before
// main() starts; a process then measures one point of one curve, so that no point sees what another one left behind.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace bench::growth {

/// What a point is to be.
struct point {
    std::size_t size = 1;
    std::chrono::nanoseconds time{50'000'000};  ///< to spend on samples; one that takes longer is the only one
};

using measured = std::function<double(const point&)>;

/// What should become of the figure where the size grows.
enum class due {
    linear,    ///< the whole takes one unit more for each: a report divides by the size
    constant,  ///< one operation beside so many of something is as dear as beside none
};

struct curve {
    std::string_view family;  ///< what it belongs to, for readers of many
    std::string_view name;
    std::string_view of;    ///< what is measured, one of: "a read"
    std::string_view over;  ///< what there are more and more of: "reads"
    due expected = due::linear;
    std::size_t largest = 1'000'000;
    measured run;             ///< nanoseconds (or, with `bytes`, bytes): of the whole, or of one operation
    measured without = {};    ///< the same without transactions, if there is such a thing: what caches take
    bool concurrent = false;  ///< it takes two transactions that run at once
    bool bytes = false;
    bool threads = false;          ///< more than one: the instructions of one operation cannot be counted
    std::string_view beside = {};  ///< the curve that this one is compared with
};

/// Ends the measurement: a wrong result is no figure.
class broken : public std::runtime_error {
    using std::runtime_error::runtime_error;
};
inline void require(bool holds, const char* what) {
    if (!holds) throw broken{what};
}

/// In the order in which they were added. Not for use once threads run.
std::vector<curve>& curves();

/// For the initializer of a variable at namespace scope.
bool add(std::vector<curve> more);

}  // namespace bench::growth
