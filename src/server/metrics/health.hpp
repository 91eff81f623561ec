// Whether a server lives, and whether it would take a call: what those decide by who start it anew, or send clients to
// another one. Decisions only; the service gathers what they are made from.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exposition/page.hpp"
#include "server/calls/kept_calls.hpp"

namespace tutti::server {

/// Where a server is in its life.
enum class stage : std::uint8_t { loading, serving, ending };

/// What a call that came now would meet.
struct readiness {
    stage at = stage::loading;
    std::string log_trouble{};  ///< empty: none
    std::string undecided{};    ///< why a leader takes no calls that write until an operator decides; empty: it does
    bool log_behind = false;    ///< more waits to be written than may
    bool queue_full = false;
    bool holds_too_much = false;
    bool clients_full = false;
};

/// Of the threads.
struct liveness {
    stage at = stage::loading;
    std::size_t io_threads = 0;
    std::vector<std::size_t> silent{};  ///< those of them that gave no sign in time, from 0 on
    std::size_t workers = 0;
    std::vector<kept_call> kept{};  ///< by calls, which have not given their worker back for long
};

/// 200, or 503 with what is in the way. Ready is a server to which a client may connect, and whose call would be taken.
[[nodiscard]] exposition::page page_of(const readiness& of);

/// 200, or 503 where nothing can go on: an I/O thread does not answer, or each worker is kept. What is stuck is named
/// in both.
[[nodiscard]] exposition::page page_of(const liveness& of);

}  // namespace tutti::server
