// Which algorithm the process runs. Tests of every algorithm in one process go round the public rule.
#pragma once

#include <string_view>

namespace tutti::core {

/// As tutti::use_algorithm, at any time. REQUIRES: no context has a descriptor.
void choose_algorithm_for_test(std::string_view name);

}  // namespace tutti::core
