// The time and random numbers for code that asks engines: the machine's, or those of a simulation.
#pragma once

#include <array>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <thread>

namespace tutti::cluster::backend {

class surroundings {
public:
    using clock = std::chrono::steady_clock;
    virtual ~surroundings() = default;
    [[nodiscard]] virtual clock::time_point now() const { return clock::now(); }
    virtual void pause(std::chrono::milliseconds how_long) const { std::this_thread::sleep_for(how_long); }
    /// Returns 128 random bits as hexadecimal digits. No other program draws the same.
    [[nodiscard]] virtual std::string draw_name() const {
        std::random_device dice;
        std::array<char, 40> text{};
        std::snprintf(text.data(), text.size(), "%08x%08x%08x%08x", dice(), dice(), dice(), dice());
        return text.data();
    }

    [[nodiscard]] static const surroundings& real() noexcept {
        static const surroundings one;
        return one;
    }
};

}  // namespace tutti::cluster::backend
