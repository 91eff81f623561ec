// What the operator of a program that serves says by signals.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "messages.hpp"

namespace tutti::tools {

/// SIGTERM and SIGINT: until the program serves they end the process at once; then the first one asks for a good end,
/// and a second one ends it at once. A good end has a time limit (`limit_end`). SIGHUP asks programs to read anew what
/// they have loaded; a program that does not read anything anew refuses.
///
/// The signals are blocked in this thread and in all that start from here on; a thread of this object waits for them.
/// That thread waits for nothing else: it writes through `messages`, and another thread carries out what SIGHUP asks
/// for and looks what is in the way of an end.
class operator_signals {
public:
    /// The calls, clients and files that delay a good end, a line for each.
    struct obstacles {
        std::vector<std::string> lines{};
        bool go_on = false;  ///< the end takes its time and comes: it gets as much time again
    };

    /// `refusal` is what SIGHUP is answered with.
    operator_signals(const messages& operators, const std::string& refusal);
    /// While the result lives SIGHUP calls this instead, on another thread. It must not throw.
    [[nodiscard]] std::shared_ptr<void> on_hangup(std::function<void()> what);
    /// From here on a good end that takes longer than `limit` is given up: `look` says what is in the way, which is
    /// told as errors, and the process ends with the status cli::left_undone. Zero: an end takes as long as it takes.
    /// `look` is called on another thread while the result lives; it must not throw, and gets a second.
    [[nodiscard]] std::shared_ptr<void> limit_end(std::chrono::milliseconds limit, std::function<obstacles()> look);
    void serve();
    void wait() const;
    [[nodiscard]] bool asked() const;

private:
    struct state;
    std::shared_ptr<state> state_;  // its threads have shares, since they outlive this object
};

}  // namespace tutti::tools
