// What nodes that may be killed write into objects, and tell of it (ledger_process.cpp, survivors_test.cpp).
#pragma once

#include <array>
#include <cstdint>

namespace tutti::cluster::testing {

inline constexpr unsigned ledger_objects = 24;
inline constexpr unsigned ledger_threads_of_node = 3;
inline constexpr unsigned ledger_threads = 5 * ledger_threads_of_node;  // of all nodes

/// Of each thread: which of its transactions was the last that changed this object.
struct ledger_page {
    std::array<std::uint32_t, ledger_threads> last{};
    bool again = false;  ///< it had ended with a node, and was made anew
};

}  // namespace tutti::cluster::testing
