#include "server/metrics/health.hpp"

namespace tutti::server {
namespace {

constexpr int unavailable = 503;

/// Returns the obstacle, or an empty string if there is no obstacle.
std::string find_obstacle(const readiness& of) {
    switch (of.at) {
        case stage::loading: return "loading: the server reads its log";
        case stage::ending: return "ending: the server is shutting down";
        case stage::serving: break;
    }
    if (!of.log_error.empty()) return "log: calls that may write are refused: " + of.log_error;
    if (!of.undecided.empty()) return "undecided: " + of.undecided;
    if (of.log_behind) return "busy: the log has reached --log-max-pending";
    if (of.is_memory_full) return "busy: requests and answers have reached --max-buffered-bytes";
    if (of.queue_full) return "busy: queued calls have reached --max-queued-calls";
    if (of.clients_full) return "busy: max number of clients reached";
    return {};
}

}  // namespace

exposition::page page_of(const readiness& of) {
    const std::string why = find_obstacle(of);
    if (why.empty()) return {.text = "ready\n"};
    return {.status = unavailable, .text = why + '\n'};
}

exposition::page page_of(const liveness& of) {
    const bool no_worker = of.workers != 0 && of.stuck.size() >= of.workers;
    const bool lives = of.unresponsive.empty() && !no_worker;
    exposition::page p{.status = lives ? 200 : unavailable, .text = lives ? "alive" : "stuck"};
    if (of.at == stage::loading) p.text += ", loading";
    if (of.at == stage::ending) p.text += ", ending";
    p.text += '\n';
    for (const std::size_t which : of.unresponsive) {
        p.text +=
            "I/O thread " + std::to_string(which + 1) + " of " + std::to_string(of.io_threads) + " does not answer\n";
    }
    for (const stuck_call& c : of.stuck) {
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(c.blocked_for).count();
        p.text += "a worker of " + std::to_string(of.workers) + " has been blocked for " + std::to_string(ms) +
                  " ms by procedure '" + c.procedure + "', priority " + std::to_string(c.priority) + '\n';
    }
    return p;
}

}  // namespace tutti::server
