// Where Prometheus asks the server: an endpoint whose threads read a snapshot when they are asked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/metrics/snapshot.hpp"

namespace tutti::exposition {
class endpoint;
}

namespace tutti::server {

class metrics {
public:
    /// `port` 0: the system chooses. `look` is called by any thread.
    /// @throws std::runtime_error  when it cannot be listened on
    metrics(const std::string& host, std::uint16_t port, std::function<snapshot()> look);
    ~metrics();
    metrics(const metrics&) = delete;
    metrics& operator=(const metrics&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept;

private:
    std::unique_ptr<exposition::endpoint> endpoint_;
};

}  // namespace tutti::server
