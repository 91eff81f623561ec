// Who goes first where two transactions of a cluster want one object, and how an attempt behaves towards the others.
//
// All of it is a question of speed and fairness: no proof of opacity rests on a rank, an age, or a reservation that is
// not firm. docs/cluster-protocol.md, "Contention".
#pragma once

#include <cstdint>
#include <limits>

#include "cluster/fault.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

/// Of an execution that has lost too often: it goes by age alone.
inline constexpr std::int64_t highest_rank = std::numeric_limits<std::int64_t>::max();

/// Whether `one`, of a transaction of that node, goes before `other`. A total order of executions that have an age: no
/// node gives an age twice.
[[nodiscard]] constexpr bool goes_first(const wire::precedence& one, wire::node_number of,
                                        const wire::precedence& other, wire::node_number of_other) noexcept {
    if (one.rank != other.rank) return one.rank > other.rank;
    if (one.age != other.age) return one.age != 0 && (other.age == 0 || one.age < other.age);
    return of < of_other && one.age != 0 && !broken(fault::tie_not_broken);
}

/// Whether both are of one execution: a block, and what is open nested in it.
[[nodiscard]] constexpr bool are_one(const wire::precedence& one, wire::node_number of, const wire::precedence& other,
                                     wire::node_number of_other) noexcept {
    return one.age != 0 && one.age == other.age && of == of_other;
}

class claims;

/// How an attempt behaves. As it is made here it asks for what is taken for a while, and has no say.
struct manners {
    bool waits = true;            ///< asks again for what another has, rather than start over at once
    wire::precedence as{};        ///< REQUIRES: with an age, if there is a shield
    bool counts_objects = false;  ///< each object that it has opened adds one to its rank
    claims* shield = nullptr;     ///< what it opens is reserved for that hold, against all that it goes before
};

}  // namespace tutti::cluster
