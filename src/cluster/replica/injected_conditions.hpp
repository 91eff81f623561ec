// How tests change a member's environment: the route to other members, and the speed of its disk. In the library both
// are unchanged, and none of this is compiled.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include <uv.h>

namespace tutti::cluster::replica {

#if defined(TUTTI_CLUSTER_FAULTS)

/// The replacement address by the address of another member. The program that listens there decides what it forwards.
/// Set while no member exists.
inline std::map<std::string, std::string> injected_routes;
[[nodiscard]] inline std::string injected_route_to(const std::string& address) {
    const auto found = injected_routes.find(address);
    return found == injected_routes.end() ? address : found->second;
}

/// Writes are reported this much later. Writes during a delay wait for the next one, as with a slow fsync(2). Set while
/// no member exists.
inline constinit std::chrono::milliseconds injected_disk_delay{0};
class delayed_disk_writes {
public:
    explicit delayed_disk_writes(uv_loop_t& loop) noexcept : loop_{loop} {}
    /// Calls `callback` now or later, in the order of the calls.
    void complete(std::function<void()> callback);
    /// Calls all remaining functions now. Later calls of `complete` are not delayed.
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
