// A connection to a node over ZeroMQ, for a program that is not a node and that runs Asio.
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
    /// Called at each stage of the call. At the stage `over`, the text says what is wrong.
    using stage_callback = std::function<void(stage, const std::string&)>;

    virtual ~zeromq_call() = default;
    zeromq_call(const zeromq_call&) = delete;
    zeromq_call& operator=(const zeromq_call&) = delete;

    /// Sends bytes. May be called after the stage `connected`. If the node is lost, the next read notices.
    virtual void send(const std::string& bytes) = 0;
    /// Reads as many bytes as `into` has, and then calls `then`. Only one read may be pending at a time.
    virtual void read(std::string& into, std::function<void()> then) = 0;
    /// Ends the call. No callback runs afterwards.
    virtual void end() noexcept = 0;

protected:
    zeromq_call() = default;
};

/// Calls a node. Only `io` runs callbacks. If `keys` is null, the connection is not encrypted. Throws wire_error if the
/// call cannot be started, for example because this library was built without ZeroMQ. REQUIRES: `to` is an address of
/// ZeroMQ. `keys` contains a key of node `whom`, and stays valid until `io` has stopped.
[[nodiscard]] std::unique_ptr<zeromq_call> call_over_zeromq(asio::io_context& io, const address& to,
                                                            const curve_keys* keys, node_number whom,
                                                            zeromq_call::stage_callback then);

}  // namespace tutti::wire
