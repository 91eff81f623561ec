// A call to a node over ZeroMQ, by a program that is not a node and runs Asio: sends bytes, and receives bytes.
//
// Not thread-safe: the thread that runs Asio owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <asio.hpp>

#include "wire/address.hpp"
#include "wire/curve_keys.hpp"

namespace tutti::wire {

class zeromq_call {
public:
    enum class stage : std::uint8_t { accepted, connected, over };
    /// Called at each stage. When the call is over, the text says what is wrong.
    using stage_callback = std::function<void(stage, const std::string&)>;

    virtual ~zeromq_call() = default;
    zeromq_call(const zeromq_call&) = delete;
    zeromq_call& operator=(const zeromq_call&) = delete;

    /// Sends bytes, after `connected`. A lost node is noticed by the next read.
    virtual void send(const std::string& bytes) = 0;
    /// Fills `into`, and calls `then`. Only one read at a time.
    virtual void read(std::string& into, std::function<void()> then) = 0;
    /// Ends the call. No callback runs afterwards.
    virtual void end() noexcept = 0;

protected:
    zeromq_call() = default;
};

/// Calls a node. Callbacks run only from `io`. If `keys` is null, the connection is in the clear. Throws wire_error,
/// also if this library was built without ZeroMQ. REQUIRES: `to` is an address of ZeroMQ. `keys` has a key of node
/// `whom`. `keys` stays valid until `io` has stopped.
[[nodiscard]] std::unique_ptr<zeromq_call> call_over_zeromq(asio::io_context& io, const address& to,
                                                            const curve_keys* keys, node_number whom,
                                                            zeromq_call::stage_callback then);

}  // namespace tutti::wire
