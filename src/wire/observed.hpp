// What observers are told of.
#pragma once

#include "wire/message.hpp"

namespace tutti::wire {

/// What a node shows. All of it runs on the thread that runs the sockets, and must not block for long.
class observed {
public:
    virtual ~observed() = default;
    virtual cluster::node_facts facts() = 0;
    /// Records what goes on, from nothing. Throws std::bad_alloc.
    virtual void start_recording() = 0;
    /// Records no more; the next of what was recorded.
    virtual void take_recorded(timeline_told& to) = 0;
    virtual void drop_recording() noexcept = 0;
    /// Transactions in doubt.
    virtual std::vector<cluster::doubt> doubts() { return {}; }
    /// What an operator says of one.
    virtual cluster::settling_answer settle(const wire::settle&) { return {cluster::settling::unknown}; }
};

}  // namespace tutti::wire
