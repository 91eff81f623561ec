// The process's algorithm. Tests that run every algorithm in one process use this function to bypass the public rule.
#pragma once

#include <string_view>

namespace tutti::core {

/// Chooses an algorithm as tutti::use_algorithm does, but at any time. REQUIRES: no context has a descriptor.
void choose_algorithm_for_test(std::string_view name);

}  // namespace tutti::core
