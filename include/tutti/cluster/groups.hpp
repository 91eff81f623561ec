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

/// What was saved, restored or exported.
struct objects_facts {
    std::uint64_t objects = 0;
    std::uint64_t bytes = 0;    ///< of their values
    std::uint64_t version = 0;  ///< of the state that they are of
};

struct exported_object {
    std::string id;             ///< 32 hexadecimal digits: object_id::high and object_id::low
    std::uint64_t version = 0;  ///< of the commit that wrote the value
    std::string value;          ///< the bytes that the serializer of its type wrote
};

// These three are for the objects of a prefix in one group; of several groups no state in common is kept, and they are
// refused. Programs go on meanwhile. Each takes memory for all values. O(n) for n objects.

/// Writes the objects into a file with a checksum: a state that was current between call and return.
/// @throws connection_error: the group does not answer, or the file cannot be written; then it is as it was
TUTTI_EXPORT objects_facts save_objects(const engine_options& where, const std::string& file);
/// Has a group that has no objects of the prefix have those of the file, with their versions.
/// @throws connection_error: the group has objects, or the file is damaged, and nothing was done; or the group does not
/// answer, and has some of the objects: begin a new group then
TUTTI_EXPORT objects_facts restore_objects(const engine_options& where, const std::string& file);
/// Calls `tell` with each object of a state that was current between call and return, by ascending ids.
/// @throws connection_error: the group does not answer
TUTTI_EXPORT objects_facts export_objects(const engine_options& where,
                                                 const std::function<void(const exported_object&)>& tell);

}  // namespace tutti::cluster
