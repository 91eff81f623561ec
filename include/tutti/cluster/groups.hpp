/// @file
/// Groups that keep the objects of a prefix together. You can ask how many objects each group has, and move objects
/// between groups while programs use them. `tutti member rebalance` uses these functions.
///
///     tutti::cluster::engine_options where{.address = "tutti://127.0.0.1:7001;127.0.0.1:7011"};
///     tutti::cluster::rebalance(where, {.add = {"127.0.0.1:7021"}});  // a third group gets its share
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tutti/cluster/engine.hpp"
#include "tutti/detail/config.hpp"

namespace tutti::cluster {

struct groups_status {
    struct group {
        std::uint64_t number = 0;
        std::string addresses;  ///< addresses, separated by commas; empty: programs have to name them
        std::size_t slots = 0;  ///< number of slots (parts of all objects) that the group has
        bool has_left = false;  ///< the group has no slots left, and programs send it no requests
    };
    std::vector<group> groups;
    std::size_t slots = 0;    ///< number of all slots
    std::size_t moved = 0;    ///< number of slots that this call has moved so far
    std::size_t copied = 0;   ///< objects, leases and marks that moved with these slots
    std::uint64_t bytes = 0;  ///< bytes of these objects, leases and marks
};

/// Groups to add and to remove. Each group is given by the addresses of some of its members, separated by commas.
struct rebalance_request {
    std::vector<std::string> add;     ///< groups that get a share; existing groups also get a share
    std::vector<std::string> remove;  ///< groups that give away all their objects; you can stop them afterwards
};

/// Requests the status of the groups that `where` names. Of the other options, only prefix, request_timeout and TLS are
/// used.
/// @throws connection_error  if a group does not answer, or the groups do not keep this prefix
[[nodiscard]] TUTTI_EXPORT groups_status query_groups(const engine_options& where);

/// Moves slots (sets of objects) until all remaining groups have about equally many slots. A group that is removed
/// gives away all its slots. Programs may run meanwhile. If a call is killed, the next call continues its work. Calls
/// `tell` after each step. If `tell` throws, the call ends, and no object is lost. O(objects that move), and for each
/// step one scan of the keys of the group that gives the slot away.
/// @throws connection_error  if a group does not answer, or if another call moves objects at the same time. In the
/// latter case, call the function again
TUTTI_EXPORT groups_status rebalance(const engine_options& where, const rebalance_request& what,
                                            const std::function<void(const groups_status&)>& tell = {});

/// The objects that a call has saved, restored or exported.
struct objects_status {
    std::uint64_t objects = 0;
    std::uint64_t bytes = 0;    ///< total size of their values
    std::uint64_t version = 0;  ///< version of the state that was saved, restored or exported
};

struct exported_object {
    std::string id;             ///< 32 hexadecimal digits: object_id::high and object_id::low
    std::uint64_t version = 0;  ///< version of the commit that wrote the value
    std::string value;          ///< bytes that the serializer of its type wrote
};

// These three functions work on the objects of a prefix in one group. They reject a request for several groups, because
// such groups have no common state. Programs may run meanwhile. Each function holds all values in memory. O(n) for n
// objects.

/// Writes the objects to a file with a checksum. The written state was current at some time between call and return.
/// @throws connection_error  if the group does not answer, or the file cannot be written; then the file is unchanged
TUTTI_EXPORT objects_status save_objects(const engine_options& where, const std::string& file);
/// Restores the objects of the file, with their versions, into a group that has no objects of the prefix.
/// @throws connection_error  if the group has objects or the file is damaged; then nothing has changed. Also throws if
/// the group does not answer; then the group may have some of the objects, so you have to start with a new group.
TUTTI_EXPORT objects_status restore_objects(const engine_options& where, const std::string& file);
/// Calls `tell` with each object, by ascending id. The state of these objects was current at some time between call and
/// return.
/// @throws connection_error  if the group does not answer
TUTTI_EXPORT objects_status export_objects(const engine_options& where,
                                                  const std::function<void(const exported_object&)>& tell);

}  // namespace tutti::cluster
