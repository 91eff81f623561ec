// The interface through which observers inspect and control a node.
#pragma once

#include "wire/message.hpp"

namespace tutti::wire {

/// The functions of a node that observers use. Every member is called on the thread that runs the sockets, and must not
/// block for long.
class observable {
public:
    virtual ~observable() = default;
    virtual cluster::node_status status() = 0;
    /// Starts an empty recording. Throws std::bad_alloc.
    virtual void start_recording() = 0;
    /// Ends the recording, and moves its next events to `to`.
    virtual void take_recorded(timeline_reply& to) = 0;
    virtual void drop_recording() noexcept = 0;
    /// Returns the transactions in doubt.
    virtual std::vector<cluster::doubt> doubts() { return {}; }
    /// Resolves a transaction in doubt as the operator has decided.
    virtual cluster::resolve_reply resolve_doubt(const wire::resolve_doubt&) {
        return {cluster::resolve_result::unknown};
    }
};

}  // namespace tutti::wire
