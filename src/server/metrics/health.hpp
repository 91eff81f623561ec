// Decides whether a server is alive, and whether it would accept a call. Tools use the result to restart a server, or
// to send its clients to another server. The service gathers the facts.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exposition/page.hpp"
#include "server/calls/stuck_calls.hpp"

namespace tutti::server {

/// The stage of a server's life.
enum class stage : std::uint8_t { loading, serving, ending };

/// The facts that decide whether a new call would be accepted.
struct readiness {
    stage at = stage::loading;
    std::string log_error{};  ///< empty: no error
    /// the reason why a leader refuses calls that write until an operator decides; empty: the leader accepts them
    std::string undecided{};
    bool log_behind = false;  ///< more bytes of the log wait to be written than the limit allows
    bool queue_full = false;
    bool is_memory_full = false;
    bool clients_full = false;
};

/// The facts that decide whether the server can make progress.
struct liveness {
    stage at = stage::loading;
    std::size_t io_threads = 0;
    std::vector<std::size_t> unresponsive{};  ///< indices of the I/O threads that started no round in time
    std::size_t workers = 0;
    std::vector<stuck_call> stuck{};  ///< calls that have blocked their worker for long
};

/// Returns 200 if the server is ready, or 503 with the obstacle. A server is ready if a client may connect and its call
/// would be accepted.
[[nodiscard]] exposition::page page_of(const readiness& of);

/// Returns 200, or 503 if the server cannot make progress: an I/O thread does not respond, or calls block all workers.
/// The text names the stuck threads or calls.
[[nodiscard]] exposition::page page_of(const liveness& of);

}  // namespace tutti::server
