// Whoever has started the program and wants to know how it is, as systemd does: sd_notify(3), by its protocol, which is
// one datagram for each word.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>
#include <thread>

namespace tutti::tools {

class supervisor {
public:
    /// Takes what it finds in the environment out of it: children of the program do not speak for it. Without anything
    /// there, all that follows does nothing. REQUIRES: no other thread uses the environment.
    supervisor();
    ~supervisor();
    supervisor(const supervisor&) = delete;
    supervisor& operator=(const supervisor&) = delete;

    void ready() noexcept { say("READY=1"); }
    void stopping() noexcept { say("STOPPING=1"); }

    /// From here on, four times within the time that it allows without a sign of life: one, if `lives()` says so, which
    /// is asked on a thread of its own. @throws std::system_error
    void keep_informed(std::function<bool()> lives);

private:
    void say(std::string_view word) noexcept;

    int socket_ = -1;
    std::chrono::microseconds allowed_{0};  // zero: it asks for no signs of life
    std::jthread pulse_;
};

}  // namespace tutti::tools
