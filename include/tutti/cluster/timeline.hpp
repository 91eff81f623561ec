/// @file
/// The actions and waits of blocks across nodes, on one time axis. Nodes record these events on request.
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

/// The role of the recording node in an event.
enum class timeline_role : std::uint8_t {
    runs,   ///< a thread of the node runs an attempt of a block
    waits,  ///< the same thread waits for answers, or because an object or lock is busy
    asks,   ///< from the thread's request to one node until the answer arrives; or a message without an answer
    serves  ///< the node serves a request or message of another node
};
[[nodiscard]] constexpr timeline_role last(timeline_role) noexcept { return timeline_role::serves; }

/// The kind of action.
enum class timeline_operation : std::uint8_t {
    attempt,
    open,      ///< requests objects
    reserve,   ///< requests objects and reserves them against writers
    validate,  ///< asks whether objects that were read are current
    watch,     ///< asks the same for a block that is about to sleep in `retry`
    lock,      ///< takes the locks of a commit and validates what was read
    commit,    ///< a whole commit: the node that receives the request takes the locks, validates and decides
    decide,    ///< sends the decision of a commit that was voted on
    claim,     ///< takes abstract locks by name
    release,   ///< releases abstract locks and reservations
    place,     ///< tells the new owner of an object that has moved
    drop,      ///< asks nodes to drop copies of an object that a block wants to write, or reports that they are dropped
    pause      ///< an object or lock is busy, and the thread sends the request again later
};
[[nodiscard]] constexpr timeline_operation last(timeline_operation) noexcept { return timeline_operation::pause; }
[[nodiscard]] constexpr std::string_view name_of(timeline_operation d) noexcept {
    constexpr std::array<std::string_view, 13> names{"attempt", "open",   "reserve", "validate", "watch",
                                                     "lock",    "commit", "decide",  "claim",    "release",
                                                     "place",   "drop",   "pause"};
    const auto i = static_cast<std::size_t>(d);
    return i < names.size() ? names[i] : "unknown";
}

/// How an action ended.
enum class timeline_outcome : std::uint8_t {
    done,
    committed,
    rolled_back,
    busy,       ///< a commit had locked an object
    outranked,  ///< a lock was refused because another block has precedence
    locked,     ///< a lock was refused because another commit has it, or because nodes have copies of the object
    stale,      ///< a lock was refused because the object has changed since it was read
    lost,       ///< the node is lost
    unanswered  ///< the block continued without the answer
};
[[nodiscard]] constexpr timeline_outcome last(timeline_outcome) noexcept { return timeline_outcome::unanswered; }
[[nodiscard]] constexpr std::string_view name_of(timeline_outcome e) noexcept {
    constexpr std::array<std::string_view, 9> names{"done",   "committed", "rolled back", "busy",      "outranked",
                                                    "locked", "stale",     "lost",        "unanswered"};
    const auto i = static_cast<std::size_t>(e);
    return i < names.size() ? names[i] : "unknown";
}

/// Stands for a missing or unknown node or thread.
inline constexpr std::uint16_t no_node = 0xffff;

struct timeline_event {
    timeline_role role{};
    timeline_operation operation{};
    timeline_outcome outcome{};
    rollback_reason why = rollback_reason::other;  ///< for an attempt that was rolled back
    /// The other node. For `asks`: the node that receives the request. For `serves`: the node that has sent the
    /// request. For `waits`: the node whose answer arrived last, or is missing. no_node: there is no other node.
    std::uint16_t node = no_node;
    std::uint16_t thread = 0;    ///< thread of the node that runs the block; no_node: unknown
    std::uint64_t sequence = 0;  ///< number of the attempt in its thread; 0: unknown to the node
    std::uint64_t question = 0;  ///< number of the request, which both nodes record; 0: the message needs no answer
    std::int64_t began_ns = 0;   ///< by the node's steady clock; in a node_timeline, by the caller's clock
    std::int64_t took_ns = 0;

    template <class V>
    void fields(V& v) {
        v(role), v(operation), v(outcome), v(why), v(node), v(thread), v(sequence), v(question), v(began_ns),
            v(took_ns);
    }
};

struct node_timeline {
    std::string address;
    /// The events in the order of their ends, by the caller's clock. A `serves` event has the sequence of the attempt
    /// that sent the request, if the sending node recorded that attempt.
    std::vector<timeline_event> events{};
    /// The maximum error of the node's times, in both directions. The error is half of the quickest round trip among
    /// those that compared the clocks before and after the recording.
    std::chrono::nanoseconds clock_error{0};
    std::uint64_t left_out = 0;  ///< number of events that did not fit: a node keeps the first 100,000
    std::string error{};         ///< the reason why `events` is missing, and what to do; empty if the node has recorded
};

/// Makes all nodes record at once for `how_long`, and returns their events, in the order of the addresses. Nodes record
/// only attempts that have sent requests to other nodes or have waited for an object. A node records for one caller at
/// a time. A second caller receives a message in `error`. `options.timeout` limits each exchange with a node, in
/// addition to the recording. Clocks are compared by Cristian's method, "Probabilistic clock synchronization",
/// Distributed Computing 3,
/// 1989. Throws connection_error if an address is malformed. Reports every other error in the node's `error`.
[[nodiscard]] TUTTI_EXPORT std::vector<node_timeline> record_nodes(const observer_options& options,
                                                                         std::chrono::milliseconds how_long);

}  // namespace tutti::cluster
