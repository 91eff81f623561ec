#include "harness/cases.hpp"

namespace bench {

std::vector<measured_case>& cases() {
    static std::vector<measured_case> all;
    return all;
}

}  // namespace bench
