// By which clock somebody waits: the machine's, or that of a simulation.
#pragma once

#include <chrono>
#include <thread>

namespace tutti::cluster::backend {

class pace {
public:
    using clock = std::chrono::steady_clock;
    virtual ~pace() = default;
    [[nodiscard]] virtual clock::time_point now() const { return clock::now(); }
    virtual void pause(std::chrono::milliseconds how_long) const { std::this_thread::sleep_for(how_long); }

    [[nodiscard]] static const pace& real() noexcept {
        static const pace one;
        return one;
    }
};

}  // namespace tutti::cluster::backend
