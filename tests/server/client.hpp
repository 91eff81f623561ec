// Clients for tests: a complete one (hiredis), and a bare socket that can send any bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct redisContext;

namespace tutti::server {

/// One hiredis connection. Answers become text: a minus precedes an error, parentheses enclose the elements of a list,
/// and a null is "nil".
class client {
public:
    explicit client(std::uint16_t port);
    explicit client(const std::string& unix_path);
    ~client();

    std::string operator()(const std::vector<std::string>& words);
    void send(const std::vector<std::string>& words);
    /// Returns the next answer, or "closed" when the connection has ended.
    std::string receive();

private:
    redisContext* context_;
};

/// A blocking socket.
class bare_socket {
public:
    explicit bare_socket(std::uint16_t port, int receive_buffer = 0);
    ~bare_socket();
    bare_socket(const bare_socket&) = delete;
    bare_socket& operator=(const bare_socket&) = delete;

    /// Sends all bytes. Returns false if the other side has closed the connection.
    bool send(std::string_view bytes);
    /// Sends without blocking. Returns the number of bytes sent.
    std::size_t send_some(std::string_view bytes);
    void half_close();
    /// Sends a reset instead of an orderly end.
    void reset();
    /// Receives until the connection ends.
    std::string receive_all();
    /// Receives at least `bytes` bytes, or less if the connection ends.
    std::string receive(std::size_t bytes);
    /// Receives until `lines` lines have arrived or the connection ends. REQUIRES: no more than `lines` lines are on
    /// the way.
    std::string receive_lines(std::ptrdiff_t lines);

private:
    int socket_;
};

/// Returns the request in the form in which clients send it.
[[nodiscard]] std::string wire(const std::vector<std::string>& words);

/// Returns the whole HTTP response to a request, or "" if no server listens.
[[nodiscard]] std::string http_get(std::uint16_t port, const std::string& path, const std::string& method = "GET");

/// Returns the number that INFO gives for `key`, or zero if INFO does not have the key.
[[nodiscard]] std::size_t number_of(const std::string& info, const std::string& key);

}  // namespace tutti::server
