// The requests of clients that concern the whole server. `commands` makes them, and the service carries them out.
//
// Thread safety: any thread may call the functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "server/journal/replication.hpp"

namespace tutti::server {

class service_control {
public:
    /// Makes this server lead, as an operator's order. Returns the reason if this fails, or an empty string. May take a
    /// while.
    [[nodiscard]] virtual std::string promote() = 0;
    /// Begins to hand over leadership within a time. `to`: HOST:PORT of the follower; empty: the follower that has the
    /// most calls. @throws std::runtime_error  if the handover cannot begin
    [[nodiscard]] virtual std::shared_ptr<const journal::handover_result> hand_over(
        std::string to, std::chrono::milliseconds time_limit) = 0;
    /// Returns the outcome of a leader's order to lead. If `is_void`, this server will never follow the order from now
    /// on.
    [[nodiscard]] virtual std::string answer_order(std::uint64_t order, bool is_void) = 0;
    /// Returns the text of INFO.
    [[nodiscard]] virtual std::string info() const = 0;

protected:
    ~service_control() = default;
};

}  // namespace tutti::server
