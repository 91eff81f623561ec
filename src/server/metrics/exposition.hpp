// Where Prometheus asks: an HTTP server of prometheus-cpp with threads of its own,
// which read a snapshot when they are asked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/metrics/snapshot.hpp"

namespace tutti::server {

class metrics {
public:
    /// `port` 0: the system chooses. `look` is called by any thread.
    /// @throws std::runtime_error  when it cannot be listened on
    metrics(const std::string& host, std::uint16_t port, std::function<snapshot()> look);
    ~metrics();
    metrics(const metrics&) = delete;
    metrics& operator=(const metrics&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

private:
    class collector;
    struct exposer;
    std::shared_ptr<collector> collector_;
    std::unique_ptr<exposer> exposer_;
    std::uint16_t port_ = 0;
};

}  // namespace tutti::server
