// Resolves host names, with a limit on the wait.
#pragma once

#include <netdb.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace tutti::server {

using addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

/// Returns the TCP addresses of a host. The system cannot cancel its query to name servers, so the query runs on a
/// separate thread. This function waits at most for `timeout`, and returns soon after `stops` becomes true.
/// @throws std::runtime_error  with the problem, as the end of a sentence about the host
[[nodiscard]] addresses resolve(const std::string& host, std::uint16_t port, std::chrono::milliseconds timeout,
                                const std::atomic<bool>& stops);

}  // namespace tutti::server
