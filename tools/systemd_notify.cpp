#include "systemd_notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

namespace tutti::tools {
namespace {

std::string take_variable(const char* name) {
    const char* const value = std::getenv(name);
    if (value == nullptr) return {};
    std::string taken = value;
    ::unsetenv(name);
    return taken;
}

/// Returns zero if the text is not a number, or the number is too large.
long number_in(const std::string& text) noexcept {
    long value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() && value > 0 ? value : 0;
}

/// Connects to `address`: a path, or, if it begins with @, a name outside of the file system. Returns -1 if `address`
/// is invalid or the connection fails.
int connect_to(std::string address) noexcept {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    const bool is_address = address.size() > 1 && (address.front() == '/' || address.front() == '@');
    if (!is_address || address.size() >= sizeof to.sun_path) return -1;
    std::memcpy(to.sun_path, address.data(), address.size());
    if (address.front() == '@') to.sun_path[0] = '\0';
    const int made = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
    if (made < 0 || ::connect(made, reinterpret_cast<const sockaddr*>(&to), length) == 0) return made;
    ::close(made);
    return -1;
}

}  // namespace

systemd_notifier::systemd_notifier() : socket_{connect_to(take_variable("NOTIFY_SOCKET"))} {
    const std::string whose = take_variable("WATCHDOG_PID");
    const long microseconds = number_in(take_variable("WATCHDOG_USEC"));
    if (socket_ >= 0 && (whose.empty() || whose == std::to_string(::getpid())))
        allowed_ = std::chrono::microseconds{microseconds};
}

systemd_notifier::~systemd_notifier() {
    pulse_ = {};
    if (socket_ >= 0) ::close(socket_);
}

void systemd_notifier::send(std::string_view word) noexcept {
    // A failed send needs no handling, because the supervisor will notice that nothing arrives.
    if (socket_ >= 0) static_cast<void>(::send(socket_, word.data(), word.size(), MSG_NOSIGNAL));
}

void systemd_notifier::start_watchdog(std::function<bool()> lives) {
    if (allowed_.count() == 0) return;
    pulse_ = std::jthread{[this, lives = std::move(lives)](const std::stop_token& ends) {
        std::mutex mutex;
        std::condition_variable_any ended;
        std::unique_lock lock{mutex};
        while (!ends.stop_requested()) {
            if (lives()) send("WATCHDOG=1");
            ended.wait_for(lock, ends, allowed_ / 4, [] { return false; });
        }
    }};
}

}  // namespace tutti::tools
