// What tests do to the surroundings of a member: where it reaches others, and how slow its disk is. In the library both
// are as they are, and nothing of this is compiled.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include <uv.h>

namespace tutti::cluster::replica {

#if defined(TUTTI_CLUSTER_FAULTS)

/// By the address of another member: a place that passes on what it likes. Set while no member is there.
inline std::map<std::string, std::string> injected_routes;
[[nodiscard]] inline std::string route_to(const std::string& address) {
    const auto found = injected_routes.find(address);
    return found == injected_routes.end() ? address : found->second;
}

/// What is written is said to be so much later; what is written meanwhile waits for the next time, as with a slow
/// fsync(2). Set while no member is there.
inline constinit std::chrono::milliseconds injected_disk_delay{0};
class disk_delay {
public:
    explicit disk_delay(uv_loop_t& loop) noexcept : loop_{loop} {}
    /// `told` now, or later, in the order of calls.
    void pass(std::function<void()> told);
    /// All that is left now, and nothing later any more.
    void close();

private:
    struct round;
    void begin_round();
    void tell(std::size_t count);

    uv_loop_t& loop_;
    std::deque<std::function<void()>> late_;
    bool waits_ = false, closed_ = false;
};

#else

[[nodiscard]] inline const std::string& route_to(const std::string& address) noexcept { return address; }

class disk_delay {
public:
    explicit disk_delay(uv_loop_t&) noexcept {}
    template <class F>
    void pass(F&& told) {
        told();
    }
    void close() noexcept {}
};

#endif

}  // namespace tutti::cluster::replica
