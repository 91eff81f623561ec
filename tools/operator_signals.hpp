// What the operator of a program that serves says by signals.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "messages.hpp"

namespace tutti::tools {

/// SIGTERM and SIGINT: until the program serves they end the process at once; then the first one asks for a good end,
/// and a second one ends it at once. SIGHUP asks programs to read anew what they have loaded; what does not is refused.
/// They are blocked in this thread and all that start from here on; one of these waits for them.
class operator_signals {
public:
    /// `refusal` is what SIGHUP is answered with.
    operator_signals(const messages& operators, const std::string& refusal);
    /// While the result lives SIGHUP calls this instead, on another thread. It must not throw.
    [[nodiscard]] std::shared_ptr<void> on_hangup(std::function<void()> what);
    void serve() { shared_->serves = true; }
    void wait() const { shared_->asked.wait(false); }
    [[nodiscard]] bool asked() const { return shared_->asked; }

private:
    struct flags {
        std::atomic<bool> serves{false}, asked{false};
        std::mutex mutex{};  // held while it is called: its end waits for that
        std::function<void()> hangup{};
    };
    std::shared_ptr<flags> shared_ = std::make_shared<flags>();
};

}  // namespace tutti::tools
