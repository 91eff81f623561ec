// The list of the curves: what grows, and how one point is measured. Each file of this folder adds its curves before
// main() starts. A process measures one point of one curve, so that points cannot influence each other.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace bench::growth {

/// The parameters of a point.
struct point {
    std::size_t size = 1;
    std::chrono::nanoseconds time{50'000'000};  ///< for samples; if one sample takes longer, it is the only one
};

using measured = std::function<double(const point&)>;

/// The expected growth of the figure with the size.
enum class due {
    linear,    ///< the whole takes one unit more for each element: a report divides by the size
    constant,  ///< one operation beside many of something costs the same as beside none
};

struct curve {
    std::string_view family;  ///< family for reports
    std::string_view name;
    std::string_view of;    ///< the measured operation in the singular: "a read"
    std::string_view over;  ///< what grows, in the plural: "reads"
    due expected = due::linear;
    std::size_t largest = 1'000'000;
    measured run;             ///< nanoseconds (with `bytes`: bytes), of the whole or of one operation
    measured without = {};    ///< the same without transactions, if possible: shows the cost of caches
    bool concurrent = false;  ///< needs two transactions that run at the same time
    bool bytes = false;
    bool threads = false;          ///< uses several threads, so the instructions of one operation cannot be counted
    std::string_view beside = {};  ///< the curve to compare this one with
};

/// Ends the measurement, because a wrong result must not produce a figure.
class wrong_result_error : public std::runtime_error {
    using std::runtime_error::runtime_error;
};
inline void require(bool holds, const char* what) {
    if (!holds) throw wrong_result_error{what};
}

/// Returns the curves in the order of registration. Not to be called once threads run.
std::vector<curve>& curves();

/// Adds curves. For the initializer of a variable at namespace scope.
bool add(std::vector<curve> more);

}  // namespace bench::growth
