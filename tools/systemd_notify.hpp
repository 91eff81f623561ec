// Notifies the program's supervisor, such as systemd, of its state, by the protocol of sd_notify(3): one datagram for
// each word.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>
#include <thread>

namespace tutti::tools {

class systemd_notifier {
public:
    /// Reads the supervisor's variables and removes them from the environment, so that children of the program do not
    /// use them. Without these variables, the functions below do nothing. REQUIRES: no other thread uses the
    /// environment.
    systemd_notifier();
    ~systemd_notifier();
    systemd_notifier(const systemd_notifier&) = delete;
    systemd_notifier& operator=(const systemd_notifier&) = delete;

    void ready() noexcept { send("READY=1"); }
    void stopping() noexcept { send("STOPPING=1"); }

    /// From now on, a separate thread calls `lives` four times within the interval that the supervisor allows. If
    /// `lives` returns true, the thread sends a sign of life. @throws std::system_error
    void start_watchdog(std::function<bool()> lives);

private:
    void send(std::string_view word) noexcept;

    int socket_ = -1;
    std::chrono::microseconds allowed_{0};  // zero: the supervisor expects no signs of life
    std::jthread pulse_;
};

}  // namespace tutti::tools
