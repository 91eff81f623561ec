// The calls that a client has queued between MULTI and EXEC. These calls run as one transaction, so either all of them
// take effect or none.
//
//   none -> MULTI -> queued calls -> EXEC     runs them (invocation::queued_calls)
//                          \         DISCARD  discards them
//                           \-> invalid: a request in between was refused, so EXEC refuses all calls
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/calls/invocation.hpp"
#include "server/protocol/call_line.hpp"

namespace tutti::server {

class multi {
public:
    explicit multi(std::size_t max_bytes) noexcept : max_bytes_{max_bytes} {}

    /// Queues a call. REQUIRES: `what` has its priority and deadline. @throws bad_argument  if the queue would exceed
    /// its limit
    void add(const call_line& line, const invocation& what);
    void mark_invalid() noexcept { is_invalid_ = true; }
    [[nodiscard]] bool is_invalid() const noexcept { return is_invalid_; }
    [[nodiscard]] bool empty() const noexcept { return queued_calls_.empty(); }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

    /// Returns all queued calls as one call of `exec_entry`, with their highest priority and their earliest deadline.
    [[nodiscard]] invocation as_one_call(const procedure_entry& exec_entry, protocol spoken) const;
    /// Returns the arguments of all calls, in order.
    [[nodiscard]] std::vector<std::string_view> arguments() const;

private:
    const std::size_t max_bytes_;
    std::vector<invocation::queued_call> queued_calls_;
    std::vector<std::string> arguments_;
    std::size_t bytes_ = 0;
    int priority_ = 0;
    instant due_ = no_deadline;
    bool is_invalid_ = false;
};

}  // namespace tutti::server
