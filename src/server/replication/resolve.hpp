// The addresses of a host by name, with an end to the wait for them.
#pragma once

#include <netdb.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace tutti::server {

using addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

/// Of TCP. The system's question to name servers cannot be taken back, so a thread of its own asks: this waits for that
/// no longer than `patience`, nor once `stops` is true.
/// @throws std::runtime_error  what is wrong, as the end of a sentence about the host
[[nodiscard]] addresses resolve(const std::string& host, std::uint16_t port, std::chrono::milliseconds patience,
                                const std::atomic<bool>& stops);

}  // namespace tutti::server
