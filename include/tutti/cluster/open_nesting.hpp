/// @file
/// Abstract locks by name over the nodes of a cluster, and open nested blocks that take them.
#pragma once

#include <initializer_list>
#include <utility>

#include "tutti/cluster/node.hpp"
#include "tutti/open_nesting.hpp"

namespace tutti::cluster {

/// An abstract lock that all nodes know by its name, "key 17 of this map". Names are no objects: a lock and an object
/// may have the same.
struct named_lock {
    object_id name;
    bool shared = false;  ///< compatible with other shared holders: for operations that only look
};

namespace detail {
TUTTI_EXPORT void acquire_names(tx& t, node_body& n, const named_lock* locks, std::size_t count);
}  // namespace detail

/// Takes abstract locks for the block of `t`, which holds them until the outermost block around it has ended, its undo
/// actions included. Asks the homes of the names, all at once: one round trip where they are free, none for those that
/// it has. Waits for a while where another holds one, and then restarts the block; what the blocks around an open
/// nested one hold is not in its way. Throws node_lost if the home of a name is gone, also at the commit of a block
/// that has taken one; and usage_error in an irrevocable block, and over an engine.
inline void acquire(tx& t, const node& of, std::initializer_list<named_lock> locks) {
    detail::acquire_names(t, of.body(), locks.begin(), locks.size());
}

/// tutti::open_nested, which takes these abstract locks first: for operations on objects that do not commute.
///
///     bool put(tx& t, long key, int value) {
///         return open_nested(t, here, {{"map/" + std::to_string(key)}},
///             [&](tx& i) { return insert(i, key, value); },
///             [&, key](tx& u, bool inserted) { if (inserted) erase(u, key); });
///     }
///
/// The compensation runs before the locks are free. After Turcu and Ravindran's TFA-ON: "On Open Nesting in
/// Distributed Transactional Memory", SYSTOR 2012.
template <class Body, class Undo>
auto open_nested(tx& t, const node& of, std::initializer_list<named_lock> locks, Body&& body, Undo undo,
                 std::source_location at = std::source_location::current()) {
    acquire(t, of, locks);
    return tutti::open_nested(t, {}, std::forward<Body>(body), std::move(undo), at);
}

}  // namespace tutti::cluster
