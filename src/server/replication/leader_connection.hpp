// A connection from a follower to another server, with or without TLS. Commands are sent one at a time, each after the
// previous answer. Operations block. They fail if no byte was transferred within the timeout, or if the connection is
// to stop.
//
// Thread safety: one thread.
#pragma once

#include <atomic>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "secure/session.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {

/// Thrown when the other server has answered with an error.
class leader_refusal_error : public std::runtime_error {
public:
    /// `message`: the text after the code.
    leader_refusal_error(std::string code, std::string message, const std::string& text)
        : std::runtime_error{text}, code_{std::move(code)}, message_{std::move(message)} {}
    [[nodiscard]] const std::string& code() const noexcept { return code_; }
    [[nodiscard]] const std::string& message() const noexcept { return message_; }

private:
    std::string code_, message_;
};

class leader_connection {
public:
    /// Connects, and logs in. `password` is the password of replication, or unset if the connection needs none. If
    /// `password` is an empty string and the other side is on this machine, the connection uses the machine's secret.
    /// `own`: the certificate to show if the other side asks for one. Waiting operations fail soon after `stops`
    /// becomes true.
    /// @throws std::runtime_error, leader_refusal_error
    leader_connection(const leader_settings& to, const tls_files& own, const std::atomic<bool>& stops,
                      const std::optional<std::string>& password = {});
    ~leader_connection();
    leader_connection(const leader_connection&) = delete;
    leader_connection& operator=(const leader_connection&) = delete;

    /// Executes a command. Returns the answer: a text or a status. @throws as the constructor
    std::string execute(std::initializer_list<std::string_view> words);

private:
    void connect(const leader_settings& to);
    void read_files(const leader_settings& to, const tls_files& own);
    void begin_tls(const std::string& host);
    void show_credential(const std::string& password);
    /// Calls `move` until `move` no longer blocks, the timeout has passed, or the follower stops. Returns the last
    /// result of `move`.
    template <class F>
    secure::session::result with_timeout(const F& move);
    void write(std::string_view bytes);
    void fill();
    std::string line();
    std::string bytes(std::size_t count);
    [[noreturn]] void fail(const std::string& what) const;
    [[noreturn]] void fail_by_tls(const std::string& what) const;

    const std::string name_;
    const std::atomic<bool>& stops_;
    int socket_ = -1;
    bool is_loopback_ = false;                // the other side is on this machine
    secure::context context_;                 // null: without TLS
    std::optional<secure::session> session_;  // likewise
    std::string in_;
    std::size_t read_offset_ = 0;  // offset in in_
};

}  // namespace tutti::server
