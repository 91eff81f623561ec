// What a client has queued between MULTI and EXEC: calls that run as one transaction, all or none of them.
//
//   none -> MULTI -> queued calls -> EXEC     runs them (invocation::parts)
//                          \         DISCARD  forgets them
//                           \-> spoiled: something between was refused, so EXEC refuses all
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
    explicit multi(std::size_t most_bytes) noexcept : most_bytes_{most_bytes} {}

    /// `what` is planned. @throws bad_argument  if it is more than may be queued
    void add(const call_line& line, const invocation& what);
    void spoil() noexcept { spoiled_ = true; }
    [[nodiscard]] bool spoiled() const noexcept { return spoiled_; }
    [[nodiscard]] bool empty() const noexcept { return parts_.empty(); }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

    /// All of them as one call of `together`: as urgent as the most urgent, due with the earliest.
    [[nodiscard]] invocation whole(const entry& together, protocol spoken) const;
    /// The arguments of all, one after the other.
    [[nodiscard]] std::vector<std::string_view> arguments() const;

private:
    const std::size_t most_bytes_;
    std::vector<invocation::part> parts_;
    std::vector<std::string> arguments_;
    std::size_t bytes_ = 0;
    int priority_ = 0;
    instant due_ = no_deadline;
    bool spoiled_ = false;
};

}  // namespace tutti::server
