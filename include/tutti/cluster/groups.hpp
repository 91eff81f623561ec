/// @file
/// Groups that keep the objects of a prefix together: which has how many, and how objects move from one to another
/// while programs use them: what `tutti member move` does.
///
///     tutti::cluster::engine_options where{.address = "tutti://127.0.0.1:7001;127.0.0.1:7011"};
///     tutti::cluster::move_objects(where, {.joins = {"127.0.0.1:7021"}});  // a third one gets its share
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tutti/cluster/engine.hpp"
#include "tutti/detail/config.hpp"

namespace tutti::cluster {

struct groups_facts {
    struct one {
        std::uint64_t number = 0;
        std::string addresses;  ///< with commas between; empty: programs have to name it
        std::size_t slots = 0;  ///< parts of the objects that it has
        bool left = false;      ///< it has none any more, and no program asks it
    };
    std::vector<one> groups;
    std::size_t slots = 0;    ///< in all
    std::size_t moved = 0;    ///< of them, by this call so far
    std::size_t copied = 0;   ///< objects, leases and marks that went with them
    std::uint64_t bytes = 0;  ///< of these
};

/// Groups, each by the addresses of some of its members, with commas between.
struct groups_change {
    std::vector<std::string> joins;   ///< get their share; those that are there already get one, too
    std::vector<std::string> leaves;  ///< give away all they have, and may be ended then
};

/// Asks the groups of `where`, of whose other options prefix, patience and TLS count.
/// @throws connection_error: one does not answer, or they do not keep that prefix
[[nodiscard]] TUTTI_EXPORT groups_facts ask_groups(const engine_options& where);

/// Has each group have about as many slots as any other, one that leaves none. Programs go on meanwhile. A call
/// that was killed in its middle is taken up by the next one. Calls `tell` after each step; it may throw, and nothing
/// is lost then. O(objects that move), and for each step one look at the keys of the group that gives.
/// @throws connection_error: a group does not answer, or somebody else moves objects, too: then call it again
TUTTI_EXPORT groups_facts move_objects(const engine_options& where, const groups_change& what,
                                              const std::function<void(const groups_facts&)>& tell = {});

}  // namespace tutti::cluster
