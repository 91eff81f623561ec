// Handles the signals of the operator of a serving program.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "messages.hpp"

namespace tutti::tools {

/// Handles SIGTERM, SIGINT and SIGHUP. Until the program serves, SIGTERM and SIGINT end the process at once. After
/// that, the first one requests a good end, and a second one ends the process at once. A good end has a time limit
/// (`limit_end`). SIGHUP asks a program to reload its configuration; a program that cannot reload refuses.
///
/// The signals are blocked in this thread and in all threads that it starts from now on. A thread of this object waits
/// for them, and for nothing else: it writes through `messages`. Another thread runs the handler of SIGHUP and finds
/// the obstacles of an end.
class operator_signals {
public:
    /// The calls, clients and files that delay a good end, one line each.
    struct obstacles {
        std::vector<std::string> lines{};
        bool go_on = false;  ///< the end needs more time but will come: the limit starts again
    };

    /// `refusal` is the message in reply to SIGHUP.
    operator_signals(const messages& operators, const std::string& refusal);
    /// While the result lives, SIGHUP calls `what` instead, on another thread. `what` must not throw.
    [[nodiscard]] std::shared_ptr<void> on_hangup(std::function<void()> what);
    /// Limits the time of a good end. After `limit`, `look` returns the obstacles, which are reported as errors, and
    /// the process ends with the status cli::left_undone. Zero means no limit. `look` is called on another thread while
    /// the result lives. `look` must not throw, and has one second.
    [[nodiscard]] std::shared_ptr<void> limit_end(std::chrono::milliseconds limit, std::function<obstacles()> look);
    void serve();
    void wait() const;
    [[nodiscard]] bool asked() const;

private:
    struct state;
    std::shared_ptr<state> state_;  // shared with its threads, which outlive this object
};

}  // namespace tutti::tools
