// A connection to memcached over a Unix socket, for programs that speak its text protocol.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace mc {

class connection {
public:
    explicit connection(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        if (path.size() >= sizeof address.sun_path)
            throw std::invalid_argument("the socket's path is too long: " + path);
        path.copy(address.sun_path, path.size());
        if (socket_ < 0 || ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
            const int error = errno;
            close();
            throw std::system_error(error, std::generic_category(), "cannot connect to " + path);
        }
        // If the server hangs, the program ends with a message instead of hanging.
        const timeval timeout{.tv_sec = 20, .tv_usec = 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    }
    connection(connection&& other) noexcept
        : socket_(std::exchange(other.socket_, -1)), input_(std::move(other.input_)), at_(other.at_) {}
    connection& operator=(connection&&) = delete;
    ~connection() { close(); }

    int descriptor() const { return socket_; }

    void send(std::string_view text) {
        while (!text.empty()) {
            const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
            if (sent <= 0) throw std::system_error(errno, std::generic_category(), "cannot send");
            text.remove_prefix(static_cast<std::size_t>(sent));
        }
    }

    /// Returns the next line, without its end.
    std::string line() {
        for (std::size_t from = at_;;) {
            const std::size_t end = input_.find("\r\n", from);
            if (end != std::string::npos) {
                std::string found = input_.substr(at_, end - at_);
                at_ = end + 2;
                return found;
            }
            from = input_.size() > at_ ? input_.size() - 1 : at_;
            from -= fill();
        }
    }

    /// Returns the next `size` bytes, without the end of line that follows.
    std::string data(std::size_t size) {
        while (input_.size() - at_ < size + 2) fill();
        std::string found = input_.substr(at_, size);
        at_ += size + 2;
        return found;
    }

    std::string ask(std::string_view command) {
        send(command);
        return line();
    }

private:
    // Returns how many bytes at the front were removed.
    std::size_t fill() {
        const std::size_t gone = at_;
        input_.erase(0, gone);
        at_ = 0;
        char some[65536];
        const ssize_t got = ::recv(socket_, some, sizeof some, 0);
        if (got == 0) throw std::runtime_error("the server has closed the connection");
        if (got < 0) throw std::system_error(errno, std::generic_category(), "no answer from the server");
        input_.append(some, static_cast<std::size_t>(got));
        return gone;
    }

    void close() noexcept {
        if (socket_ >= 0) ::close(std::exchange(socket_, -1));
    }

    int socket_;
    std::string input_;
    std::size_t at_ = 0;
};

}  // namespace mc
