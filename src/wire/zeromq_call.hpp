// A call of a node over ZeroMQ by who is none, in a program that runs Asio: bytes to it, and those that come.
//
// Thread safety: none; the thread that runs Asio owns it.
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
    /// With what is wrong, when it is over.
    using told = std::function<void(stage, const std::string&)>;

    virtual ~zeromq_call() = default;
    zeromq_call(const zeromq_call&) = delete;
    zeromq_call& operator=(const zeromq_call&) = delete;

    /// Once it is connected. A node that has gone meanwhile is noticed by what is read.
    virtual void say(const std::string& bytes) = 0;
    /// Fills `into`, and calls back. One at a time.
    virtual void read(std::string& into, std::function<void()> then) = 0;
    /// Calls back no more.
    virtual void end() noexcept = 0;

protected:
    zeromq_call() = default;
};

/// Calls back from `io` alone. `keys`: null: in the clear. Throws refusal, also where this library was built without
/// ZeroMQ. REQUIRES: `to` is of ZeroMQ, and in `keys` is one of `whom`; it stays until `io` runs no more.
[[nodiscard]] std::unique_ptr<zeromq_call> call_over_zeromq(asio::io_context& io, const address& to,
                                                            const curve_keys* keys, node_number whom,
                                                            zeromq_call::told then);

}  // namespace tutti::wire
