// The order of two transactions of a cluster that conflict over an object, and how an attempt treats other
// transactions.
//
// The order only affects speed and fairness. No proof of opacity depends on a rank, on an age, or on a reservation that
// is not irrevocable. See docs/cluster-protocol.md, "Contention".
#pragma once

#include <cstdint>
#include <limits>

#include "cluster/ordering/fault_injection.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

/// The rank of an execution that has lost too many conflicts. Executions of this rank are ordered by age alone.
inline constexpr std::int64_t highest_rank = std::numeric_limits<std::int64_t>::max();

/// Returns true if `one`, of a transaction of node `of`, precedes `other`. This order of the executions that have an
/// age is total, because no node assigns the same age twice.
[[nodiscard]] constexpr bool has_precedence(const wire::precedence& one, wire::node_number of,
                                            const wire::precedence& other, wire::node_number of_other) noexcept {
    if (one.rank != other.rank) return one.rank > other.rank;
    if (one.age != other.age) return one.age != 0 && (other.age == 0 || one.age < other.age);
    return of < of_other && one.age != 0 && !injected(fault::equal_precedence_unresolved);
}

/// Returns true if both precedences belong to the same execution: a block and the blocks that are open nested in it.
[[nodiscard]] constexpr bool same_execution(const wire::precedence& one, wire::node_number of,
                                            const wire::precedence& other, wire::node_number of_other) noexcept {
    return one.age != 0 && one.age == other.age && of == of_other;
}

class named_lock_client;

/// How an attempt behaves in conflicts. By default, an attempt requests busy objects repeatedly for a while, and
/// has no precedence.
struct contention_behavior {
    bool waits = true;              ///< requests busy objects again instead of starting over immediately
    wire::precedence precedence{};  ///< REQUIRES: if `reserve_for` is set, the precedence has an age
    bool counts_objects = false;    ///< each object that the attempt has opened adds one to its rank
    named_lock_client* reserve_for =
        nullptr;  ///< opened objects are reserved for this hold, against all transactions that the attempt precedes
};

}  // namespace tutti::cluster
