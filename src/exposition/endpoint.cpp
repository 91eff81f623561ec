#include "exposition/endpoint.hpp"

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <stdexcept>

namespace tutti::exposition {

class endpoint::collector final : public prometheus::Collectable {
public:
    explicit collector(collect look) : look_{std::move(look)} {}
    [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override { return look_(); }

private:
    collect look_;
};

struct endpoint::exposer {
    prometheus::Exposer http;
};

endpoint::endpoint(const std::string& host, std::uint16_t port, collect look)
    : collector_{std::make_shared<collector>(std::move(look))} {
    const std::string address = host + ":" + std::to_string(port);
    try {
        exposer_.reset(new exposer{prometheus::Exposer{address, 1}});
    } catch (const std::exception& e) {
        throw std::runtime_error{"cannot listen on " + address + " for metrics: " + e.what()};
    }
    exposer_->http.RegisterCollectable(collector_);
    const std::vector<int> ports = exposer_->http.GetListeningPorts();
    port_ = ports.empty() ? std::uint16_t{0} : static_cast<std::uint16_t>(ports.front());
}

endpoint::~endpoint() = default;

}  // namespace tutti::exposition
