// Handles the signals that an operator sends to a serving program.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "operator_log.hpp"

namespace tutti::tools {

/// Handles SIGTERM, SIGINT and SIGHUP. Until the program serves, SIGTERM and SIGINT end the process immediately.
/// Afterwards, the first of these signals requests a shutdown, and the second ends the process immediately. A shutdown
/// has a time limit (`limit_end`). SIGHUP requests that the program reload its configuration. A program that cannot do
/// this logs a refusal.
///
/// The signals are blocked in this thread and in all threads that it starts from now on. A thread of this object waits
/// for the signals, and for nothing else: it writes through `operator_log`, which does not block. Other threads run the
/// handler of SIGHUP and find the obstacles of a shutdown.
class operator_signals {
public:
    /// The calls, clients and files that delay a shutdown, one line each.
    struct obstacles {
        std::vector<std::string> lines{};
        bool extends_limit = false;  ///< the shutdown needs more time but will complete, so the limit starts again
    };

    /// `refusal` is the message that is logged for SIGHUP.
    operator_signals(const operator_log& log, const std::string& refusal);
    /// While the result lives, SIGHUP calls `what` on another thread, and `refusal` is not logged. `what` must not
    /// throw.
    [[nodiscard]] std::shared_ptr<void> on_hangup(std::function<void()> what);
    /// Limits the time of a shutdown. After `limit`, the obstacles that `find_obstacles` returns are reported as
    /// errors, and the process ends with the status cli::shutdown_timed_out. Zero means no limit. While the result
    /// lives, another thread may call `find_obstacles`, which must not throw and must return within one second.
    [[nodiscard]] std::shared_ptr<void> limit_end(std::chrono::milliseconds limit,
                                                  std::function<obstacles()> find_obstacles);
    void begin_serving();
    /// Reports that everything is answered and saved. Only objects remain to be destroyed, which takes seconds for each
    /// GiB of data. If objects still exist at the end of the limit, the process ends with status 0.
    void complete_shutdown();
    void wait() const;
    [[nodiscard]] bool end_requested() const;

private:
    struct state;
    std::shared_ptr<state> state_;  // shared with its threads, which outlive this object
};

}  // namespace tutti::tools
