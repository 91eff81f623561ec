#include "server/metrics/health.hpp"

namespace tutti::server {
namespace {

constexpr int unavailable = 503;

/// Returns the obstacle, or an empty string.
std::string find_obstacle(const readiness& of) {
    switch (of.at) {
        case stage::loading: return "loading: the data are being made from the log";
        case stage::ending: return "ending: no new calls are taken";
        case stage::serving: break;
    }
    if (!of.log_error.empty()) return "log: calls that could write are refused: " + of.log_error;
    if (!of.undecided.empty()) return "undecided: " + of.undecided;
    if (of.log_behind) return "busy: more of the log waits to be written than may";
    if (of.is_memory_full) return "busy: as many bytes of requests and answers are held as may";
    if (of.queue_full) return "busy: as many calls wait as may";
    if (of.clients_full) return "busy: there are as many clients as may be";
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
        p.text += "a worker of " + std::to_string(of.workers) + " has been kept for " + std::to_string(ms) +
                  " ms by procedure '" + c.procedure + "', priority " + std::to_string(c.priority) + '\n';
    }
    return p;
}

}  // namespace tutti::server
