// How tests change a member's environment: the route to other members, and the speed of its disk. The library for users
// is compiled without this code.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include <uv.h>

namespace tutti::cluster::replica {

#if defined(TUTTI_CLUSTER_FAULTS)

/// Maps the address of a member to a replacement address. A test's program listens at the replacement, and decides what
/// it forwards to the member. Change the map only while no member exists.
inline std::map<std::string, std::string> injected_routes;
[[nodiscard]] inline std::string injected_route_to(const std::string& address) {
    const auto found = injected_routes.find(address);
    return found == injected_routes.end() ? address : found->second;
}

/// The delay after which a completed write is reported. Writes that complete during a delay wait for the next delay, as
/// with a slow fsync(2). Change the delay only while no member exists.
inline constinit std::chrono::milliseconds injected_disk_delay{0};
class delayed_disk_writes {
public:
    explicit delayed_disk_writes(uv_loop_t& loop) noexcept : loop_{loop} {}
    /// Calls `callback` now or after the delay. Callbacks run in the order of the calls of `complete`.
    void complete(std::function<void()> callback);
    /// Runs all delayed callbacks now. Later calls of `complete` run their callbacks without a delay.
    void close();

private:
    struct delayed_batch;
    void begin_batch();
    void complete_first(std::size_t count);

    uv_loop_t& loop_;
    std::deque<std::function<void()>> late_;
    bool is_waiting_ = false, closed_ = false;
};

#else

[[nodiscard]] inline const std::string& injected_route_to(const std::string& address) noexcept { return address; }

class delayed_disk_writes {
public:
    explicit delayed_disk_writes(uv_loop_t&) noexcept {}
    template <class F>
    void complete(F&& callback) {
        callback();
    }
    void close() noexcept {}
};

#endif

}  // namespace tutti::cluster::replica
