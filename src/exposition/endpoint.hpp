// Where Prometheus asks: an HTTP server of prometheus-cpp with threads of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "exposition/families.hpp"

namespace tutti::exposition {

class endpoint {
public:
    using collect = std::function<std::vector<prometheus::MetricFamily>()>;

    /// `port` 0: the system chooses. `look` is called by any thread, for each request.
    /// @throws std::runtime_error  when it cannot be listened on
    endpoint(const std::string& host, std::uint16_t port, collect look);
    ~endpoint();
    endpoint(const endpoint&) = delete;
    endpoint& operator=(const endpoint&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

private:
    class collector;
    struct exposer;
    std::shared_ptr<collector> collector_;
    std::unique_ptr<exposer> exposer_;
    std::uint16_t port_ = 0;
};

}  // namespace tutti::exposition
