/// @file
/// What blocks did across nodes, and what they waited for: recorded by the nodes on request, on one time axis.
///
///     for (const auto& node : tutti::cluster::record_nodes({.addresses = {…}}, 100ms))
///         for (const auto& e : node.events) …
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/cluster/status.hpp"
#include "tutti/detail/config.hpp"

namespace tutti::cluster {

/// What part the node that recorded an event had in it.
enum class timeline_role : std::uint8_t {
    runs,   ///< a thread of the node: an attempt of a block
    waits,  ///< the same thread: for answers, or because something is busy
    asks,   ///< the same thread: one question to one node, until its answer is there; or what asks for no answer
    serves  ///< the node: what another one has asked or told
};
[[nodiscard]] constexpr timeline_role last(timeline_role) noexcept { return timeline_role::serves; }

/// What is done.
enum class timeline_deed : std::uint8_t {
    attempt,
    open,      ///< objects are asked for
    reserve,   ///< the same, and kept from writers
    validate,  ///< whether what was read is current
    watch,     ///< the same, of a block that is about to sleep in `retry`
    lock,      ///< the locks of a commit are taken, and what was read is validated
    commit,    ///< the same, decided by the node that is asked, and over: nothing of it was to be done elsewhere
    decide,    ///< the decision of a commit that was voted on
    claim,     ///< abstract locks by name
    release,   ///< of these, and of what was reserved
    place,     ///< an object has moved
    drop,      ///< copies of an object are to be dropped, or are, since somebody wants to write it
    pause      ///< something is busy: the thread looks again later
};
[[nodiscard]] constexpr timeline_deed last(timeline_deed) noexcept { return timeline_deed::pause; }
[[nodiscard]] constexpr std::string_view name_of(timeline_deed d) noexcept {
    constexpr std::array<std::string_view, 13> names{"attempt", "open",   "reserve", "validate", "watch",
                                                     "lock",    "commit", "decide",  "claim",    "release",
                                                     "place",   "drop",   "pause"};
    const auto i = static_cast<std::size_t>(d);
    return i < names.size() ? names[i] : "unknown";
}

/// How it ended.
enum class timeline_end : std::uint8_t {
    done,
    committed,
    rolled_back,
    busy,       ///< an object was locked by a commit
    outranked,  ///< a lock was not given: another block goes first
    locked,     ///< a lock was not given: another commit has it, or nodes have copies of the object
    stale,      ///< a lock was not given: the object is not what was read
    lost,       ///< the node is gone
    unanswered  ///< the block went on without the answer
};
[[nodiscard]] constexpr timeline_end last(timeline_end) noexcept { return timeline_end::unanswered; }
[[nodiscard]] constexpr std::string_view name_of(timeline_end e) noexcept {
    constexpr std::array<std::string_view, 9> names{"done",   "committed", "rolled back", "busy",      "outranked",
                                                    "locked", "stale",     "lost",        "unanswered"};
    const auto i = static_cast<std::size_t>(e);
    return i < names.size() ? names[i] : "unknown";
}

/// In the place of a node or a thread: none, or none that is known.
inline constexpr std::uint16_t no_node = 0xffff;

struct timeline_event {
    timeline_role role{};
    timeline_deed deed{};
    timeline_end end{};
    rollback_reason why = rollback_reason::other;  ///< of an attempt that was rolled back
    /// asks: the node that is asked. serves: the node that has asked. waits: the node whose answer came last, or is
    /// missing. no_node: there is none.
    std::uint16_t node = no_node;
    std::uint16_t thread = 0;    ///< of the node that runs the block; no_node: not known
    std::uint64_t sequence = 0;  ///< of the attempt among those of its thread; 0: the node does not know
    std::uint64_t question = 0;  ///< its number, which both nodes record; 0: it asks for no answer
    std::int64_t began_ns = 0;   ///< by the node's steady clock; in a node_timeline by the caller's
    std::int64_t took_ns = 0;

    template <class V>
    void fields(V& v) {
        v(role), v(deed), v(end), v(why), v(node), v(thread), v(sequence), v(question), v(began_ns), v(took_ns);
    }
};

struct node_timeline {
    std::string address;
    /// In the order of their ends, by the clock of the caller; `serves` have the sequence of the attempt that asked,
    /// where the asking node recorded it.
    std::vector<timeline_event> events{};
    /// The node's events may be so much earlier or later, one way and the other: half of the quickest round trip by
    /// which its clock was compared, before and after.
    std::chrono::nanoseconds clock_error{0};
    std::uint64_t left_out = 0;  ///< events for which there was no room: a node keeps the first 100,000
    std::string trouble{};       ///< why there are none, and what to do; empty if they were recorded
};

/// Has all nodes record at once for so long, and returns what they have, in the order of their addresses. Only attempts
/// that have asked other nodes for something, or waited for an object, are recorded. One recording at a time: a node
/// refuses a second caller, and says so in its `trouble`. `within` bounds each exchange with a node, beside the
/// recording.
/// Clocks are compared as Cristian has it, "Probabilistic clock synchronization", Distributed Computing 3, 1989.
/// Throws connection_error where an address is none; whatever a node does is said in its `trouble`.
[[nodiscard]] TUTTI_EXPORT std::vector<node_timeline> record_nodes(const observer_options& whom,
                                                                         std::chrono::milliseconds how_long);

}  // namespace tutti::cluster
