/// @file
/// Abstract locks that the nodes of a cluster know by name, and open nested blocks that take these locks.
#pragma once

#include <initializer_list>
#include <utility>

#include "tutti/cluster/node.hpp"
#include "tutti/open_nesting.hpp"

namespace tutti::cluster {

/// An abstract lock that all nodes know by name, such as "key 17 of this map". Lock names and object names are
/// separate: a lock and an object may have the same name.
struct named_lock {
    object_id name;
    bool shared = false;  ///< compatible with other shared holders; use it for operations that only read
};

namespace detail {
TUTTI_EXPORT void acquire_names(tx& t, node_impl& n, const named_lock* locks, std::size_t count);
}  // namespace detail

/// Takes abstract locks for the block of `t`. The block holds the locks until the outermost block around it has ended,
/// including its undo actions. Sends requests to the homes of all names at once. This takes one round trip if the locks
/// are free, and none for locks that the block already has. If another block holds a lock, waits for a while and then
/// restarts the block. An open nested block does not conflict with the locks of the blocks around it. Throws node_lost
/// if the home of a name is lost, also at the commit of a block that has taken a lock. Throws usage_error in an
/// irrevocable block, and over an engine.
inline void acquire(tx& t, const node& of, std::initializer_list<named_lock> locks) {
    detail::acquire_names(t, of.impl(), locks.begin(), locks.size());
}

/// Takes these abstract locks and then runs tutti::open_nested. Use this function for operations that do not commute on
/// the same objects.
///
///     bool put(tx& t, long key, int value) {
///         return open_nested(t, here, {{"map/" + std::to_string(key)}},
///             [&](tx& i) { return insert(i, key, value); },
///             [&, key](tx& u, bool inserted) { if (inserted) erase(u, key); });
///     }
///
/// The compensation runs before the locks are released. The design follows Turcu and Ravindran's TFA-ON: "On Open
/// Nesting in Distributed Transactional Memory", SYSTOR 2012.
template <class Body, class Undo>
auto open_nested(tx& t, const node& of, std::initializer_list<named_lock> locks, Body&& body, Undo undo,
                 std::source_location at = std::source_location::current()) {
    acquire(t, of, locks);
    return tutti::open_nested(t, {}, std::forward<Body>(body), std::move(undo), at);
}

}  // namespace tutti::cluster
