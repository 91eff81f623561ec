// A service for tests whose clients request nothing of it but INFO.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "server/protocol/service_control.hpp"

namespace tutti::server {

class unused_service_control final : public service_control {
public:
    std::string promote() override { return "this server does not follow another one"; }
    std::shared_ptr<const journal::handover_result> hand_over(std::string, std::chrono::milliseconds) override {
        throw std::runtime_error{"this server has no log"};
    }
    std::string answer_order(std::uint64_t, bool) override { return "STARTS 0"; }
    std::string info() const override { return "nothing"; }
};

}  // namespace tutti::server
