// The clock and the random numbers for code that calls engines. The system or a simulation provides them.
#pragma once

#include <array>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <thread>

namespace tutti::cluster::backend {

class runtime_env {
public:
    using clock = std::chrono::steady_clock;
    virtual ~runtime_env() = default;
    [[nodiscard]] virtual clock::time_point now() const { return clock::now(); }
    virtual void pause(std::chrono::milliseconds duration) const { std::this_thread::sleep_for(duration); }
    /// Returns 128 random bits as hexadecimal digits. No other program draws the same.
    [[nodiscard]] virtual std::string random_id() const {
        std::random_device dice;
        std::array<char, 40> text{};
        std::snprintf(text.data(), text.size(), "%08x%08x%08x%08x", dice(), dice(), dice(), dice());
        return text.data();
    }

    [[nodiscard]] static const runtime_env& real() noexcept {
        static const runtime_env one;
        return one;
    }
};

}  // namespace tutti::cluster::backend
