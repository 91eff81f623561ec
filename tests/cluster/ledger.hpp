// Objects and reports of nodes that may be killed (ledger_process.cpp, survivors_test.cpp).
#pragma once

#include <array>
#include <cstdint>

namespace tutti::cluster::testing {

inline constexpr unsigned ledger_objects = 24;
inline constexpr unsigned ledger_threads_of_node = 3;
inline constexpr unsigned ledger_threads = 5 * ledger_threads_of_node;  // of all nodes

/// Stores, for each thread, the number of its last transaction that changed this object.
struct ledger_page {
    std::array<std::uint32_t, ledger_threads> last{};
    bool again = false;  ///< the object ended with a node and was published again
};

}  // namespace tutti::cluster::testing
